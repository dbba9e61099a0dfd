//! Classification of statements in text: the begin or end of a transaction, a DDL, or a change of rows that is not in
//! row format.

mod changed_table;
mod quoting;

pub(crate) use changed_table::changed_table;
pub use quoting::Quoting;
use quoting::is_word;

/// Effect of a statement on its transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextKind {
    /// Only comments: MariaDB writes such statements instead of events that a replica does not know.
    Nothing,
    /// BEGIN.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK of the whole transaction.
    Rollback,
    /// ROLLBACK TO a savepoint, with its name.
    RollbackTo(Vec<u8>),
    /// SAVEPOINT, with its name.
    Savepoint(Vec<u8>),
    /// RELEASE SAVEPOINT.
    ReleaseSavepoint,
    /// XA START.
    XaStart,
    /// XA END.
    XaEnd,
    /// XA COMMIT or XA ROLLBACK, with the XID as written.
    XaFinish {
        /// The XID.
        xid: String,
        /// XA ROLLBACK.
        rolls_back: bool,
    },
    /// DROP TEMPORARY TABLE, and MariaDB's CREATE and DROP TEMPORARY SEQUENCE: only their session sees them.
    Temporary,
    /// A statement that commits by itself.
    Ddl {
        /// CREATE TABLE ... START TRANSACTION: the rows of a CREATE TABLE ... SELECT follow, then the commit.
        opens_transaction: bool,
    },
    /// A change in statement format, or an unknown statement: its first word.
    Refused(String),
}

/// Classifies a statement, whose quotes are read by these rules.
pub fn classify(sql: &[u8], quoting: Quoting) -> TextKind {
    let mut words = Words { rest: sql, quoting: quoting.for_text(sql) };
    let Some(mut first) = words.next() else { return TextKind::Nothing };
    let mut second = words.clone().next().unwrap_or_default();
    let has_settings = (first.as_str(), second.as_str()) == ("SET", "STATEMENT");
    if has_settings && words.any(|word| word == "FOR") {
        first = words.next().unwrap_or_default();
        second = words.clone().next().unwrap_or_default();
    }
    match kind_of(sql, words, first, &second) {
        kind @ (TextKind::Ddl { .. } | TextKind::Temporary | TextKind::Refused(_)) => kind,
        _ if has_settings => TextKind::Refused("SET STATEMENT".to_owned()),
        kind => kind,
    }
}

/// Classifies a statement with these two first words; `words` is positioned after the first.
fn kind_of(sql: &[u8], mut words: Words<'_>, first: String, second: &str) -> TextKind {
    match (first.as_str(), second) {
        ("BEGIN", _) | ("START", "TRANSACTION") => TextKind::Begin,
        ("COMMIT", _) => TextKind::Commit,
        ("ROLLBACK", _) if words.any(|word| word == "TO") => TextKind::RollbackTo(rolled_back_to(&words)),
        ("ROLLBACK", _) => TextKind::Rollback,
        ("SAVEPOINT", _) => TextKind::Savepoint(identifier(words.rest)),
        ("RELEASE", "SAVEPOINT") => TextKind::ReleaseSavepoint,
        ("XA", "START" | "BEGIN") => TextKind::XaStart,
        ("XA", "END") => TextKind::XaEnd,
        ("XA", "COMMIT" | "ROLLBACK") => xid_behind(sql, second),
        ("DROP", "TEMPORARY") => TextKind::Temporary,
        ("CREATE", _) => classify_create(words),
        (
            "ALTER" | "DROP" | "RENAME" | "TRUNCATE" | "GRANT" | "REVOKE" | "ANALYZE" | "OPTIMIZE" | "REPAIR" | "FLUSH"
            | "INSTALL" | "UNINSTALL",
            _,
        )
        | ("SET", "PASSWORD" | "DEFAULT" | "ROLE") => TextKind::Ddl { opens_transaction: false },
        _ => TextKind::Refused(first),
    }
}

/// Returns the TRUNCATE TABLE that a server means by `DELETE FROM db.table`, which it writes for a table in memory that
/// is empty after a restart (MariaDB 10.5; 11.8 writes TRUNCATE TABLE itself).
pub(crate) fn emptied_table(sql: &[u8]) -> Option<Vec<u8>> {
    let table = sql.strip_prefix(b"DELETE FROM ")?;
    let mut quotes = table.iter().filter(|&&byte| byte == b'`');
    let is_name = table.starts_with(b"`") && table.ends_with(b"`") && quotes.by_ref().count() == 4;
    let separated = table.windows(3).filter(|window| window == b"`.`").count() == 1;
    (is_name && separated).then(|| [b"TRUNCATE TABLE ", table].concat())
}

/// Returns the XID of `XA COMMIT xid` as written.
fn xid_behind(sql: &[u8], verb: &str) -> TextKind {
    let text = String::from_utf8_lossy(sql);
    let upper = text.to_ascii_uppercase();
    let behind = upper.find(verb).and_then(|at| text.get(at + verb.len()..)).unwrap_or_default().trim();
    let end = behind.to_ascii_uppercase().find("ONE PHASE").unwrap_or(behind.len());
    let xid = behind.get(..end).unwrap_or_default().trim().to_owned();
    TextKind::XaFinish { xid, rolls_back: verb == "ROLLBACK" }
}

/// Returns the name after `ROLLBACK TO [SAVEPOINT]`; the words are positioned after TO.
fn rolled_back_to(words: &Words<'_>) -> Vec<u8> {
    let mut behind = words.clone();
    let name = identifier(words.rest);
    if !name.eq_ignore_ascii_case(b"SAVEPOINT") || behind.next().as_deref() != Some("SAVEPOINT") {
        return name;
    }
    let second = identifier(behind.rest);
    if second.is_empty() { name } else { second }
}

/// Returns the identifier at the start of a text, without its quotes; empty if there is none.
fn identifier(text: &[u8]) -> Vec<u8> {
    let text = text.trim_ascii_start();
    match text.split_first() {
        Some((&quote @ (b'`' | b'"'), rest)) => {
            let mut name = Vec::new();
            let mut bytes = rest.iter().copied();
            while let Some(byte) = bytes.next() {
                if byte == quote && bytes.clone().next() == Some(quote) {
                    bytes.next();
                } else if byte == quote {
                    return name;
                }
                name.push(byte);
            }
            Vec::new()
        }
        _ => text.iter().copied().take_while(|&byte| is_word(byte)).collect(),
    }
}

/// Classifies a CREATE: a DDL, unless it is about a temporary object, or CREATE TABLE ... SELECT in statement format.
fn classify_create(words: Words<'_>) -> TextKind {
    let words: Vec<String> = words.take(MOST_WORDS).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut behind = words.iter().copied().skip_while(|word| matches!(*word, "OR" | "REPLACE"));
    match (behind.next(), behind.next()) {
        (Some("TEMPORARY"), Some("SEQUENCE")) => TextKind::Temporary,
        (Some("TEMPORARY"), _) => TextKind::Refused("CREATE TEMPORARY".to_owned()),
        (Some("TABLE"), _) if reads_rows(&words) => TextKind::Refused("CREATE TABLE ... SELECT".to_owned()),
        (object, _) => {
            TextKind::Ddl { opens_transaction: object == Some("TABLE") && words.ends_with(&["START", "TRANSACTION"]) }
        }
    }
}

/// Number of words beyond which a statement is no CREATE TABLE that a server has written.
const MOST_WORDS: usize = 1 << 20;

/// Returns true if a CREATE TABLE takes rows from a query: SELECT, TABLE or VALUES ROW(..) outside of quotes and
/// comments.
fn reads_rows(words: &[&str]) -> bool {
    let second_table = words.iter().filter(|&&word| word == "TABLE").nth(1).is_some();
    words.contains(&"SELECT") || second_table || words.windows(2).any(|pair| pair == ["VALUES", "ROW"])
}

/// The words of a statement in upper case. Quoted parts, signs of numbers and comments are skipped; the content of a
/// version comment counts. The word right behind a point is skipped too: servers read it as a name, whatever it is.
#[derive(Debug, Clone)]
struct Words<'a> {
    rest: &'a [u8],
    quoting: Quoting,
}

impl Words<'_> {
    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn skip_past(&mut self, end: &[u8]) {
        let found = self.rest.windows(end.len()).position(|window| window == end);
        self.skip(found.map_or(self.rest.len(), |at| at + end.len()));
    }

    /// Skips `/*`; of a version comment only the opening and the number.
    fn skip_comment(&mut self) {
        let opening = [&b"/*!"[..], b"/*M!"].into_iter().find(|opening| self.rest.starts_with(opening));
        match opening {
            Some(opening) => {
                self.skip(opening.len());
                let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                self.skip(digits);
            }
            None => self.skip_past(b"*/"),
        }
    }

    /// Skips a quoted part; a doubled quote is two consecutive quoted parts.
    fn skip_quoted(&mut self, quote: u8) {
        self.skip(1);
        while let Some(&byte) = self.rest.first() {
            let length = self.quoting.character(self.rest);
            self.skip(length);
            if length == 1 && byte == quote {
                return;
            }
            if length == 1 && byte == b'\\' && self.quoting.escapes_in(quote) {
                self.skip(1);
            }
        }
    }

    /// Returns the length of the word at the start.
    fn word_length(&self) -> usize {
        let mut length = 0;
        while let Some(rest) = self.rest.get(length..)
            && rest.first().is_some_and(|&byte| is_word(byte))
        {
            length += self.quoting.character(rest);
        }
        length
    }
}

impl Iterator for Words<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        loop {
            match *self.rest {
                [] => return None,
                [b'/', b'*', ..] => self.skip_comment(),
                [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n', ..] => self.skip_past(b"\n"),
                [quote @ (b'\'' | b'"' | b'`'), ..] => self.skip_quoted(quote),
                [b'.', byte, ..] if is_word(byte) => {
                    self.skip(1);
                    let length = self.word_length();
                    self.skip(length);
                }
                [byte, ..] if is_word(byte) => {
                    let length = self.word_length();
                    let word =
                        String::from_utf8_lossy(self.rest.get(..length).unwrap_or_default()).to_ascii_uppercase();
                    self.skip(length);
                    return Some(word);
                }
                _ => self.skip(1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use paraply_core::collation::Collation;

    use super::*;

    const ESCAPES: Quoting = Quoting { escapes: true, ansi_quotes: false, client: None };

    fn classify(sql: &[u8]) -> TextKind {
        super::classify(sql, ESCAPES)
    }

    fn ddl() -> TextKind {
        TextKind::Ddl { opens_transaction: false }
    }

    #[test]
    fn comments_do_not_hide_what_a_statement_is() {
        assert_eq!(classify(b"/* hello */ -- x\n# y\n BEGIN"), TextKind::Begin);
        assert_eq!(classify(b"/*!40005 DROP TABLE t */"), ddl());
        assert_eq!(classify(b"/*!50000INSERT*/ INTO t VALUES (1)"), TextKind::Refused("INSERT".into()));
        assert_eq!(classify(b"# Dummy event replacing event type 160"), TextKind::Nothing);
        assert_eq!(classify(b"DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `t`"), TextKind::Temporary);
        for sql in ["create or replace temporary sequence s", "CREATE TEMPORARY SEQUENCE IF NOT EXISTS `temporary`"] {
            assert_eq!(classify(sql.as_bytes()), TextKind::Temporary, "{sql}");
        }
    }

    #[test]
    fn changes_in_statement_format_are_refused() {
        for sql in
            ["insert into t values (1)", "(SELECT f())", "CALL p()", "SET STATEMENT x=1 FOR DELETE FROM t", "WITH x"]
        {
            assert!(matches!(classify(sql.as_bytes()), TextKind::Refused(_)), "{sql}");
        }
        for sql in [
            "CREATE TABLE t SELECT 1",
            "create table t as table u",
            "CREATE TABLE t VALUES ROW(1)",
            "CREATE TEMPORARY TABLE t(a int)",
        ] {
            assert!(matches!(classify(sql.as_bytes()), TextKind::Refused(_)), "{sql}");
        }
    }

    #[test]
    fn a_backslash_escapes_only_where_the_sql_mode_lets_it() {
        let literal = Quoting { escapes: false, ..ESCAPES };
        let sql = b"CREATE TABLE t(a INT COMMENT '\\') SELECT 'x' AS a";
        assert!(matches!(super::classify(sql, literal), TextKind::Refused(_)));
        let sql = b"CREATE TABLE t(a INT COMMENT '\\' SELECT')";
        assert_eq!(classify(sql), ddl());
        let ansi = Quoting { ansi_quotes: true, ..ESCAPES };
        let sql = br#"CREATE TABLE t("a\" INT, "SELECT" INT COMMENT 'SELECT')"#;
        assert_eq!(super::classify(sql, ansi), ddl());
    }

    #[test]
    fn a_byte_of_a_longer_character_is_no_quote_and_no_backslash() {
        let of = |collation: &str, sql: &[u8]| {
            let client = Some(Collation::by_name(collation).expect("a collation"));
            super::classify(sql, Quoting { client, ..ESCAPES })
        };
        for (collation, character) in [
            ("sjis_japanese_ci", &b"\x95\\"[..]),
            ("cp932_japanese_ci", b"\x83`"),
            ("gbk_chinese_ci", b"\xd5\\"),
            ("big5_chinese_ci", b"\xb3\\"),
        ] {
            let sql = [
                &b"CREATE TABLE `"[..],
                character,
                b"` (a INT COMMENT 'x",
                character,
                b"', b INT COMMENT 'select, table')",
            ]
            .concat();
            assert_eq!(of(collation, &sql), ddl(), "{collation}");
            let sql = [
                &b"CREATE TABLE "[..],
                character,
                b" (a INT COMMENT 'x",
                character,
                b"') SELECT '",
                character,
                b"' AS a",
            ]
            .concat();
            assert!(matches!(of(collation, &sql), TextKind::Refused(_)), "{collation}");
        }
        // One byte of its own before a quote.
        assert_eq!(of("sjis_japanese_ci", b"CREATE TABLE t (a INT COMMENT '\xb1', b INT COMMENT 'select')"), ddl());
    }

    #[test]
    fn a_definition_that_the_server_wrote_is_utf8_whatever_the_client() {
        let client = Some(Collation::by_name("gbk_chinese_ci").expect("a collation"));
        let sql = "CREATE TABLE `t` (\n  `表` int DEFAULT NULL COMMENT 'x'\n) START TRANSACTION";
        let quoting = Quoting { client, ..ESCAPES };
        assert_eq!(super::classify(sql.as_bytes(), quoting), TextKind::Ddl { opens_transaction: true });
    }

    #[test]
    fn ddl_is_told_from_its_rows() {
        assert_eq!(
            classify(b"CREATE TABLE d.table (a INT DEFAULT 3.14, value FLOAT, CHECK (d.table.select > 1))"),
            ddl()
        );
        assert!(matches!(classify(b"CREATE TABLE d.select SELECT 1"), TextKind::Refused(_)));
        assert_eq!(classify(b"CREATE TABLE t(a INT COMMENT 'as SELECT \\' SELECT', `SELECT` INT)"), ddl());
        assert_eq!(classify(b"CREATE VIEW v AS SELECT 1"), ddl());
        assert_eq!(classify(b"CREATE TABLE `t` (a int) START TRANSACTION"), TextKind::Ddl { opens_transaction: true });
        assert_eq!(classify(b"TRUNCATE TABLE t"), ddl());
        assert_eq!(classify(b"SET PASSWORD FOR u='x'"), ddl());
    }

    #[test]
    fn settings_in_front_of_a_ddl_do_not_hide_it() {
        assert_eq!(classify(b"SET STATEMENT max_statement_time=5, sql_mode='FOR' FOR ALTER TABLE t ADD c INT"), ddl());
        assert_eq!(classify(b"set statement max_statement_time=5 for drop temporary table t"), TextKind::Temporary);
        for sql in [
            "UPDATE t SET a=1",
            "COMMIT",
            "CREATE TABLE t SELECT 1",
            "SET STATEMENT a=1 FOR ALTER TABLE t ENGINE=x",
            "",
        ] {
            let sql = format!("SET STATEMENT max_statement_time=5 FOR {sql}");
            assert!(matches!(classify(sql.as_bytes()), TextKind::Refused(_)), "{sql}");
        }
        assert!(matches!(classify(b"SET STATEMENT max_statement_time=5"), TextKind::Refused(_)));
    }

    #[test]
    fn only_a_whole_table_is_emptied() {
        let emptied = |sql: &str| emptied_table(sql.as_bytes()).map(|sql| String::from_utf8(sql).expect("text"));
        assert_eq!(emptied("DELETE FROM `d`.`t x`").as_deref(), Some("TRUNCATE TABLE `d`.`t x`"));
        for sql in [
            "DELETE FROM t",
            "DELETE FROM `d`.`t` WHERE a=1",
            "DELETE FROM `d`.`t` WHERE `a`",
            "DELETE FROM `d`, `t`",
            "DELETE FROM `d`.`t`,`d`.`u`",
            "delete from `d`.`t`",
        ] {
            assert_eq!(emptied(sql), None, "{sql}");
        }
    }

    #[test]
    fn ends_and_savepoints_are_known() {
        assert_eq!(classify(b"ROLLBACK"), TextKind::Rollback);
        for (sql, name) in [
            ("ROLLBACK TO `a`", "a"),
            ("ROLLBACK WORK TO SAVEPOINT a", "a"),
            ("rollback to savepoint", "savepoint"),
            ("ROLLBACK TO `savepoint`", "savepoint"),
            ("ROLLBACK TO SAVEPOINT `b``x ``` ", "b`x `"),
            ("ROLLBACK TO \"to\"", "to"),
            ("ROLLBACK TO `a", ""),
        ] {
            assert_eq!(classify(sql.as_bytes()), TextKind::RollbackTo(name.into()), "{sql}");
        }
        assert_eq!(classify(b"SavePoint mixed_cases"), TextKind::Savepoint(b"mixed_cases".into()));
        assert_eq!(classify(b"SAVEPOINT `A b`"), TextKind::Savepoint(b"A b".into()));
        assert_eq!(classify(b"RELEASE SAVEPOINT `A b`"), TextKind::ReleaseSavepoint);
        let finish = |rolls_back| TextKind::XaFinish { xid: "X'61',X'',1".into(), rolls_back };
        assert_eq!(classify(b"XA COMMIT X'61',X'',1"), finish(false));
        assert_eq!(classify(b"XA ROLLBACK X'61',X'',1"), finish(true));
        assert_eq!(classify(b"XA START X'61',X'',1"), TextKind::XaStart);
    }
}
