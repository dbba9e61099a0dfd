//! Rules by which a server reads the quotes in a statement.

use paraply_core::collation::Collation;

/// Rules of the session that ran a statement.
#[derive(Debug, Clone, Copy)]
pub struct Quoting {
    /// True if a backslash escapes in strings (not under the `sql_mode` `NO_BACKSLASH_ESCAPES`).
    pub escapes: bool,
    /// True if double quotes enclose names (`ANSI_QUOTES`).
    pub ansi_quotes: bool,
    /// A collation of the client's character set, if it is known.
    ///
    /// In sjis, cp932, gbk, big5 and gb18030 the later bytes of a character may be those of a backtick or a backslash.
    pub client: Option<&'static Collation>,
}

impl Quoting {
    /// Returns the rules for a text: a server writes the definitions of CREATE TABLE ... SELECT by itself, in UTF-8.
    pub(super) fn for_text(self, sql: &[u8]) -> Self {
        let is_definition = || sql.starts_with(b"CREATE ") && sql.windows(7).any(|window| window == b"` (\n  `");
        let of_server = self.client.is_some() && is_definition() && std::str::from_utf8(sql).is_ok();
        Self { client: self.client.filter(|_| !of_server), ..self }
    }

    /// Returns the number of bytes of the first character.
    pub(super) fn character(self, text: &[u8]) -> usize {
        match (text, self.client) {
            ([..=0x7f, ..], _) | (_, None) => 1,
            (_, Some(client)) => client.character_length(text),
        }
    }

    /// Returns true if a backslash escapes between these quotes.
    pub(super) fn escapes_in(self, quote: u8) -> bool {
        self.escapes && quote != b'`' && !(self.ansi_quotes && quote == b'"')
    }
}

/// Returns true if a name without quotes may hold this byte.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}
