//! Record of what was hashed, key by key, for debugging (`explain_write_set`).

use super::fallback::Reason;
use super::part::Part;

/// One key of one image, as it was hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The bytes before the values: the key's name, database and table (see [`super::key_prefix`]).
    pub prefix: Vec<u8>,
    /// The columns of the key's parts; none for an expression.
    pub columns: Vec<Option<usize>>,
    /// All bytes that were hashed; the bytes written so far where there is no hash.
    pub hashed: Vec<u8>,
    /// Result for the key.
    pub result: Noted,
}

/// Result of hashing a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted {
    /// Its hash.
    Hash(u64),
    /// A part is NULL: there is no key.
    Null,
    /// A part's value is not known: a coarser hash replaces it.
    Lost(Reason),
}

impl Note {
    pub(super) fn new(prefix: &[u8], parts: &[Part], hashed: &[u8], result: Noted) -> Self {
        let column = |part: &Part| match part {
            Part::Column { index, .. } => Some(*index),
            Part::Unknown => None,
        };
        Self { prefix: prefix.to_vec(), columns: parts.iter().map(column).collect(), hashed: hashed.to_vec(), result }
    }

    /// Returns the values' bytes in the form that is equal for equal values, part by part.
    ///
    /// They are found from the end: each value precedes its own length.
    pub fn values(&self) -> Vec<Vec<u8>> {
        let mut rest = self.hashed.get(self.prefix.len()..).unwrap_or_default();
        let mut values = Vec::new();
        while let Some((before, value)) = last_value(rest) {
            values.push(value.to_vec());
            rest = before;
        }
        values.reverse();
        values
    }
}

/// Splits `... value ½ length` into the bytes before and the value.
fn last_value(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let digits = bytes.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, length) = bytes.split_at_checked(bytes.len() - digits)?;
    let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
    let rest = rest.strip_suffix(&super::hash::SEPARATOR)?;
    rest.split_at_checked(rest.len().checked_sub(length)?)
}

#[cfg(test)]
mod tests {
    use super::super::hash::{KeyHasher, key_prefix};
    use super::*;
    use crate::schema::TableName;

    #[test]
    fn values_are_found_again() {
        let prefix = key_prefix("PRIMARY", &TableName::new("d", "t1"));
        let mut hasher = KeyHasher::default();
        hasher.begin(&prefix);
        let values: [&[u8]; 4] = [b"12", b"", "½7".as_bytes(), b"0123456789ab"];
        for value in &values {
            hasher.part(value);
        }
        let note = Note::new(&prefix, &[], hasher.bytes(), Noted::Hash(hasher.finish()));
        assert_eq!(note.values(), values);
    }
}
