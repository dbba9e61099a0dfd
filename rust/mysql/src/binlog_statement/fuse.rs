//! Fusing the rows of several statements of the source into one statement.

use std::borrow::Cow;
use std::collections::HashMap;

use paraply_binlog::rows::table_map::TableMap;

use super::row_event::{Error, HEADER, RowEvent, STATEMENT_END, TABLE_MAP};
use crate::progress_row::{self, ProgressRow};
use crate::row_ends::{Conversion, RowEnds, Unconverted};

/// Text before the events of a statement.
pub(super) const PREFIX: &[u8] = b"BINLOG '";
/// Table id that means no table: a row event that only ends a statement.
const NO_TABLE: &[u8] = &[0xff, 0xff, 0xff, 0, 0, 0];
const NO_TABLE_SHORT: &[u8] = &[0xff, 0xff, 0xff, 0];
/// Size beyond which no other row event joins a row event.
const MOST_JOINED: usize = 1 << 20;
/// Raw bytes from which a statement is long enough: longer ones only take memory on both sides.
const LONG: usize = 1 << 20;
/// Offset of an event's size in its header.
const SIZE_AT: usize = 9;
/// Offsets of its type and of its own flags.
const TYPE_AT: usize = 4;
const HEADER_FLAGS_AT: usize = 17;

/// Options for turning events into statements.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// Bytes of statement text (the server's `max_allowed_packet`).
    pub bytes: usize,
    /// True if every table has a unique key of NOT NULL columns, so that the server finds each row by itself:
    /// neighbouring row events that update or delete in one table become one. Without such a key a server searches for
    /// all rows of an event at once.
    pub keyed: bool,
    /// True if rows of two tables must not be in one statement of MariaDB. It ends with a fatal error of `InnoDB` where one
    /// statement has a table open whose generated column is in an index, and another one whose change reaches it by a foreign key
    /// (observed with 11.8.9); its own replica has one statement for each of the source.
    pub separate_tables: bool,
    /// The columns of system-versioned tables whose values may have to be converted.
    pub row_ends: Option<&'a RowEnds>,
    /// Databases and names of tables whose rows are left out.
    pub left_out: &'a [(String, String)],
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { bytes: 16 << 20, keyed: false, separate_tables: false, row_ends: None, left_out: &[] }
    }
}

/// A table of the current statement.
struct Table<'a> {
    map: RowEvent<'a>,
    /// Its number in the current statement; none until a row event needs it.
    number: Option<u32>,
    /// Conversion of the ends of its row versions.
    conversion: Option<Conversion>,
    /// True if its rows are not wanted.
    left_out: bool,
}

/// A row event of the current statement, which others may join.
struct RowsInMaking {
    bytes: Vec<u8>,
    table: usize,
    type_code: u8,
    flags_at: usize,
    /// Offset of the rows. The bytes between the flags and the rows describe their layout.
    rows_at: usize,
}

/// Collects table maps and row events of one statement, and closes it when it is full.
///
/// Sources number tables as they like, and one relay log may hold several sources, so tables get numbers of their own.
pub(super) struct Fuse<'a> {
    keyed: bool,
    separate_tables: bool,
    limit: usize,
    /// Raw bytes that fit into a statement of `limit` bytes in base64.
    raw_limit: usize,
    tables: Vec<Table<'a>>,
    by_map: HashMap<&'a [u8], usize>,
    by_id: HashMap<&'a [u8], usize>,
    maps: Vec<u8>,
    numbers: u32,
    rows: Vec<RowsInMaking>,
    row_bytes: usize,
    flags: [u8; 2],
    /// Progress to write before the first statement's rows.
    progress: Option<&'a ProgressRow<'a>>,
    row_ends: Option<&'a RowEnds>,
    left_out: &'a [(String, String)],
    closed: Option<Vec<u8>>,
}

impl<'a> Fuse<'a> {
    pub(super) fn new(limits: Limits<'a>) -> Self {
        Self {
            keyed: limits.keyed,
            separate_tables: limits.separate_tables,
            limit: limits.bytes,
            // The packet also carries the command's byte.
            raw_limit: limits.bytes.saturating_sub(PREFIX.len() + 2) / 4 * 3,
            tables: Vec::new(),
            by_map: HashMap::new(),
            by_id: HashMap::new(),
            maps: Vec::new(),
            numbers: 0,
            rows: Vec::new(),
            row_bytes: 0,
            flags: [0; 2],
            progress: None,
            row_ends: limits.row_ends,
            left_out: limits.left_out,
            closed: None,
        }
    }

    /// Creates a fuse whose first statement also writes a session's progress.
    pub(super) fn with_progress(limits: Limits<'a>, progress: &'a ProgressRow<'a>) -> Self {
        let bytes = limits.bytes.saturating_sub(progress.byte_length());
        Self { progress: Some(progress), ..Self::new(Limits { bytes, ..limits }) }
    }

    /// Sets the table that an id means from here on.
    pub(super) fn table_map(&mut self, map: &RowEvent<'a>) -> Result<(), Error> {
        let next = self.tables.len();
        let table = *self.by_map.entry(&map.bytes[map.flags_at..]).or_insert(next);
        if table == next {
            let convert = |row_ends: &RowEnds| row_ends.conversion(map.bytes, map.format);
            let conversion = self.row_ends.map(convert).transpose();
            let conversion = conversion.map_err(|_| Error::Malformed { offset: map.offset })?.flatten();
            let left_out = self.is_left_out(map)?;
            self.tables.push(Table { map: *map, number: None, conversion, left_out });
        }
        self.by_id.insert(map.table_id(), table);
        Ok(())
    }

    fn is_left_out(&self, map: &RowEvent<'_>) -> Result<bool, Error> {
        if self.left_out.is_empty() {
            return Ok(false);
        }
        let map = TableMap::parse(map.bytes, map.format).map_err(|_| Error::Malformed { offset: map.offset })?;
        Ok(self.left_out.iter().any(|(database, table)| (database, table) == (&map.name.database, &map.name.table)))
    }

    /// Ends the source's statement: table ids lose their meaning.
    pub(super) fn forget_table_maps(&mut self) {
        self.by_id.clear();
    }

    /// Adds a row event.
    pub(super) fn rows(&mut self, event: &RowEvent<'a>) -> Result<(), Error> {
        if matches!(event.table_id(), NO_TABLE | NO_TABLE_SHORT) {
            return Ok(());
        }
        let table = *self.by_id.get(event.table_id()).ok_or(Error::NoTableMap { offset: event.offset })?;
        if self.tables[table].left_out {
            return Ok(());
        }
        let map_size = |known: &Table<'_>| if known.number.is_none() { known.map.bytes.len() } else { 0 };
        let more = map_size(&self.tables[table]) + event.bytes.len();
        let parts =
            self.separate_tables && event.format.mariadb && self.rows.last().is_some_and(|last| last.table != table);
        if parts || event.flags() != self.flags || self.maps.len() + self.row_bytes + more > self.raw_limit {
            self.close();
        }
        self.flags = event.flags();
        let alone = self.tables[table].map.bytes.len() + event.bytes.len();
        if alone > self.raw_limit {
            let bytes = alone.div_ceil(3) * 4 + PREFIX.len() + 2;
            return Err(Error::TooLarge { offset: event.offset, bytes, limit: self.limit });
        }
        self.add(event, table)
    }

    fn add(&mut self, event: &RowEvent<'a>, table: usize) -> Result<(), Error> {
        let rows_at = rows_at(event).ok_or(Error::Malformed { offset: event.offset })?;
        let own = match &self.tables[table].conversion {
            Some(conversion) => Cow::Owned(conversion.convert(event.bytes, event.format).map_err(|why| match why {
                Unconverted::Malformed => Error::Malformed { offset: event.offset },
                Unconverted::TooLate => Error::TooLate { offset: event.offset },
            })?),
            None => Cow::Borrowed(event.bytes),
        };
        if self.joins(event, table, rows_at) {
            let added = &own[rows_at..];
            self.row_bytes += added.len();
            if let Some(last) = self.rows.last_mut() {
                last.bytes.extend_from_slice(added);
            }
            return Ok(());
        }
        if let Some(progress) = self.progress.take() {
            self.add_progress(progress, event);
        }
        let number = self.number(table);
        let mut bytes = own.into_owned();
        set_number(&mut bytes, event.flags_at, number);
        bytes[event.flags_at..event.flags_at + 2].copy_from_slice(&event.flags());
        self.row_bytes += bytes.len();
        self.rows.push(RowsInMaking { bytes, table, type_code: event.type_code, flags_at: event.flags_at, rows_at });
        Ok(())
    }

    /// Adds the row event of the progress. The server uses the flags of a statement's first row event for all, so this
    /// one gets those of `event`.
    fn add_progress(&mut self, progress: &ProgressRow<'_>, event: &RowEvent<'_>) {
        self.numbers += 1;
        let type_code = progress_row::type_beside(event.type_code);
        let start = self.maps.len();
        self.maps.extend_from_slice(&event_like(event, TABLE_MAP, &ProgressRow::table_map()));
        set_number(&mut self.maps[start..], event.flags_at, self.numbers);
        let mut bytes = event_like(event, type_code, &progress.rows(type_code, event.flags()));
        set_number(&mut bytes, event.flags_at, self.numbers);
        self.rows.push(RowsInMaking { bytes, table: usize::MAX, type_code, flags_at: event.flags_at, rows_at: 0 });
    }

    /// Returns true if the rows may be appended to those of the last event: the same change of the same table in the
    /// same form.
    fn joins(&self, event: &RowEvent<'_>, table: usize, rows_at: usize) -> bool {
        let Some(last) = self.rows.last() else { return false };
        let kind = match event.type_code {
            23 | 30 => true,
            24 | 25 | 31 | 32 => self.keyed,
            _ => false,
        };
        kind && last.table == table
            && last.type_code == event.type_code
            && last.bytes.len() + event.bytes.len() <= MOST_JOINED
            && last.bytes.get(event.flags_at + 2..last.rows_at) == event.bytes.get(event.flags_at + 2..rows_at)
    }

    /// Returns the table's number in this statement; its map is added with the first row event.
    fn number(&mut self, table: usize) -> u32 {
        let known = &mut self.tables[table];
        if let Some(number) = known.number {
            return number;
        }
        self.numbers += 1;
        known.number = Some(self.numbers);
        let start = self.maps.len();
        self.maps.extend_from_slice(known.map.bytes);
        set_number(&mut self.maps[start..], known.map.flags_at, self.numbers);
        self.numbers
    }

    /// Ends the current statement.
    fn close(&mut self) {
        let Some(last) = self.rows.last_mut() else { return };
        last.bytes[last.flags_at] |= STATEMENT_END;
        let mut events = std::mem::take(&mut self.maps);
        for mut rows in self.rows.drain(..) {
            let size = rows.bytes.len() as u32;
            rows.bytes[SIZE_AT..SIZE_AT + 4].copy_from_slice(&size.to_le_bytes());
            events.extend_from_slice(&rows.bytes);
        }
        self.closed = Some(events);
        for table in &mut self.tables {
            table.number = None;
        }
        (self.numbers, self.row_bytes) = (0, 0);
    }

    /// Returns the events of the statement that was closed because an event did not fit into it.
    pub(super) fn closed(&mut self) -> Option<Vec<u8>> {
        self.closed.take()
    }

    /// Returns true if the current statement is long enough.
    pub(super) fn is_long(&self) -> bool {
        self.maps.len() + self.row_bytes >= LONG
    }

    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        self.close();
        self.closed
    }
}

/// Returns the offset of the rows: after flags, extra data (version 2), number of columns and their bitmaps.
fn rows_at(event: &RowEvent<'_>) -> Option<usize> {
    let mut at = event.flags_at + 2;
    if event.type_code >= 30 {
        at += usize::from(u16::from_le_bytes([*event.bytes.get(at)?, *event.bytes.get(at + 1)?]));
    }
    let (columns, width) = match *event.bytes.get(at)? {
        0xfc => (usize::from(u16::from_le_bytes([*event.bytes.get(at + 1)?, *event.bytes.get(at + 2)?])), 3),
        small @ 0..=0xfa => (usize::from(small), 1),
        _ => return None,
    };
    let images = if matches!(event.type_code, 24 | 31 | 39) { 2 } else { 1 };
    at += width + columns.div_ceil(8) * images;
    (at <= event.bytes.len()).then_some(at)
}

/// Returns an event with the header of another one, with the table's id unset.
fn event_like(other: &RowEvent<'_>, type_code: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = other.bytes[..other.flags_at].to_vec();
    bytes[TYPE_AT] = type_code;
    bytes[HEADER_FLAGS_AT..HEADER].fill(0);
    bytes.extend_from_slice(body);
    let size = bytes.len() as u32;
    bytes[SIZE_AT..SIZE_AT + 4].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// Replaces the source's number of a table.
fn set_number(event: &mut [u8], flags_at: usize, number: u32) {
    let id = &mut event[HEADER..flags_at];
    id.fill(0);
    id[..4].copy_from_slice(&number.to_le_bytes());
}
