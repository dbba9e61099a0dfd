//! Rows that a statement deletes although one of its cascades has already deleted or changed them.

use std::collections::{HashMap, HashSet};

use paraply_core::schema::KeyPart;
use paraply_core::value::Value;

use crate::rows::image_cursor::Decoded;
use crate::rows::known_tables::KnownTable;
use crate::rows::row_walk::Step;
use crate::rows::{NO_FOREIGN_KEY_CHECKS, RowBuffer, RowsEvent};
use crate::transaction::RowsKind;

/// Number of cascades of cascades of one row that are followed.
const MOST_CHANGES: usize = 64;

/// Effect of a cascade on all rows with one image. They all have the same foreign key, so the cascade reached all of
/// them.
#[derive(Clone, Copy)]
enum Fate<'a> {
    Gone,
    Became(&'a [u8]),
}

/// The rows of a statement so far.
#[derive(Default)]
pub(super) struct Repeated<'a> {
    /// Rows that were deleted and did not come back, by table and key. A row with a key cannot be deleted twice.
    deleted: HashSet<(usize, String)>,
    /// By table, columns of the image and image.
    fates: HashMap<(usize, &'a [u8], &'a [u8]), Fate<'a>>,
}

impl<'a> Repeated<'a> {
    /// Notes an event of insertions or changes.
    pub(super) fn note(&mut self, step: &Step, table: &'a KnownTable, event: &RowsEvent<'a>) -> Decoded<()> {
        let (before, after) = event.columns();
        let is_whole = event.header.kind != RowsKind::PartialUpdate && (before.is_none() || before == after);
        if !is_whole {
            self.fates.retain(|(of, _, _), _| *of != step.table);
        }
        let cascades = is_whole && event.header.flags & NO_FOREIGN_KEY_CHECKS != 0;
        let mut buffer = RowBuffer::default();
        let mut rows = event.rows(&mut buffer, Some(&table.hashed));
        while let Some(row) = rows.next_row() {
            let row = row?;
            // A minimal image leaves out what did not change.
            let value = |at: usize| {
                let new = row.after.and_then(|image| image.get(at).copied().flatten());
                new.or_else(|| row.before.and_then(|image| image.get(at).copied().flatten()))
            };
            match key(table, value) {
                Some(key) => drop(self.deleted.remove(&(step.table, key))),
                None => self.deleted.retain(|(of, _)| *of != step.table),
            }
            let Some(columns) = after.filter(|_| is_whole) else { continue };
            let images = rows.bytes();
            if cascades && event.header.kind == RowsKind::Update {
                self.fates.insert((step.table, columns, images.before), Fate::Became(images.after));
            }
            self.fates.remove(&(step.table, columns, images.after));
        }
        Ok(())
    }

    /// Notes a deletion; returns the image of the row to delete, or none if it was deleted before.
    pub(super) fn delete(
        &mut self,
        table: usize,
        key: Option<String>,
        event: &RowsEvent<'a>,
        image: &'a [u8],
    ) -> Option<&'a [u8]> {
        let columns = event.columns().0.unwrap_or_default();
        // The flag is that of the event's first row, but in one event a statement's own rows follow those of its
        // cascades only where a table refers to itself, and such rows are not logged twice.
        if event.header.flags & NO_FOREIGN_KEY_CHECKS != 0 {
            self.fates.insert((table, columns, image), Fate::Gone);
            if let Some(key) = key {
                self.deleted.insert((table, key));
            }
            return Some(image);
        }
        let mut image = image;
        for _ in 0..MOST_CHANGES {
            match self.fates.get(&(table, columns, image)) {
                None => break,
                Some(Fate::Gone) => return None,
                Some(Fate::Became(next)) => image = next,
            }
        }
        let is_new = key.is_none_or(|key| self.deleted.insert((table, key)));
        is_new.then_some(image)
    }
}

/// Returns the identity of a row, given by the values of its columns, if it has a key without NULL.
pub(super) fn key<'v>(table: &KnownTable, value: impl Fn(usize) -> Option<Value<'v>>) -> Option<String> {
    let definition = table.definition.as_ref().ok()?;
    let column = |part: &KeyPart| match part {
        KeyPart::Column(column) if definition.columns.get(*column).is_some_and(|column| !column.nullable) => {
            Some(*column)
        }
        _ => None,
    };
    let mut keys = definition.unique_keys.iter();
    let columns = keys.find_map(|key| key.parts.iter().map(column).collect::<Option<Vec<_>>>())?;
    let values: Vec<_> = columns.iter().map(|&at| value(at)).collect::<Option<_>>()?;
    (!values.contains(&Value::Null)).then(|| format!("{values:?}"))
}
