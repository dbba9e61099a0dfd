//! The tables in which paraply keeps its own state in a server. In a log they are never content: each target has its
//! own.

use paraply_spool::Data;

use crate::event::types::TABLE_MAP;
use crate::rows::image_cursor::Decoded;
use crate::rows::layout::type_code::{LONG, LONGLONG, VARCHAR};
use crate::rows::table_map::form_of;
use crate::transaction::{Format, RawEvent};

/// Their database. It may hold tables of other owners.
pub const DATABASE: &str = "paraply";

/// Their names, and the types of their first columns. Later columns differ between versions of paraply.
const TABLES: [(&str, &[u8]); 10] = [
    ("channel", &[VARCHAR, LONGLONG]),
    ("conflict", &[LONGLONG, VARCHAR]),
    ("diverged_table", &[VARCHAR, VARCHAR]),
    ("pause", &[VARCHAR, VARCHAR]),
    ("progress", &[VARCHAR, LONG]),
    ("run", &[VARCHAR, LONGLONG]),
    ("setting", &[VARCHAR, VARCHAR]),
    ("split", &[VARCHAR, LONG]),
    ("undo_history", &[LONGLONG]),
    ("xa", &[VARCHAR, VARCHAR]),
];

/// Returns the names of the tables.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, _)| *name)
}

/// Returns true for the name of one of the tables.
pub fn is_own(database: &str, table: &str) -> bool {
    database == DATABASE && names().any(|name| name == table)
}

/// Returns true if a table-map event is of one of the tables: by its name, and by the types of its first columns. A
/// table of another owner may have the same name.
pub(crate) fn is_map_of_own(event: &[u8], format: &Format) -> Decoded<bool> {
    let (name, types) = form_of(event, format)?;
    let expected = TABLES.iter().find(|(table, _)| name.database == DATABASE && *table == name.table);
    Ok(expected.is_some_and(|(_, first)| types.starts_with(first)))
}

/// Returns true if some table-map event may be of one of the tables; `data` holds the bytes of the events.
///
/// Few logs have any, so that this reads no more than the database's name.
pub(crate) fn may_have_own(events: &[RawEvent], data: &Data) -> bool {
    let is_at = |event: &RawEvent, start: usize| {
        data.get(event.range.start + start..event.range.end).is_some_and(|bytes| bytes.starts_with(DATABASE.as_bytes()))
    };
    events.iter().any(|event| event.type_code == TABLE_MAP && DATABASE_AT.iter().any(|&start| is_at(event, start)))
}

/// Places of the database's name in a table-map event: after its header, the table's id, flags and the name's length. Ids were shorter
/// before 5.1.4.
const DATABASE_AT: [usize; 2] = [19 + 6 + 2 + 1, 19 + 4 + 2 + 1];
