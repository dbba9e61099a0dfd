//! The bytes that MySQL sorts a value by, and hashes: for references that are hashed without all parts of the parent's key.
//!
//! Where every part is present, a key's name shows the column of each value, and any form that is equal for equal
//! values is enough. The server leaves the NULL parts of a reference out, so that values of several columns can have
//! the same position: a DOUBLE's zero is the same eight bytes as a DECIMAL(18)'s, and `(0, NULL)` is the same reference
//! as `(NULL, 0)`. Seen on 9.7.

use xxhash_rust::xxh64::xxh64;

use super::reference::signature;
use crate::collation::Collation;
use crate::schema::Column;
use crate::value::Value;

/// Bytes that are hashed of a column's values besides their form, or instead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerBytes {
    /// The server's bytes: a fixed number for an integer, for other types as many as they have.
    Sorted {
        /// The bytes of an integer, or of an ENUM's or SET's number; the length of a BINARY.
        width: usize,
    },
    /// Bytes as in `Sorted`, of an ENUM or SET whose collation reserves more bytes than the number has.
    Widened {
        /// The bytes of the number.
        width: usize,
        /// Hash of the collation's name.
        collation: u64,
    },
    /// Bytes made by a collation: a number for the type, followed by the value's own form.
    Signature(u64),
}

impl ServerBytes {
    /// Returns the byte format of a column.
    pub(super) fn of(column: &Column) -> Self {
        if let "enum" | "set" = column.data_type.as_str() {
            return Self::of_labels(column);
        }
        let width = match column.data_type.as_str() {
            "tinyint" | "bool" | "boolean" | "year" => 1,
            "smallint" => 2,
            "mediumint" => 3,
            "int" | "integer" => 4,
            "binary" => match column.length {
                Some(length) => length as usize,
                None => return Self::Signature(signature(column)),
            },
            "bigint" | "float" | "double" | "real" | "decimal" | "numeric" | "date" | "datetime" | "timestamp"
            | "time" | "bit" => 8,
            _ => return Self::Signature(signature(column)),
        };
        Self::Sorted { width }
    }

    fn of_labels(column: &Column) -> Self {
        let width = match (column.data_type.as_str(), column.labels.len()) {
            ("enum", labels) => 1 + usize::from(labels > 255),
            (_, labels @ 0..=32) => labels.div_ceil(8).max(1),
            _ => 8,
        };
        let name = column.collation.as_deref().unwrap_or_default();
        let narrow = Collation::by_name(name).is_some_and(|of| of.is_single_byte() && !of.name().contains("german2"));
        if narrow { Self::Sorted { width } } else { Self::Widened { width, collation: xxh64(name.as_bytes(), 0) } }
    }

    /// Appends the server's bytes; returns true if they are complete, so that the value's own form is not needed.
    pub(super) fn append(self, value: &Value<'_>, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Sorted { width } => append_sorted(value, width, out),
            Self::Widened { width, collation } => {
                out.extend_from_slice(&collation.to_le_bytes());
                append_sorted(value, width, out)
            }
            Self::Signature(of_column) => {
                out.extend_from_slice(&of_column.to_le_bytes());
                false
            }
        }
    }
}

/// Appends the bytes that the server sorts by; returns false for values that it sorts by a collation.
fn append_sorted(value: &Value<'_>, width: usize, out: &mut Vec<u8>) -> bool {
    match *value {
        Value::Int(number) => push_last(out, (number ^ (1 << (8 * width - 1))) as u64, width),
        Value::UInt(number) | Value::Set(number) => push_last(out, number, width),
        Value::Enum(index) => push_last(out, u64::from(index), width),
        Value::Year(year) => push_last(out, u64::from(year.saturating_sub(1900)), width),
        Value::Float(number) => push_float(out, &number.to_be_bytes(), 1 << 7, number == 0.0),
        Value::Double(number) => push_float(out, &number.to_be_bytes(), 1 << 4, number == 0.0),
        Value::Decimal { packed, .. } => out.extend_from_slice(packed),
        Value::Bit { bytes, .. } => out.extend_from_slice(bytes),
        Value::Bytes(bytes) => {
            let start = out.len();
            out.extend_from_slice(bytes);
            out.resize(start + width.max(bytes.len()), 0);
        }
        Value::Date { year, month, day } => {
            push_last(out, u64::from(year) << 9 | u64::from(month) << 5 | u64::from(day), 3);
        }
        Value::DateTime { year, month, day, hour, minute, second, micros, decimals } => {
            let date = (u64::from(year) * 13 + u64::from(month)) << 5 | u64::from(day);
            let time = u64::from(hour) << 12 | u64::from(minute) << 6 | u64::from(second);
            push_last(out, (date << 17 | time) + (1 << 39), 5);
            push_fraction(out, i64::from(micros), decimals);
        }
        Value::Timestamp { seconds, micros, decimals } => {
            push_last(out, seconds as u64, 4);
            push_fraction(out, i64::from(micros), decimals);
        }
        Value::Time { negative, hours, minutes, seconds, micros, decimals } => {
            let whole = i64::from(hours) << 12 | i64::from(minutes) << 6 | i64::from(seconds);
            let packed = (whole << 24 | i64::from(micros)) * if negative { -1 } else { 1 };
            if decimals > 4 {
                push_last(out, (packed + (1 << 47)) as u64, 6);
            } else {
                push_last(out, ((packed >> 24) + (1 << 23)) as u64, 3);
                push_fraction(out, packed % (1 << 24), decimals);
            }
        }
        Value::Null
        | Value::Json(_)
        | Value::JsonDiff(_)
        | Value::Geometry(_)
        | Value::Vector(_)
        | Value::Compressed { .. } => return false,
    }
    true
}

/// Appends the last bytes of a number, most significant first.
fn push_last(out: &mut Vec<u8>, number: u64, width: usize) {
    let bytes = number.to_be_bytes();
    out.extend_from_slice(bytes.get(bytes.len() - width.min(bytes.len())..).unwrap_or_default());
}

/// Appends a float's bytes in sorting order: negative ones inverted, the others with the sign set and the exponent
/// (whose lowest bit in the first two bytes is `exponent`) one higher.
fn push_float(out: &mut Vec<u8>, bytes: &[u8], exponent: u16, is_zero: bool) {
    let start = out.len();
    out.extend_from_slice(bytes);
    let Some(written) = out.get_mut(start..) else { return };
    match written {
        [first, rest @ ..] if is_zero => {
            *first = 0x80;
            rest.fill(0);
        }
        [first, ..] if *first & 0x80 != 0 => written.iter_mut().for_each(|byte| *byte = !*byte),
        [first, second, ..] => {
            let raised = (u16::from_be_bytes([*first, *second]) | 0x8000).wrapping_add(exponent);
            [*first, *second] = raised.to_be_bytes();
        }
        _ => {}
    }
}

/// Appends the bytes of a second's fraction that a column with this number of decimals has.
fn push_fraction(out: &mut Vec<u8>, micros: i64, decimals: u8) {
    let (unit, width) = match decimals {
        0 => return,
        1 | 2 => (10_000, 1),
        3 | 4 => (100, 2),
        _ => (1, 3),
    };
    push_last(out, (micros / unit) as u64, width);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(value: Value<'_>, width: usize) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(append_sorted(&value, width, &mut out));
        out
    }

    #[test]
    fn r12_numbers_keep_their_order_and_meet_as_the_servers_do() {
        let zero = [0x80, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(sorted(Value::Int(0), 8), zero);
        assert_eq!(sorted(Value::Double(0.0), 8), zero);
        assert_eq!(sorted(Value::Double(-0.0), 8), zero);
        assert_eq!(sorted(Value::Decimal { packed: &zero, precision: 18, scale: 0 }, 8), zero);
        assert_eq!(sorted(Value::Int(-1), 1), [0x7F]);
        assert_eq!(sorted(Value::UInt(255), 1), [0xFF]);
        let doubles = [f64::MIN, -1.5, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 1.0, 1.5, f64::MAX];
        let floats = [f32::MIN, -1.5, -f32::MIN_POSITIVE, 0.0, f32::MIN_POSITIVE, 1.0, 1.5, f32::MAX];
        assert!(doubles.map(|number| sorted(Value::Double(number), 8)).is_sorted());
        assert!(floats.map(|number| sorted(Value::Float(number), 4)).is_sorted());
    }

    #[test]
    fn times_have_the_bytes_of_their_columns() {
        let time = |negative, seconds, micros, decimals| {
            sorted(Value::Time { negative, hours: 0, minutes: 0, seconds, micros, decimals }, 8)
        };
        assert_eq!(time(false, 1, 0, 0), [0x80, 0, 1]);
        assert_eq!(time(true, 1, 500_000, 2), [0x7F, 0xFF, 0xFE, 0xCE]);
        assert_eq!(time(true, 0, 1, 6), [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]);
        assert_eq!(time(false, 0, 120_000, 3).len(), 5);
        assert!(
            [time(true, 2, 0, 4), time(true, 1, 9_900, 4), time(true, 1, 0, 4), time(false, 0, 1_000, 4)].is_sorted()
        );
        assert_eq!(sorted(Value::Date { year: 2, month: 1, day: 3 }, 8), [0, 4, 35]);
        assert_eq!(sorted(Value::Year(0), 1), [0]);
        assert_eq!(sorted(Value::Timestamp { seconds: 1, micros: 10_000, decimals: 2 }, 8), [0, 0, 0, 1, 1]);
    }
}
