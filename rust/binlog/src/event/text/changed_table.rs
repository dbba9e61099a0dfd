//! The first table named by a change of rows in text.

use super::quoting::is_word;

/// Words between the verb and the table.
const PASSED: [&str; 12] = [
    "LOW_PRIORITY",
    "DELAYED",
    "HIGH_PRIORITY",
    "QUICK",
    "IGNORE",
    "INTO",
    "FROM",
    "DATA",
    "XML",
    "LOCAL",
    "CONCURRENT",
    "INFILE",
];

/// A piece of a statement.
enum Token {
    /// A word or a quoted name; true if it was quoted.
    Name(String, bool),
    Text,
    Other(u8),
}

/// Returns the table that an INSERT, REPLACE, UPDATE, DELETE or LOAD names first, as `database.table`; none for other
/// statements.
pub(crate) fn changed_table(sql: &[u8], default_database: &str) -> Option<String> {
    let mut tokens = Tokens { rest: sql };
    let verb = loop {
        if let Token::Name(word, false) = tokens.next()? {
            break word.to_ascii_uppercase();
        }
    };
    if verb == "LOAD" {
        // LOAD DATA ... INFILE 'x' ... INTO TABLE t
        let is_table = |token: &Token| matches!(token, Token::Name(word, false) if word.eq_ignore_ascii_case("TABLE"));
        tokens.by_ref().find(is_table)?;
    } else if !matches!(verb.as_str(), "INSERT" | "REPLACE" | "UPDATE" | "DELETE") {
        return None;
    }
    let first = tokens.find_map(|token| match token {
        Token::Name(word, false) if PASSED.contains(&word.to_ascii_uppercase().as_str()) => None,
        Token::Name(name, _) => Some(Some(name)),
        Token::Text => None,
        Token::Other(_) => Some(None),
    })??;
    let mut after = tokens.clone();
    if let (Some(Token::Other(b'.')), Some(Token::Name(table, _))) = (after.next(), after.next()) {
        return Some(format!("{first}.{table}"));
    }
    Some(if default_database.is_empty() { first } else { format!("{default_database}.{first}") })
}

#[derive(Clone)]
struct Tokens<'a> {
    rest: &'a [u8],
}

impl Tokens<'_> {
    fn advance(&mut self, count: usize) -> &[u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn skip_past(&mut self, end: &[u8]) {
        let found = self.rest.windows(end.len()).position(|window| window == end);
        self.advance(found.map_or(self.rest.len(), |at| at + end.len()));
    }

    /// Reads up to the closing quote; a doubled quote is one quote.
    fn quoted(&mut self, quote: u8) -> Vec<u8> {
        let mut inside = Vec::new();
        self.advance(1);
        loop {
            match *self.rest {
                [] => return inside,
                [one, two, ..] if one == quote && two == quote => {
                    inside.push(quote);
                    self.advance(2);
                }
                [byte, ..] if byte == quote => {
                    self.advance(1);
                    return inside;
                }
                [b'\\', _, ..] if quote != b'`' => {
                    self.advance(2);
                }
                [byte, ..] => {
                    inside.push(byte);
                    self.advance(1);
                }
            }
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            match *self.rest {
                [] => return None,
                [b'/', b'*', b'!', ..] | [b'/', b'*', b'M', b'!', ..] => {
                    // The content of a version comment counts, its number does not.
                    let length =
                        self.rest.iter().take_while(|&&byte| b"/*M!".contains(&byte) || byte.is_ascii_digit()).count();
                    self.advance(length);
                }
                [b'/', b'*', ..] => self.skip_past(b"*/"),
                [b'*', b'/', ..] => {
                    self.advance(2);
                }
                [b'#', ..] | [b'-', b'-', b' ' | b'\t' | b'\n', ..] => self.skip_past(b"\n"),
                [b'`', ..] => return Some(Token::Name(String::from_utf8_lossy(&self.quoted(b'`')).into_owned(), true)),
                [quote @ (b'\'' | b'"'), ..] => {
                    self.quoted(quote);
                    return Some(Token::Text);
                }
                [byte, ..] if is_word(byte) => {
                    let length = self.rest.iter().take_while(|&&byte| is_word(byte)).count();
                    return Some(Token::Name(String::from_utf8_lossy(self.advance(length)).into_owned(), false));
                }
                [byte, ..] if byte.is_ascii_whitespace() => {
                    self.advance(1);
                }
                [byte, ..] => {
                    self.advance(1);
                    return Some(Token::Other(byte));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::changed_table;

    #[test]
    fn the_first_table_is_found_behind_what_may_stand_before_it() {
        let found = |sql: &str| changed_table(sql.as_bytes(), "d");
        assert_eq!(found("INSERT INTO t VALUES (1)").as_deref(), Some("d.t"));
        assert_eq!(found("insert ignore `a b`.`t``x` set i=1").as_deref(), Some("a b.t`x"));
        assert_eq!(found("/* x */ REPLACE DELAYED other.t SELECT 1").as_deref(), Some("other.t"));
        assert_eq!(found("UPDATE LOW_PRIORITY t1, t2 SET a=1").as_deref(), Some("d.t1"));
        assert_eq!(found("DELETE QUICK FROM t WHERE 1").as_deref(), Some("d.t"));
        assert_eq!(found("LOAD DATA LOCAL INFILE 'into table x' INTO TABLE `t` FIELDS").as_deref(), Some("d.t"));
        assert_eq!(found("/*!50000 INSERT*/ INTO t () VALUES ()").as_deref(), Some("d.t"));
        assert_eq!(found("CALL p()"), None);
        assert_eq!(changed_table(b"UPDATE t SET a=1", "").as_deref(), Some("t"));
        for damaged in ["", "INSERT", "INSERT INTO", "LOAD", "UPDATE `", "DELETE FROM (", "/*!", "/*"] {
            found(damaged);
        }
    }
}
