//! One column's value as a row image carries it, without allocation.

/// A decoded column value that borrows from the row image.
///
/// Numbers are in the machine's form, text and binary as the source stored them (in the column's character set).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// SQL NULL.
    Null,
    /// Any signed integer type.
    Int(i64),
    /// Any unsigned integer type.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL in the server's packed form.
    Decimal {
        /// The packed digits, as in the row image.
        packed: &'a [u8],
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// CHAR, VARCHAR and the TEXT and BLOB families, BINARY and VARBINARY; a BINARY's trailing zero bytes are absent.
    Bytes(&'a [u8]),
    /// A value as in `Bytes` from a `COMPRESSED` column of `MariaDB`, as it is stored.
    Compressed {
        /// The method, the length where there is one, and the compressed bytes.
        stored: &'a [u8],
        /// The most bytes that such a column holds.
        limit: u32,
    },
    /// DATE; the parts may be zero.
    Date {
        /// 0 to 9999.
        year: u16,
        /// 0 to 12.
        month: u8,
        /// 0 to 31.
        day: u8,
    },
    /// DATETIME; the parts may be zero.
    DateTime {
        /// 0 to 9999.
        year: u16,
        /// 0 to 12.
        month: u8,
        /// 0 to 31.
        day: u8,
        /// 0 to 23.
        hour: u8,
        /// 0 to 59.
        minute: u8,
        /// 0 to 59.
        second: u8,
        /// 0 to 999999.
        micros: u32,
        /// Digits after the seconds' point that the column keeps, 0 to 6.
        decimals: u8,
    },
    /// TIMESTAMP: seconds since 1970 in UTC; (0, 0) is the zero timestamp.
    Timestamp {
        /// Whole seconds.
        seconds: i64,
        /// 0 to 999999.
        micros: u32,
        /// Digits after the seconds' point that the column keeps, 0 to 6.
        decimals: u8,
    },
    /// TIME, up to 838 hours either way.
    Time {
        /// True if the value is below zero.
        negative: bool,
        /// 0 to 838.
        hours: u16,
        /// 0 to 59.
        minutes: u8,
        /// 0 to 59.
        seconds: u8,
        /// 0 to 999999.
        micros: u32,
        /// Digits after the seconds' point that the column keeps, 0 to 6.
        decimals: u8,
    },
    /// YEAR; 0 is the zero year.
    Year(u16),
    /// ENUM: the label's index from 1; 0 is the error value.
    Enum(u32),
    /// SET: a bit for each label.
    Set(u64),
    /// BIT: big-endian bytes.
    Bit {
        /// The value's bytes, most significant first.
        bytes: &'a [u8],
        /// The column's width in bits.
        bits: u8,
    },
    /// JSON in the server's binary form (MariaDB's JSON is text: [`Value::Bytes`]).
    Json(&'a [u8]),
    /// A difference to the before image's JSON document (partial update): the raw sequence of differences.
    JsonDiff(&'a [u8]),
    /// A geometry: SRID and WKB.
    Geometry(&'a [u8]),
    /// VECTOR: 32-bit floats, little-endian.
    Vector(&'a [u8]),
}

impl Value<'_> {
    /// Returns true if the value is SQL NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns true for the same value bit by bit: unlike `==`, it tells -0 from 0.
    pub fn is_same(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Float(one), Value::Float(two)) => one.to_bits() == two.to_bits(),
            (Value::Double(one), Value::Double(two)) => one.to_bits() == two.to_bits(),
            _ => self == other,
        }
    }
}

/// Returns true if two images hold the same value in a column, bit by bit, or both lack it.
pub fn is_same_at(before: &[Option<Value<'_>>], after: &[Option<Value<'_>>], index: usize) -> bool {
    match (before.get(index), after.get(index)) {
        (Some(Some(one)), Some(Some(two))) => one.is_same(two),
        (one, two) => one == two,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_minus_zero_are_equal_and_not_the_same() {
        let (plus, minus) = (Value::Float(0.0), Value::Float(-0.0));
        assert_eq!(plus, minus);
        assert!(!plus.is_same(&minus));
        assert!(!Value::Double(0.0).is_same(&Value::Double(-0.0)));
        assert!(minus.is_same(&minus));
        assert!(!is_same_at(&[Some(plus)], &[Some(minus)], 0));
        assert!(is_same_at(&[None], &[None], 0));
        assert!(!is_same_at(&[None], &[Some(plus)], 0));
    }
}
