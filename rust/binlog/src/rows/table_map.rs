//! Table-map events: the definition of the source's table when the rows after them were written.

use paraply_core::schema::{Table, TableName};

use xxhash_rust::xxh64::xxh64;

use crate::rows::image_cursor::{Cursor, Decoded, Malformed};
use crate::rows::layout::{Layout, type_code};
use crate::rows::mapped_column::has_sign;
pub use crate::rows::mapped_column::{MappedColumn, PrimaryKeyPart};
use crate::rows::optional_metadata;
use crate::transaction::Format;

/// Bytes of the header before every event.
pub(crate) const EVENT_HEADER: usize = 19;

const TABLE_MAP_EVENT: u8 = 19;

/// A table-map event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMap {
    /// The number by which the row events after it name the table.
    pub table_id: u64,
    /// The event's flags.
    pub flags: u16,
    /// Database and table.
    pub name: TableName,
    /// The columns in the order of the row image.
    pub columns: Vec<MappedColumn>,
    /// The primary key, if the source wrote it.
    pub primary_key: Vec<PrimaryKeyPart>,
    fingerprint: u64,
}

impl TableMap {
    /// Reads a whole event, header included and without checksum.
    pub fn parse(event: &[u8], format: &Format) -> Decoded<Self> {
        let (table_id, mut cursor) = open(event, format)?;
        let fingerprint = xxh64(event.get(cursor.position()..).unwrap_or_default(), 0);
        let flags = cursor.u16()?;
        let name = TableName { database: identifier(&mut cursor)?, table: identifier(&mut cursor)? };
        let count = cursor.packed_length()?;
        let types = cursor.take(count)?;
        let metadata_length = cursor.packed_length()?;
        let at = cursor.position();
        let metadata = cursor.take(metadata_length)?;
        let mut columns = read_columns(types, metadata, at)?;
        let null_bits = cursor.take(count.div_ceil(8))?;
        for (index, column) in columns.iter_mut().enumerate() {
            column.nullable = bit_is_set(null_bits, index);
        }
        let mut map = Self { table_id, flags, name, columns, primary_key: Vec::new(), fingerprint };
        optional_metadata::read(&mut cursor, &mut map.columns, &mut map.primary_key, format.mariadb)?;
        map.apply_signs();
        if format.mariadb {
            map.forget_fractions();
        }
        Ok(map)
    }

    /// Returns a hash of the whole event but the table id: equal events have equal hashes.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Returns true if the event has the sign of every number.
    pub fn knows_signs(&self) -> bool {
        self.columns.iter().all(|column| column.unsigned.is_some() || !matches!(column.layout, Layout::Int { .. }))
    }

    /// Takes the signs that the event lacks from a table's definition.
    pub fn take_signs(&mut self, table: &Table) {
        for (mapped, column) in self.columns.iter_mut().zip(&table.columns) {
            if mapped.unsigned.is_none() && has_sign(mapped.type_code) {
                mapped.unsigned = Some(column.unsigned);
            }
        }
        self.apply_signs();
    }

    /// Takes the digits of a second, which the log lacks for `MariaDB`'s old temporal columns, from a table's
    /// definition.
    pub fn take_fractions(&mut self, table: &Table) {
        self.set_fractions(table.columns.iter().map(|column| column.decimals));
    }

    /// Sets the digits of a second of each column, where they are known.
    pub fn set_fractions(&mut self, decimals: impl Iterator<Item = Option<u8>>) {
        for (mapped, decimals) in self.columns.iter_mut().zip(decimals) {
            if let (Layout::OldUnknown, Some(decimals)) = (mapped.layout, decimals) {
                mapped.layout = Layout::of_old_temporal(mapped.type_code, decimals);
            }
        }
    }

    /// Returns the first column whose values have a length that neither the log nor a definition has.
    pub fn unknown_fraction(&self) -> Option<usize> {
        self.columns.iter().position(|column| column.layout == Layout::OldUnknown)
    }

    /// Forgets the fractions of old temporal columns. Before 10.1.2 `MariaDB` kept fractions under the type codes of
    /// columns without; other servers had none.
    fn forget_fractions(&mut self) {
        use type_code::{DATETIME, TIME, TIMESTAMP};
        for column in self.columns.iter_mut().filter(|c| matches!(c.type_code, TIME | DATETIME | TIMESTAMP)) {
            column.layout = Layout::OldUnknown;
        }
    }

    /// Returns true if the columns after the first `columns` are hashes that MariaDB keeps: one for each unique key
    /// that is too long for an index, or declared `USING HASH`.
    ///
    /// Source: logs of MariaDB 10.11.14; with `binlog_row_metadata=FULL` the columns are called `DB_ROW_HASH_1` and so on.
    pub fn ends_in_key_hashes(&self, columns: usize) -> bool {
        let behind = self.columns.get(columns..).unwrap_or_default();
        !behind.is_empty() && behind.iter().all(MappedColumn::may_be_key_hash)
    }

    /// Returns the number of columns before those that the log itself calls hashes of keys.
    pub fn named_columns(&self) -> usize {
        let is_hash = |column: &&MappedColumn| column.name.is_some() && column.may_be_key_hash();
        self.columns.len() - self.columns.iter().rev().take_while(is_hash).count()
    }

    /// Returns the number of columns that are JSON documents in the server's binary form.
    pub fn json_columns(&self) -> usize {
        self.columns.iter().filter(|column| matches!(column.layout, Layout::Json { .. })).count()
    }

    fn apply_signs(&mut self) {
        for column in &mut self.columns {
            if let (Layout::Int { width, .. }, Some(unsigned)) = (column.layout, column.unsigned) {
                column.layout = Layout::Int { width, unsigned };
            }
        }
    }
}

/// Returns the table id of a table-map event and the table's name; nothing else is read.
pub(crate) fn name_of(event: &[u8], format: &Format) -> Decoded<(u64, TableName)> {
    let (table_id, mut cursor) = open(event, format)?;
    cursor.u16()?;
    Ok((table_id, TableName { database: identifier(&mut cursor)?, table: identifier(&mut cursor)? }))
}

/// Returns the table's name of a table-map event, and the types of its columns.
pub(crate) fn form_of<'a>(event: &'a [u8], format: &Format) -> Decoded<(TableName, &'a [u8])> {
    let (_, mut cursor) = open(event, format)?;
    cursor.u16()?;
    let name = TableName { database: identifier(&mut cursor)?, table: identifier(&mut cursor)? };
    let count = cursor.packed_length()?;
    Ok((name, cursor.take(count)?))
}

/// Returns the table id of a table-map event and the bytes after it, which are equal for equal definitions.
pub fn split_table_id<'a>(event: &'a [u8], format: &Format) -> Decoded<(u64, &'a [u8])> {
    let (table_id, mut cursor) = open(event, format)?;
    Ok((table_id, cursor.rest()))
}

/// Reads a table id, which was shorter before 5.1.4.
pub(crate) fn table_id(cursor: &mut Cursor<'_>, format: &Format, type_code: u8) -> Decoded<u64> {
    let post_header = format.post_header_lengths.get(usize::from(type_code).wrapping_sub(1));
    cursor.uint_le(if post_header == Some(&6) { 4 } else { 6 })
}

/// Returns true if a bit is set in a bitmap whose first bit is the least significant of the first byte.
#[inline]
pub(crate) fn bit_is_set(bits: &[u8], index: usize) -> bool {
    bits.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// Returns database and table of a whole table-map event; nothing else is read.
pub fn table_name(event: &[u8], format: &Format) -> Decoded<TableName> {
    let (_, mut cursor) = open(event, format)?;
    cursor.u16()?;
    Ok(TableName { database: identifier(&mut cursor)?, table: identifier(&mut cursor)? })
}

fn open<'a>(event: &'a [u8], format: &Format) -> Decoded<(u64, Cursor<'a>)> {
    let mut cursor = Cursor::new(event, EVENT_HEADER);
    let id = table_id(&mut cursor, format, TABLE_MAP_EVENT)?;
    Ok((id, cursor))
}

fn identifier(cursor: &mut Cursor<'_>) -> Decoded<String> {
    let at = cursor.position();
    let bytes = cursor.packed_bytes()?;
    let text = std::str::from_utf8(bytes).map_err(|_| Malformed { what: "a name that is not UTF-8", at })?;
    if cursor.u8()? != 0 {
        return Err(Malformed { what: "a name that does not end in a zero byte", at });
    }
    Ok(text.to_owned())
}

fn read_columns(types: &[u8], metadata: &[u8], at: usize) -> Decoded<Vec<MappedColumn>> {
    let mut cursor = Cursor::new(metadata, 0);
    let shift = |error: Malformed| Malformed { at: error.at + at, ..error };
    let mut columns = Vec::with_capacity(types.len());
    for &code in types {
        columns.push(read_column(code, &mut cursor).map_err(shift)?);
    }
    if !cursor.is_at_end() {
        return Err(shift(cursor.malformed("more column metadata than columns")));
    }
    Ok(columns)
}

fn read_column(code: u8, cursor: &mut Cursor<'_>) -> Decoded<MappedColumn> {
    let at = cursor.position();
    let (type_code, metadata) = read_metadata(code, cursor)?;
    Ok(MappedColumn {
        type_code,
        metadata,
        layout: Layout::new(type_code, metadata, at)?,
        nullable: false,
        unsigned: None,
        collation_id: None,
        name: None,
        labels: Vec::new(),
        geometry_type: None,
        visible: None,
        dimensions: None,
    })
}

/// Reads a column's metadata, and finds the real type where CHAR, ENUM and SET share one code.
fn read_metadata(code: u8, cursor: &mut Cursor<'_>) -> Decoded<(u8, u16)> {
    use type_code as t;
    let metadata = match code {
        t::FLOAT | t::DOUBLE | t::TIME2 | t::DATETIME2 | t::TIMESTAMP2 | t::JSON | t::GEOMETRY | t::VECTOR => {
            u16::from(cursor.u8()?)
        }
        t::BLOB | t::TINY_BLOB | t::MEDIUM_BLOB | t::LONG_BLOB | t::BLOB_COMPRESSED => u16::from(cursor.u8()?),
        t::VARCHAR | t::VARCHAR_COMPRESSED => cursor.u16()?,
        // Stored as rest and bytes; the layout reads them in this order.
        t::BIT | t::NEWDECIMAL => u16::from_be_bytes(cursor.array()?),
        t::STRING | t::VAR_STRING | t::ENUM | t::SET => return Ok(string_metadata(cursor.array()?)),
        _ => 0,
    };
    Ok((code, metadata))
}

/// Decodes the metadata of CHAR, ENUM and SET: the real type, and the length, whose two highest bits are hidden in the
/// type since 5.1.
fn string_metadata([kind, length]: [u8; 2]) -> (u8, u16) {
    if kind & 0x30 != 0x30 {
        let high = u16::from(kind & 0x30 ^ 0x30) << 4;
        return (kind | 0x30, high | u16::from(length));
    }
    (kind, u16::from(length))
}
