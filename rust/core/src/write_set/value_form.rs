//! A column's values in canonical bytes: equal for equal values, different for different ones (rule R12).

use std::io::Write;

use super::fallback::Reason;
use super::hash::push_number;
use crate::collation::{Class, Collation, CollationError};
use crate::schema::Column;
use crate::value::Value;

/// Form in which a column's values become bytes.
///
/// Two columns with equal forms give equal values equal bytes, which foreign keys need. `BINARY(n)` is padded with zero
/// bytes to its length, so a `VARBINARY` child matches it exactly where it does on the server: by all `n` bytes.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueForm {
    /// Numbers, temporal values, ENUM, SET and BIT: their text.
    Plain,
    /// Text under a collation whose equality is known.
    Text {
        /// The collation.
        collation: &'static Collation,
        /// True for CHAR: spaces at the end are none of its value, nor of a prefix of its value, even where the collation
        /// does not ignore them (seen on MySQL 9.7 and `MariaDB` 10.5 to 11.8).
        is_char: bool,
    },
    /// Bytes unchanged, padded with zero bytes to this length.
    Bytes { pad_to: usize },
    /// All values count as one.
    Unknown(Reason),
}

impl ValueForm {
    /// Returns the form of a column; `bytewise` takes text by its bytes.
    pub(super) fn of(column: &Column, bytewise: bool) -> Self {
        match column.data_type.as_str() {
            "binary" => {
                column.length.map_or(Self::Unknown(Reason::UnknownCollation), |n| Self::Bytes { pad_to: n as usize })
            }
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" => {
                if bytewise {
                    Self::Bytes { pad_to: 0 }
                } else {
                    Self::of_text(column.collation.as_deref(), column.data_type == "char")
                }
            }
            "tinyint" | "smallint" | "mediumint" | "int" | "integer" | "bigint" | "decimal" | "numeric" | "float"
            | "double" | "real" | "date" | "datetime" | "timestamp" | "time" | "year" | "enum" | "set" | "bit"
            | "bool" | "boolean" => Self::Plain,
            _ => Self::Bytes { pad_to: 0 },
        }
    }

    fn of_text(collation: Option<&str>, is_char: bool) -> Self {
        match collation.and_then(Collation::by_name) {
            Some(collation) if collation.class() != Class::WholeKey => Self::Text { collation, is_char },
            _ => Self::Unknown(Reason::UnknownCollation),
        }
    }

    /// Returns true if values of the two forms that are equal on the server have equal bytes.
    pub(super) fn agrees(self, other: Self) -> bool {
        match (self, other) {
            (Self::Plain, Self::Plain)
            | (Self::Bytes { .. }, Self::Bytes { .. })
            | (Self::Unknown(_), Self::Unknown(_)) => true,
            // For the reference of a CHAR, MariaDB ignores spaces at the end of the parent's VARCHAR too (seen on 10.5 to 11.8);
            // MySQL does not.
            (Self::Text { collation: a, is_char }, Self::Text { collation: b, is_char: other }) => {
                a.name() == b.name() && (is_char == other || !a.name().contains("_nopad_"))
            }
            _ => false,
        }
    }

    /// Appends a value that is not NULL; `prefix` counts characters of text and bytes of anything else.
    #[inline]
    pub(super) fn append(self, value: &Value<'_>, prefix: Option<u32>, out: &mut Vec<u8>) -> Result<(), Reason> {
        match (self, value) {
            (Self::Unknown(_), _) => {
                out.push(b'?');
                Ok(())
            }
            (Self::Text { collation, is_char }, Value::Bytes(bytes)) => {
                append_text(collation, bytes, prefix.map(|length| (length, is_char)), out)
            }
            (Self::Bytes { pad_to }, Value::Bytes(bytes)) => {
                append_bytes(bytes, pad_to, prefix, out);
                Ok(())
            }
            _ => append_plain(value, out),
        }
    }
}

/// Appends text, or the beginning of so many characters; with it comes whether the text is a CHAR.
#[inline]
fn append_text(
    collation: &Collation,
    bytes: &[u8],
    prefix: Option<(u32, bool)>,
    out: &mut Vec<u8>,
) -> Result<(), Reason> {
    let reason = |error| match error {
        CollationError::Unknown(_) => Reason::UnknownCollation,
        CollationError::InvalidText { .. } => Reason::InvalidValue,
    };
    let bytes = match prefix {
        None => bytes,
        Some((characters, is_char)) => {
            let begin = collation.prefix(bytes, characters).map_err(reason)?;
            if is_char { collation.without_end_spaces(begin) } else { begin }
        }
    };
    collation.equality_form(bytes, out).map_err(reason)
}

fn append_bytes(bytes: &[u8], pad_to: usize, prefix: Option<u32>, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(bytes);
    if bytes.len() < pad_to {
        out.resize(start + pad_to, 0);
    }
    if let Some(length) = prefix {
        out.truncate(out.len().min(start + length as usize));
    }
}

/// Appends a value in its canonical form, text unchanged; for values that belong to no column.
///
/// Returns an error for values without a form: NULL and differences of JSON documents.
pub fn plain_form(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
    append_plain(value, out)
}

/// Appends a value whose own bytes or text are canonical.
fn append_plain(value: &Value<'_>, out: &mut Vec<u8>) -> Result<(), Reason> {
    match *value {
        Value::Int(number) => push_signed(out, number),
        Value::UInt(number) | Value::Set(number) => push_number(out, number),
        Value::Enum(index) => push_number(out, u64::from(index)),
        Value::Year(year) => push_number(out, u64::from(year)),
        Value::Decimal { packed, precision, scale } => return super::decimal::append(packed, precision, scale, out),
        // Adding zero makes a negative zero positive; writing to a vector cannot fail.
        Value::Float(number) => drop(write!(out, "{}", number + 0.0)),
        Value::Double(number) => drop(write!(out, "{}", number + 0.0)),
        Value::Bit { bytes, .. } => push_bits(out, bytes),
        Value::Date { year, month, day } => push_parts(out, b'-', &[u32::from(year), u32::from(month), u32::from(day)]),
        Value::DateTime { year, month, day, hour, minute, second, micros, .. } => {
            push_parts(out, b'-', &[u32::from(year), u32::from(month), u32::from(day)]);
            out.push(b' ');
            push_parts(out, b':', &[u32::from(hour), u32::from(minute), u32::from(second)]);
            push_fraction(out, micros);
        }
        Value::Timestamp { seconds, micros, .. } => {
            push_signed(out, seconds);
            push_fraction(out, micros);
        }
        Value::Time { negative, hours, minutes, seconds, micros, .. } => {
            if negative && (hours, minutes, seconds, micros) != (0, 0, 0, 0) {
                out.push(b'-');
            }
            push_parts(out, b':', &[u32::from(hours), u32::from(minutes), u32::from(seconds)]);
            push_fraction(out, micros);
        }
        Value::Bytes(bytes) | Value::Json(bytes) | Value::Geometry(bytes) | Value::Vector(bytes) => {
            out.extend_from_slice(bytes);
        }
        // A difference is not the value, and one value can be compressed in several ways; no key has such a column.
        Value::JsonDiff(_) | Value::Compressed { .. } | Value::Null => return Err(Reason::MissingKeyColumn),
    }
    Ok(())
}

fn push_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_number(out, number.unsigned_abs());
}

fn push_bits(out: &mut Vec<u8>, bytes: &[u8]) {
    let number = bytes.iter().fold(0_u64, |n, byte| n << 8 | u64::from(*byte));
    push_number(out, number);
}

fn push_parts(out: &mut Vec<u8>, between: u8, parts: &[u32]) {
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            out.push(between);
        }
        if *part < 10 {
            out.push(b'0');
        }
        push_number(out, u64::from(*part));
    }
}

/// Appends microseconds, if there are any, regardless of the number of digits that the column keeps.
fn push_fraction(out: &mut Vec<u8>, micros: u32) {
    if micros > 0 {
        out.push(b'.');
        push_number(out, u64::from(micros));
    }
}
