//! Form of a table's columns in table maps and row images.

use paraply_core::schema::{Column, Table};
use paraply_core::value::Value;

use super::error::{Collations, EncodeError};
use crate::rows::layout::type_code;

/// Bytes of the longest character of `utf8mb4`; a column's length counts characters.
const BYTES_PER_CHARACTER: u32 = 4;

/// A column's type as a log names it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// A number of `width` bytes.
    Int { code: u8, width: usize },
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// VARCHAR or VARBINARY of at most `most` bytes.
    Varchar { most: u16, collation: u32 },
    /// TEXT or BLOB whose length takes `prefix` bytes.
    Blob { prefix: u8, collation: u32 },
}

impl Kind {
    pub(super) fn of(table: &Table, column: &Column, collations: &Collations) -> Result<Self, EncodeError> {
        let int = |code, width| Ok(Self::Int { code, width });
        let collation = || collation(table, column, collations);
        match column.data_type.as_str() {
            "tinyint" => int(type_code::TINY, 1),
            "smallint" => int(type_code::SHORT, 2),
            "mediumint" => int(type_code::INT24, 3),
            "int" => int(type_code::LONG, 4),
            "bigint" => int(type_code::LONGLONG, 8),
            "float" => Ok(Self::Float),
            "double" => Ok(Self::Double),
            "varchar" | "varbinary" => {
                let width = if column.data_type == "varchar" { BYTES_PER_CHARACTER } else { 1 };
                let most = u16::try_from(column.length.unwrap_or(u32::MAX).saturating_mul(width));
                let most = most.map_err(|_| EncodeError::of(table, column, "is longer than a row may be"))?;
                Ok(Self::Varchar { most, collation: collation()? })
            }
            "tinytext" | "tinyblob" => Ok(Self::Blob { prefix: 1, collation: collation()? }),
            "text" | "blob" => Ok(Self::Blob { prefix: 2, collation: collation()? }),
            "mediumtext" | "mediumblob" => Ok(Self::Blob { prefix: 3, collation: collation()? }),
            "longtext" | "longblob" => Ok(Self::Blob { prefix: 4, collation: collation()? }),
            _ => Err(EncodeError::of(
                table,
                column,
                "is of a type that is not written: use integers, FLOAT, DOUBLE, VARCHAR, VARBINARY, TEXT or BLOB",
            )),
        }
    }

    fn collation(self) -> Option<u32> {
        match self {
            Self::Varchar { collation, .. } | Self::Blob { collation, .. } => Some(collation),
            Self::Int { .. } | Self::Float | Self::Double => None,
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::Int { code, .. } => code,
            Self::Float => type_code::FLOAT,
            Self::Double => type_code::DOUBLE,
            Self::Varchar { .. } => type_code::VARCHAR,
            Self::Blob { .. } => type_code::BLOB,
        }
    }

    pub(super) fn metadata(self, out: &mut Vec<u8>) {
        match self {
            Self::Int { .. } => {}
            Self::Float => out.push(4),
            Self::Double => out.push(8),
            Self::Varchar { most, .. } => out.extend(most.to_le_bytes()),
            Self::Blob { prefix, .. } => out.push(prefix),
        }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Int { .. } | Self::Float | Self::Double)
    }

    /// Appends a value; returns a reason if it does not fit.
    fn write(self, value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), &'static str> {
        match (self, value) {
            (Self::Int { width, .. }, Value::Int(number)) => {
                let bits = width * 8 - 1;
                if bits < 63 && !(-(1_i64 << bits)..1_i64 << bits).contains(number) {
                    return Err("is out of range");
                }
                out.extend(number.to_le_bytes().iter().take(width));
            }
            (Self::Int { width, .. }, Value::UInt(number)) => {
                if width < 8 && number >> (width * 8) != 0 {
                    return Err("is out of range");
                }
                out.extend(number.to_le_bytes().iter().take(width));
            }
            (Self::Float, Value::Float(number)) => out.extend(number.to_le_bytes()),
            (Self::Double, Value::Double(number)) => out.extend(number.to_le_bytes()),
            (Self::Varchar { most, .. }, Value::Bytes(bytes)) => {
                if bytes.len() > usize::from(most) {
                    return Err("is too long");
                }
                out.extend((bytes.len() as u16).to_le_bytes().iter().take(if most > 255 { 2 } else { 1 }));
                out.extend_from_slice(bytes);
            }
            (Self::Blob { prefix, .. }, Value::Bytes(bytes)) => {
                let prefix = usize::from(prefix);
                if bytes.len() as u64 >> (prefix * 8) != 0 {
                    return Err("is too long");
                }
                out.extend((bytes.len() as u32).to_le_bytes().iter().take(prefix));
                out.extend_from_slice(bytes);
            }
            _ => return Err("does not fit its column"),
        }
        Ok(())
    }
}

/// Returns the kinds of all columns.
pub(super) fn kinds(table: &Table, collations: &Collations) -> Result<Vec<Kind>, EncodeError> {
    table.columns.iter().map(|column| Kind::of(table, column, collations)).collect()
}

/// Returns the number of a column's collation; lengths and values are in `utf8mb4` or bytes.
fn collation(table: &Table, column: &Column, collations: &Collations) -> Result<u32, EncodeError> {
    let name = column.collation.as_deref().unwrap_or("binary");
    let known = collations.get(name).filter(|_| name == "binary" || name.starts_with("utf8mb4"));
    known
        .copied()
        .ok_or_else(|| EncodeError::of(table, column, "is of a character set that is not written: use utf8mb4"))
}

/// Returns the body of a table map, with signs, names and primary key.
pub(super) fn table_map(table: &Table, kinds: &[Kind], id: u64) -> Result<Vec<u8>, EncodeError> {
    let mut out = id.to_le_bytes()[..6].to_vec();
    out.extend([1, 0]);
    for name in [&table.name.database, &table.name.table] {
        let length =
            u8::try_from(name.len()).map_err(|_| EncodeError::Table(table.name.to_string(), "its name is too long"))?;
        out.push(length);
        out.extend(name.as_bytes());
        out.push(0);
    }
    lenenc(&mut out, kinds.len() as u64);
    out.extend(kinds.iter().map(|kind| kind.code()));
    let mut metadata = Vec::new();
    for kind in kinds {
        kind.metadata(&mut metadata);
    }
    lenenc(&mut out, metadata.len() as u64);
    out.extend(metadata);
    out.extend(low_bits(table.columns.iter().map(|column| column.nullable)));
    let numbers = table.columns.iter().zip(kinds).filter(|(_, kind)| kind.is_number());
    field(&mut out, 1, &high_bits(numbers.map(|(column, _)| column.unsigned)));
    let mut texts = Vec::new();
    for number in kinds.iter().filter_map(|kind| kind.collation()) {
        lenenc(&mut texts, u64::from(number));
    }
    if !texts.is_empty() {
        field(&mut out, 3, &texts);
    }
    let mut names = Vec::new();
    for column in &table.columns {
        lenenc(&mut names, column.name.len() as u64);
        names.extend(column.name.as_bytes());
    }
    field(&mut out, 4, &names);
    let mut key = Vec::new();
    for index in primary_key(table) {
        lenenc(&mut key, index as u64);
    }
    if !key.is_empty() {
        field(&mut out, 8, &key);
    }
    Ok(out)
}

fn primary_key(table: &Table) -> Vec<usize> {
    use paraply_core::schema::KeyPart;
    let key = table.unique_keys.iter().find(|key| key.name == "PRIMARY");
    let parts = key.map_or(&[][..], |key| &key.parts);
    let whole = parts.iter().map(|part| if let KeyPart::Column(index) = part { Some(*index) } else { None });
    whole.collect::<Option<_>>().unwrap_or_default()
}

fn field(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    out.push(kind);
    lenenc(out, content.len() as u64);
    out.extend(content);
}

/// Appends a row image of all columns.
pub(super) fn image(table: &Table, kinds: &[Kind], values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    out.extend(low_bits(values.iter().map(Value::is_null)));
    for ((value, kind), column) in values.iter().zip(kinds).zip(&table.columns) {
        if !value.is_null() {
            kind.write(value, out).map_err(|reason| EncodeError::of(table, column, reason))?;
        }
    }
    Ok(())
}

/// Packs bits, the lowest first.
pub(super) fn low_bits(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    pack(bits, |index| 1 << index)
}

/// Packs bits, the highest first.
fn high_bits(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    pack(bits, |index| 0x80 >> index)
}

fn pack(bits: impl Iterator<Item = bool>, mask: fn(usize) -> u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, bit) in bits.enumerate() {
        if index % 8 == 0 {
            bytes.push(0);
        }
        if let (true, Some(byte)) = (bit, bytes.last_mut()) {
            *byte |= mask(index % 8);
        }
    }
    bytes
}

/// Appends a length-encoded number.
pub(super) fn lenenc(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    match number {
        0..=250 => out.push(bytes[0]),
        251..=0xffff => {
            out.push(252);
            out.extend(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(253);
            out.extend(&bytes[..3]);
        }
        _ => {
            out.push(254);
            out.extend(bytes);
        }
    }
}
