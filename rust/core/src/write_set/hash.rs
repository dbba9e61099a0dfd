//! The bytes that are hashed, and the hash (rule R11).

use xxhash_rust::xxh64::xxh64;

use crate::schema::TableName;

/// `½` in UTF-8: separates a text from its length.
pub(super) const SEPARATOR: [u8; 2] = [0xC2, 0xBD];
/// Used instead of a key's name in a hash of a whole table. No key can have this name: an identifier is never empty.
const WHOLE_TABLE: &str = "";

/// Returns the bytes before a key's values: the key's name, database and table.
pub fn key_prefix(key: &str, table: &TableName) -> Vec<u8> {
    let mut out = key.as_bytes().to_vec();
    out.extend_from_slice(&SEPARATOR);
    for name in [&table.database, &table.table] {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&SEPARATOR);
        push_number(&mut out, name.len() as u64);
    }
    out
}

/// Returns the hash of a whole table (rules R14 and R15a).
pub fn table_hash(table: &TableName) -> u64 {
    xxh64(&key_prefix(WHOLE_TABLE, table), 0)
}

/// Hashes keys in one reused buffer.
///
/// ```
/// use paraply_core::{schema::TableName, write_set::{KeyHasher, key_prefix}};
/// let mut hasher = KeyHasher::default();
/// hasher.begin(&key_prefix("PRIMARY", &TableName::new("test", "t1")));
/// hasher.part(b"1");
/// assert_eq!(hasher.finish(), 340395741608101502);
/// ```
#[derive(Debug, Clone, Default)]
pub struct KeyHasher {
    buffer: Vec<u8>,
}

impl KeyHasher {
    /// Starts a key with its [`key_prefix`].
    #[inline]
    pub fn begin(&mut self, prefix: &[u8]) {
        self.buffer.clear();
        self.buffer.extend_from_slice(prefix);
    }

    /// Adds a part's value in its canonical form.
    pub fn part(&mut self, value: &[u8]) {
        self.buffer.extend_from_slice(value);
        self.end_part(self.buffer.len() - value.len());
    }

    /// Adds a part whose value `write` appends; returns the result of `write`.
    #[inline]
    pub(super) fn part_with<T>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let start = self.buffer.len();
        let result = write(&mut self.buffer);
        self.end_part(start);
        result
    }

    #[inline]
    fn end_part(&mut self, start: usize) {
        let length = self.buffer.len() - start;
        self.buffer.extend_from_slice(&SEPARATOR);
        push_number(&mut self.buffer, length as u64);
    }

    /// Returns the bytes that are hashed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// Returns the hash of the key.
    #[inline]
    pub fn finish(&self) -> u64 {
        xxh64(&self.buffer, 0)
    }
}

/// Appends a number as decimal text.
#[inline]
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    if number < 10 {
        out.push(b'0' + number as u8);
        return;
    }
    let mut digits = [0_u8; 20];
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        count += 1;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[digits.len() - count..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(key: &str, values: &[&str]) -> u64 {
        let mut hasher = KeyHasher::default();
        hasher.begin(&key_prefix(key, &TableName::new("test", "t1")));
        for value in values {
            hasher.part(value.as_bytes());
        }
        hasher.finish()
    }

    #[test]
    fn r11_the_three_known_answers() {
        assert_eq!(hash("PRIMARY", &["1"]), 340_395_741_608_101_502);
        assert_eq!(hash("PRIMARY", &["1", "2"]), 13_655_149_628_280_894_901);
        assert_eq!(hash("c2", &["2"]), 12_796_928_550_717_161_120);
    }

    #[test]
    fn numbers_are_decimal_text() {
        for number in [0, 9, 10, 99, 100, 12345, u64::MAX] {
            let mut out = Vec::new();
            push_number(&mut out, number);
            assert_eq!(out, number.to_string().into_bytes());
        }
    }
}
