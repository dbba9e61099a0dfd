//! Row events: the images of inserted, changed and deleted rows.

// These bytes come from others: an access outside of them is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

pub mod changes;
pub mod filter;
pub mod image_cursor;
pub mod known_tables;
pub mod layout;
pub mod logged_cascades;
mod mapped_column;
mod optional_metadata;
pub mod own_tables;
pub mod renames;
pub mod row_statement;
pub mod row_walk;
pub mod single_rows;
pub mod step_rows;
pub mod table_check;
pub mod table_map;
mod value_offsets;
pub mod values;

use paraply_core::value::Value;

use crate::rows::image_cursor::{Cursor, Decoded, Malformed};
use crate::rows::layout::Layout;
use crate::rows::table_map::{EVENT_HEADER, TableMap, bit_is_set, table_id};
use crate::rows::values::decode::{decode, decode_json_diff};
use crate::transaction::{Format, RowsKind};

/// Flag of the last event of a statement.
pub const STMT_END: u16 = 1;
/// The session ran with `foreign_key_checks=0`, or the rows come from a cascade.
pub const NO_FOREIGN_KEY_CHECKS: u16 = 2;
/// The session ran with `unique_checks=0`.
pub const RELAXED_UNIQUE_CHECKS: u16 = 4;
/// The server carries out foreign keys itself, above its storage engines, and logs what cascades change (MySQL 9.6).
pub const SQL_FOREIGN_KEYS: u16 = 16;
/// A row of a parent goes and comes back in one statement, and its children stay: foreign keys must not be checked for its deletion.
/// No server writes this flag; [`crate::rows::logged_cascades`] sets it, and nobody but an applier gives it a meaning.
pub const CHILDREN_STAY: u16 = 1 << 15;

/// The table id of an event that carries no rows, only the end of a statement.
const DUMMY_TABLE_ID: u64 = 0x00ff_ffff;

/// The value option for JSON columns that hold differences.
const PARTIAL_JSON: u64 = 1;

/// Returns the meaning of a row event's type code; none for other events.
pub fn rows_kind(type_code: u8) -> Option<RowsKind> {
    Some(match type_code {
        23 | 30 => RowsKind::Insert,
        24 | 31 => RowsKind::Update,
        25 | 32 => RowsKind::Delete,
        39 => RowsKind::PartialUpdate,
        _ => return None,
    })
}

/// Returns the offset of the flags in a whole row event.
pub fn flags_place(type_code: u8, format: &Format) -> usize {
    let short = format.post_header_length(type_code) == Some(6);
    EVENT_HEADER + if short { 4 } else { 6 }
}

/// The part of a row event before its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsHeader<'a> {
    /// Kind of the change.
    pub kind: RowsKind,
    /// The table, as its table-map event named it.
    pub table_id: u64,
    /// The event's flags: [`STMT_END`], [`NO_FOREIGN_KEY_CHECKS`], ...
    pub flags: u16,
    /// Extra row information (partitions, NDB), unparsed.
    pub extra: &'a [u8],
    body: usize,
}

impl<'a> RowsHeader<'a> {
    /// Reads the header of a whole event (uncompressed, without checksum).
    ///
    /// Row events of servers before 5.1.18 (types 20 to 22) are refused.
    pub fn parse(event: &'a [u8], format: &Format) -> Decoded<Self> {
        let code = event.get(4).copied().unwrap_or_default();
        let kind = rows_kind(code).ok_or(Malformed { what: "a row event of a kind that is not supported", at: 4 })?;
        let mut cursor = Cursor::new(event, EVENT_HEADER);
        let table_id = table_id(&mut cursor, format, code)?;
        let flags = cursor.u16()?;
        let mut extra: &[u8] = &[];
        if code >= 30 {
            let length = cursor.u16()?.checked_sub(2).ok_or(cursor.malformed("extra row information too short"))?;
            extra = cursor.take(usize::from(length))?;
        }
        Ok(Self { kind, table_id, flags, extra, body: cursor.position() })
    }

    /// Returns true if the event has no rows and only ends a statement.
    pub fn is_dummy(&self) -> bool {
        self.table_id == DUMMY_TABLE_ID
    }
}

/// A row event, ready to be walked row by row.
#[derive(Debug, Clone, Copy)]
pub struct RowsEvent<'a> {
    /// Kind, flags and table id.
    pub header: RowsHeader<'a>,
    table: &'a TableMap,
    event: &'a [u8],
    before: Option<&'a [u8]>,
    after: Option<&'a [u8]>,
    rows_at: usize,
}

impl<'a> RowsEvent<'a> {
    /// Reads a whole event (uncompressed, without checksum) under its table map.
    pub fn parse(event: &'a [u8], table: &'a TableMap, format: &Format) -> Decoded<Self> {
        Self::with_header(RowsHeader::parse(event, format)?, event, table)
    }

    /// Reads an event with a parsed header.
    pub fn with_header(header: RowsHeader<'a>, event: &'a [u8], table: &'a TableMap) -> Decoded<Self> {
        let mut cursor = Cursor::new(event, header.body);
        let at = cursor.position();
        if cursor.packed()? != table.columns.len() as u64 {
            return Err(Malformed { what: "rows of another number of columns than their table map", at });
        }
        let bytes = table.columns.len().div_ceil(8);
        let has_before = header.kind != RowsKind::Insert;
        let has_after = header.kind != RowsKind::Delete;
        let before = if has_before { Some(cursor.take(bytes)?) } else { None };
        let after = if has_after { Some(cursor.take(bytes)?) } else { None };
        Ok(Self { header, table, event, before, after, rows_at: cursor.position() })
    }

    /// Returns the table map of the rows.
    pub fn table(&self) -> &'a TableMap {
        self.table
    }

    /// Iterates over the rows, decoding the columns that are wanted (all if `wanted` is none).
    pub fn rows<'b>(&self, buffer: &'b mut RowBuffer<'a>, wanted: Option<&'b [bool]>) -> Rows<'a, 'b> {
        buffer.reset(self.table.columns.len());
        let cursor = Cursor::new(self.event, self.rows_at);
        Rows { event: *self, cursor, buffer, wanted, stopped: false, images: RowBytes::default() }
    }

    /// Returns the event up to its first row.
    pub(crate) fn head(&self) -> &'a [u8] {
        self.event.get(..self.rows_at).unwrap_or_default()
    }

    /// Returns the columns in the images before and after the change, as bits; none where there is no such image.
    pub(crate) fn columns(&self) -> (Option<&'a [u8]>, Option<&'a [u8]>) {
        (self.before, self.after)
    }

    /// Counts the rows (an update's two images are one).
    pub fn count_rows(&self) -> Decoded<u64> {
        let mut buffer = RowBuffer::default();
        let mut rows = self.rows(&mut buffer, Some(&[]));
        let mut count = 0;
        while let Some(row) = rows.next_row() {
            row?;
            count += 1;
        }
        Ok(count)
    }

    /// Returns true for an empty row: under a minimal row image, an insert of nothing but default values has no byte.
    fn is_empty_row(&self) -> bool {
        let columns = self.table.columns.len();
        let is_empty = |bits: Option<&[u8]>| bits.is_none_or(|bits| count_bits(bits, columns) == 0);
        self.rows_at == self.event.len() && is_empty(self.before) && is_empty(self.after)
    }
}

/// Reusable buffer for one row's images.
///
/// None marks a column that is not in the image or not wanted, `Some(Value::Null)` is NULL.
#[derive(Debug, Default)]
pub struct RowBuffer<'a> {
    before: Vec<Option<Value<'a>>>,
    after: Vec<Option<Value<'a>>>,
}

impl RowBuffer<'_> {
    fn reset(&mut self, columns: usize) {
        for image in [&mut self.before, &mut self.after] {
            image.clear();
            image.resize(columns, None);
        }
    }
}

/// One row: its images before and after the change.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a, 'r> {
    /// The columns before the change; none for an insert.
    pub before: Option<&'r [Option<Value<'a>>]>,
    /// The columns after the change; none for a delete.
    pub after: Option<&'r [Option<Value<'a>>]>,
}

/// The bytes of one row's images in their event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowBytes<'a> {
    pub(crate) before: &'a [u8],
    /// The after image without the bits for JSON columns that hold differences.
    pub(crate) after: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// Iterator over the rows of an event.
#[derive(Debug)]
pub struct Rows<'a, 'b> {
    event: RowsEvent<'a>,
    cursor: Cursor<'a>,
    buffer: &'b mut RowBuffer<'a>,
    wanted: Option<&'b [bool]>,
    stopped: bool,
    images: RowBytes<'a>,
}

impl<'a> Rows<'a, '_> {
    /// Returns the bytes of the row that was returned last.
    pub(crate) fn bytes(&self) -> RowBytes<'a> {
        self.images
    }

    /// Returns the next row; none after the last one or after an error.
    pub fn next_row(&mut self) -> Option<Decoded<Row<'a, '_>>> {
        if self.stopped {
            return None;
        }
        if self.cursor.is_at_end() {
            self.stopped = true;
            if self.cursor.position() != self.event.rows_at || !self.event.is_empty_row() {
                return None;
            }
        } else if let Err(error) = self.read_images() {
            self.stopped = true;
            return Some(Err(error));
        }
        Some(Ok(Row {
            before: self.event.before.map(|_| self.buffer.before.as_slice()),
            after: self.event.after.map(|_| self.buffer.after.as_slice()),
        }))
    }

    fn read_images(&mut self) -> Decoded<()> {
        let start = self.cursor.position();
        let image = ImageReader { columns: &self.event.table.columns, wanted: self.wanted };
        if let Some(present) = self.event.before {
            image.read(&mut self.cursor, present, &[], &mut self.buffer.before)?;
        }
        let middle = self.cursor.position();
        let mut second = middle;
        if let Some(present) = self.event.after {
            let partial = self.partial_bits()?;
            second = self.cursor.position();
            image.read(&mut self.cursor, present, partial, &mut self.buffer.after)?;
        }
        let end = self.cursor.position();
        let between = |from: usize, to: usize| self.event.event.get(from..to).unwrap_or_default();
        self.images =
            RowBytes { before: between(start, middle), after: between(second, end), whole: between(start, end) };
        if self.cursor.position() == start {
            return Err(self.cursor.malformed("rows without any column"));
        }
        Ok(())
    }

    /// Reads the bits for the JSON columns of the after image that hold differences: one for each JSON column of the
    /// table.
    fn partial_bits(&mut self) -> Decoded<&'a [u8]> {
        if self.event.header.kind != RowsKind::PartialUpdate {
            return Ok(&[]);
        }
        match self.cursor.packed()? {
            0 => Ok(&[]),
            PARTIAL_JSON => self.cursor.take(self.event.table.json_columns().div_ceil(8)),
            _ => Err(self.cursor.malformed("unknown value options")),
        }
    }
}

struct ImageReader<'t> {
    columns: &'t [crate::rows::table_map::MappedColumn],
    wanted: Option<&'t [bool]>,
}

impl ImageReader<'_> {
    fn read<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        present: &[u8],
        partial: &[u8],
        image: &mut [Option<Value<'a>>],
    ) -> Decoded<()> {
        let null_bits = cursor.take(count_bits(present, self.columns.len()).div_ceil(8))?;
        let (mut place, mut json) = (0, 0);
        for (index, (column, slot)) in self.columns.iter().zip(image).enumerate() {
            let is_json = !partial.is_empty() && matches!(column.layout, Layout::Json { .. });
            let is_diff = is_json && bit_is_set(partial, json);
            json += usize::from(is_json);
            if !bit_is_set(present, index) {
                continue;
            }
            let is_null = bit_is_set(null_bits, place);
            place += 1;
            let is_wanted = self.wanted.is_none_or(|wanted| wanted.get(index) == Some(&true));
            if is_null {
                *slot = is_wanted.then_some(Value::Null);
            } else if !is_wanted {
                column.layout.skip(cursor)?;
            } else if let (true, Layout::Json { prefix }) = (is_diff, column.layout) {
                *slot = Some(decode_json_diff(prefix, cursor)?);
            } else {
                *slot = Some(decode(column.layout, cursor)?);
            }
        }
        Ok(())
    }
}

/// Returns the number of set bits among the first `columns`.
fn count_bits(bits: &[u8], columns: usize) -> usize {
    let mut count = 0;
    for (index, &byte) in bits.iter().enumerate() {
        let valid = columns.saturating_sub(index * 8).min(8);
        let mask = if valid == 8 { 0xff } else { (1_u8 << valid) - 1 };
        count += (byte & mask).count_ones() as usize;
    }
    count
}
