//! The keys that a change touches, as hashes: equal keys have equal hashes.

use std::hash::{DefaultHasher, Hash, Hasher};

use paraply_core::value::Value;

use super::super::literal::write_literal;
use super::super::mapping::TableMapping;
use super::super::render::{Change, Image};

/// Hashes the keys of changes; its memory is used again for each of them.
///
/// Two keys with one hash only keep an order that need not be kept.
#[derive(Debug, Default)]
pub(super) struct KeyHasher {
    literal: Vec<u8>,
    touched: Vec<u64>,
}

impl KeyHasher {
    /// Returns the hash of a row by all its values, with those of another image where it has none; none if a value is not known.
    pub(super) fn row(
        &mut self,
        number: usize,
        table: &TableMapping,
        image: Image<'_, '_>,
        other: Image<'_, '_>,
    ) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        (number, usize::MAX).hash(&mut hasher);
        for index in table.own_columns() {
            let value = [image, other].into_iter().find_map(|image| image.get(index)?.as_ref())?;
            self.literal.clear();
            write_literal(&mut self.literal, &table.columns.get(index)?.kind, value).ok()?;
            without_sign_of_zero(&self.literal).hash(&mut hasher);
        }
        Some(hasher.finish())
    }

    /// Collects the hashes of the unique keys that a change takes or gives up.
    pub(super) fn touched(&mut self, number: usize, table: &TableMapping, change: Change<'_, '_>) {
        self.touched.clear();
        for (place, key) in table.keys.iter().chain(&table.other_keys).enumerate() {
            match change {
                Change::Insert(image) | Change::Delete(image) => self.add((number, place), table, key, image, &[]),
                Change::Update { before, after } => {
                    self.add((number, place), table, key, before, &[]);
                    if key.iter().any(|&i| matches!(after.get(i), Some(Some(_))) && after.get(i) != before.get(i)) {
                        self.add((number, place), table, key, after, before);
                    }
                }
            }
        }
    }

    /// Returns the collected hashes; [`KeyHasher::give_back`] takes their memory back.
    pub(super) fn take(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.touched)
    }

    pub(super) fn give_back(&mut self, touched: Vec<u64>) {
        self.touched = touched;
    }

    /// Adds a key of an image, with the values of another image where it has none. A key with NULL has no hash, because
    /// two rows may have it. Nor has one with a value that is not known, or that cannot be stored: the value is refused
    /// where it is written, and else the row keeps what it has.
    fn add(
        &mut self,
        name: (usize, usize),
        table: &TableMapping,
        key: &[usize],
        image: Image<'_, '_>,
        other: Image<'_, '_>,
    ) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        for &index in key {
            let value = [image, other].into_iter().find_map(|image| image.get(index)?.as_ref());
            let (Some(column), Some(value)) = (table.columns.get(index), value) else { return };
            if matches!(value, Value::Null | Value::JsonDiff(_)) {
                return;
            }
            self.literal.clear();
            if write_literal(&mut self.literal, &column.kind, value).is_err() {
                return;
            }
            without_sign_of_zero(&self.literal).hash(&mut hasher);
        }
        self.touched.push(hasher.finish());
    }
}

/// Returns a literal; a negative zero, which equals zero, without its sign.
fn without_sign_of_zero(literal: &[u8]) -> &[u8] {
    match literal {
        [b'\'', b'-', rest @ ..] if !rest.iter().any(|byte| (b'1'..=b'9').contains(byte)) => rest,
        [b'\'', rest @ ..] => rest,
        other => other,
    }
}
