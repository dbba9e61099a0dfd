//! A reader of GTID text that knows its position.

use super::{Gtid, GtidError, MYSQL_MAX_NUMBER, Origin};

/// Greatest length of a tag, in characters.
const MAX_TAG: usize = 32;

/// The lengths, in hexadecimal digits, of the five groups of a UUID.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// Reads GTID text from left to right.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a reader at the beginning of `text`.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), at: 0 }
    }

    /// Returns the error `problem` at the present position.
    pub(super) fn error(&self, problem: &'static str) -> GtidError {
        GtidError::at(problem, self.text, self.at)
    }

    /// Skips white space.
    pub(super) fn skip_space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips white space and, if it comes next, `byte`; returns true if it did.
    pub(super) fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Returns true if nothing but white space is left.
    pub(super) fn at_end(&mut self) -> bool {
        self.skip_space();
        self.at == self.text.len()
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Returns true if a MariaDB GTID comes next: digits, a dash, digits, a dash and digits.
    pub(super) fn mariadb_comes(&mut self) -> bool {
        self.skip_space();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let item = rest.split(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
        item.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') && item.split(|byte| *byte == b'-').count() == 3
    }

    /// Reads a decimal number between `low` and `high`.
    pub(super) fn number(&mut self, low: u64, high: u64) -> Result<u64, GtidError> {
        self.skip_space();
        let start = self.at;
        let mut number = 0_u64;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            number = number
                .checked_mul(10)
                .and_then(|tens| tens.checked_add(u64::from(digit - b'0')))
                .ok_or_else(|| GtidError::at("number out of range", self.text, start))?;
            self.at += 1;
        }
        if self.at == start {
            return Err(self.error("expected a number"));
        }
        if number < low || number > high {
            return Err(GtidError::at("number out of range", self.text, start));
        }
        Ok(number)
    }

    /// Reads a UUID, with or without dashes, in braces or not.
    pub(super) fn uuid(&mut self) -> Result<[u8; 16], GtidError> {
        let braces = self.take(b'{');
        let mut value = 0_u128;
        let mut dashes = None;
        for (group, length) in UUID_GROUPS.into_iter().enumerate() {
            if group > 0 {
                let dash = self.peek() == Some(b'-');
                if *dashes.get_or_insert(dash) != dash {
                    return Err(self.error("expected a UUID, its dashes all there or all left out"));
                }
                self.at += usize::from(dash);
            }
            for _ in 0..length {
                value = value << 4 | u128::from(self.hex_digit()?);
            }
        }
        if braces && !self.take(b'}') {
            return Err(self.error("expected the closing brace of a UUID"));
        }
        Ok(value.to_be_bytes())
    }

    fn hex_digit(&mut self) -> Result<u8, GtidError> {
        let digit = match self.peek() {
            Some(byte @ b'0'..=b'9') => byte - b'0',
            Some(byte @ b'a'..=b'f') => byte - b'a' + 10,
            Some(byte @ b'A'..=b'F') => byte - b'A' + 10,
            _ => return Err(self.error("expected a hexadecimal digit of a UUID")),
        };
        self.at += 1;
        Ok(digit)
    }

    /// Reads a tag, if one comes next; in lower case.
    pub(super) fn tag(&mut self) -> Result<Option<String>, GtidError> {
        self.skip_space();
        let start = self.at;
        if !self.peek().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
            return Ok(None);
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        if self.at - start > MAX_TAG {
            return Err(GtidError::at("tag longer than 32 characters", self.text, start));
        }
        let tag = self.text.get(start..self.at).unwrap_or_default();
        Ok(Some(String::from_utf8_lossy(tag).to_ascii_lowercase()))
    }

    /// Reads `domain-server-sequence`.
    pub(super) fn mariadb(&mut self) -> Result<Gtid, GtidError> {
        let domain = self.number(0, u64::from(u32::MAX))? as u32;
        self.dash()?;
        let server = self.number(0, u64::from(u32::MAX))? as u32;
        self.dash()?;
        let number = self.number(1, u64::MAX)?;
        Ok(Gtid { origin: Origin::MariaDb { domain, server }, number })
    }

    fn dash(&mut self) -> Result<(), GtidError> {
        if self.take(b'-') { Ok(()) } else { Err(self.error("expected a dash")) }
    }

    /// Reads `uuid:number` or `uuid:tag:number`.
    pub(super) fn mysql(&mut self) -> Result<Gtid, GtidError> {
        let uuid = self.uuid()?;
        self.colon()?;
        let tag = self.tag()?;
        if tag.is_some() {
            self.colon()?;
        }
        let number = self.number(1, MYSQL_MAX_NUMBER)?;
        Ok(Gtid { origin: Origin::MySql { uuid, tag: tag.unwrap_or_default() }, number })
    }

    fn colon(&mut self) -> Result<(), GtidError> {
        if self.take(b':') { Ok(()) } else { Err(self.error("expected a colon")) }
    }
}
