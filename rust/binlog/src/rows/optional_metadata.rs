//! The optional part of table-map events (MySQL 8.0 and later, `MariaDB` 10.5 and later).

use crate::rows::image_cursor::{Cursor, Decoded, Malformed};
use crate::rows::layout::type_code;
use crate::rows::mapped_column::{MappedColumn, PrimaryKeyPart, has_sign};

const SIGNEDNESS: u8 = 1;
const DEFAULT_CHARSET: u8 = 2;
const COLUMN_CHARSET: u8 = 3;
const COLUMN_NAME: u8 = 4;
const SET_LABELS: u8 = 5;
const ENUM_LABELS: u8 = 6;
const GEOMETRY_TYPE: u8 = 7;
const SIMPLE_PRIMARY_KEY: u8 = 8;
const PRIMARY_KEY_WITH_PREFIX: u8 = 9;
const ENUM_AND_SET_DEFAULT_CHARSET: u8 = 10;
const ENUM_AND_SET_COLUMN_CHARSET: u8 = 11;
const COLUMN_VISIBILITY: u8 = 12;
const VECTOR_DIMENSIONALITY: u8 = 13;

/// Reads the rest of a table-map event into the columns; unknown fields are ignored.
///
/// The lists in the fields have no column numbers: each server counts different columns.
pub(crate) fn read(
    cursor: &mut Cursor<'_>,
    columns: &mut [MappedColumn],
    primary: &mut Vec<PrimaryKeyPart>,
    mariadb: bool,
) -> Decoded<()> {
    while !cursor.is_at_end() {
        let kind = cursor.u8()?;
        let length = cursor.packed_length()?;
        let at = cursor.position();
        let mut field = Cursor::new(cursor.take(length)?, 0);
        read_field(kind, &mut field, columns, primary, mariadb)
            .map_err(|error| Malformed { at: error.at + at, ..error })?;
    }
    Ok(())
}

fn read_field(
    kind: u8,
    field: &mut Cursor<'_>,
    columns: &mut [MappedColumn],
    primary: &mut Vec<PrimaryKeyPart>,
    mariadb: bool,
) -> Decoded<()> {
    let is_character = if mariadb { is_character_of_mariadb } else { is_character_of_mysql };
    match kind {
        SIGNEDNESS => flags(field, columns, is_signed, |c, bit| c.unsigned = Some(bit)),
        DEFAULT_CHARSET => default_charset(field, columns, is_character),
        COLUMN_CHARSET => numbers(field, columns, is_character, |c, id| c.collation_id = Some(id)),
        ENUM_AND_SET_DEFAULT_CHARSET => default_charset(field, columns, is_enum_or_set),
        ENUM_AND_SET_COLUMN_CHARSET => numbers(field, columns, is_enum_or_set, |c, id| c.collation_id = Some(id)),
        COLUMN_NAME => names(field, columns),
        SET_LABELS => labels(field, columns, type_code::SET),
        ENUM_LABELS => labels(field, columns, type_code::ENUM),
        GEOMETRY_TYPE => {
            numbers(field, columns, |c| c.type_code == type_code::GEOMETRY, |c, id| c.geometry_type = Some(id))
        }
        SIMPLE_PRIMARY_KEY => primary_key(field, columns.len(), primary, false),
        PRIMARY_KEY_WITH_PREFIX => primary_key(field, columns.len(), primary, true),
        COLUMN_VISIBILITY => flags(field, columns, |_| true, |c, bit| c.visible = Some(bit)),
        VECTOR_DIMENSIONALITY => {
            numbers(field, columns, |c| c.type_code == type_code::VECTOR, |c, id| c.dimensions = Some(id))
        }
        _ => Ok(()),
    }
}

/// Returns true if the field has a sign for the column. Both servers write one for YEAR too (seen on MySQL 9.7 and
/// MariaDB 10.11), although it means nothing.
fn is_signed(column: &MappedColumn) -> bool {
    has_sign(column.type_code) || column.type_code == type_code::YEAR
}

/// Returns true for character columns as MySQL counts them: a VECTOR is one.
fn is_character_of_mysql(column: &MappedColumn) -> bool {
    is_character(column) || column.type_code == type_code::VECTOR
}

/// Returns true for character columns as MariaDB counts them: geometries are BLOBs, which have a (binary) collation.
fn is_character_of_mariadb(column: &MappedColumn) -> bool {
    is_character(column) || column.type_code == type_code::GEOMETRY
}

fn is_character(column: &MappedColumn) -> bool {
    use type_code as t;
    matches!(
        column.type_code,
        t::STRING
            | t::VAR_STRING
            | t::VARCHAR
            | t::VARCHAR_COMPRESSED
            | t::BLOB
            | t::TINY_BLOB
            | t::MEDIUM_BLOB
            | t::LONG_BLOB
            | t::BLOB_COMPRESSED
    )
}

fn is_enum_or_set(column: &MappedColumn) -> bool {
    matches!(column.type_code, type_code::ENUM | type_code::SET)
}

/// Reads a bit for each column of a kind, the most significant first.
fn flags(
    field: &mut Cursor<'_>,
    columns: &mut [MappedColumn],
    of_kind: fn(&MappedColumn) -> bool,
    put: fn(&mut MappedColumn, bool),
) -> Decoded<()> {
    let bits = field.rest();
    for (index, column) in columns.iter_mut().filter(|c| of_kind(c)).enumerate() {
        let Some(byte) = bits.get(index / 8) else { return Err(field.malformed("fewer flags than columns")) };
        put(column, byte << (index % 8) & 0x80 != 0);
    }
    Ok(())
}

/// Reads a number for each column of a kind.
fn numbers(
    field: &mut Cursor<'_>,
    columns: &mut [MappedColumn],
    of_kind: fn(&MappedColumn) -> bool,
    put: fn(&mut MappedColumn, u32),
) -> Decoded<()> {
    for column in columns.iter_mut().filter(|c| of_kind(c)) {
        if field.is_at_end() {
            break;
        }
        put(column, small(field)?);
    }
    end(field)
}

/// Reads one number for most columns of a kind, then index and number of the others.
fn default_charset(
    field: &mut Cursor<'_>,
    columns: &mut [MappedColumn],
    of_kind: fn(&MappedColumn) -> bool,
) -> Decoded<()> {
    let default = small(field)?;
    let mut chosen: Vec<&mut MappedColumn> = columns.iter_mut().filter(|c| of_kind(c)).collect();
    for column in &mut chosen {
        column.collation_id = Some(default);
    }
    while !field.is_at_end() {
        let index = small(field)? as usize;
        let id = small(field)?;
        let column = chosen.get_mut(index).ok_or(field.malformed("a character set of a column that does not exist"))?;
        column.collation_id = Some(id);
    }
    Ok(())
}

fn names(field: &mut Cursor<'_>, columns: &mut [MappedColumn]) -> Decoded<()> {
    for column in columns {
        if field.is_at_end() {
            break;
        }
        let name = std::str::from_utf8(field.packed_bytes()?);
        column.name = Some(name.map_err(|_| field.malformed("a column name that is not UTF-8"))?.to_owned());
    }
    end(field)
}

fn labels(field: &mut Cursor<'_>, columns: &mut [MappedColumn], code: u8) -> Decoded<()> {
    for column in columns.iter_mut().filter(|c| c.type_code == code) {
        if field.is_at_end() {
            break;
        }
        // Each label takes a byte at least, so the event's length bounds the memory.
        let count = field.packed_length()?;
        column.labels = (0..count).map(|_| field.packed_bytes().map(<[u8]>::to_vec)).collect::<Decoded<_>>()?;
    }
    end(field)
}

fn primary_key(
    field: &mut Cursor<'_>,
    columns: usize,
    primary: &mut Vec<PrimaryKeyPart>,
    with_prefix: bool,
) -> Decoded<()> {
    primary.clear();
    while !field.is_at_end() {
        let column = small(field)? as usize;
        let prefix = if with_prefix { small(field)? } else { 0 };
        if column >= columns {
            return Err(field.malformed("a key over a column that does not exist"));
        }
        primary.push(PrimaryKeyPart { column, prefix });
    }
    Ok(())
}

fn small(field: &mut Cursor<'_>) -> Decoded<u32> {
    let at = field.position();
    u32::try_from(field.packed()?).map_err(|_| Malformed { what: "a number that is too large", at })
}

fn end(field: &Cursor<'_>) -> Decoded<()> {
    if field.is_at_end() { Ok(()) } else { Err(field.malformed("more metadata than columns")) }
}
