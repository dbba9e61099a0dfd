//! Layout of a column's values in a row image, derived from the type and metadata of the table-map event.

use crate::rows::image_cursor::{Cursor, Decoded, Malformed, UNKNOWN_FRACTION};

/// Type codes of the server (`enum_field_types`) that a table-map event may hold.
pub mod type_code {
    #![allow(missing_docs)]
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const BIT: u8 = 16;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    pub const BLOB_COMPRESSED: u8 = 140;
    pub const VARCHAR_COMPRESSED: u8 = 141;
    pub const VECTOR: u8 = 242;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
    pub const GEOMETRY: u8 = 255;
}

/// Layout of a value in the row image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// An integer, least significant byte first.
    Int {
        /// 1, 2, 3, 4 or 8 bytes.
        width: u8,
        /// True if it has no sign.
        unsigned: bool,
    },
    /// 4 bytes.
    Float,
    /// 8 bytes.
    Double,
    /// Packed digits.
    Decimal {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
        /// Bytes.
        width: u8,
    },
    /// A length and as many bytes: CHAR, VARCHAR, BINARY, VARBINARY, TEXT, BLOB.
    Bytes {
        /// Bytes of the length, 1 to 4.
        prefix: u8,
    },
    /// A length and as many bytes that `MariaDB` compressed.
    Compressed {
        /// Bytes of the length, 1 to 4.
        prefix: u8,
    },
    /// Most significant byte first.
    Bit {
        /// The column's width in bits.
        bits: u8,
    },
    /// One byte.
    Year,
    /// 3 bytes.
    Date,
    /// 3 bytes, the decimal number hhmmss (before 5.6).
    OldTime,
    /// 8 bytes, the decimal number yyyymmddhhmmss (before 5.6).
    OldDateTime,
    /// 4 bytes (before 5.6).
    OldTimestamp,
    /// A TIME, DATETIME or TIMESTAMP of `MariaDB` in its format of before 10.1.2, whose digits of a second are not in
    /// the log.
    OldUnknown,
    /// TIME of `MariaDB` in its format of before 10.1.2, with a fraction: the time as one number, most significant byte first.
    HiresTime {
        /// Digits of the fraction, 1 to 6.
        decimals: u8,
    },
    /// DATETIME in the format of before 10.1.2.
    HiresDateTime {
        /// Digits of the fraction, 1 to 6.
        decimals: u8,
    },
    /// TIMESTAMP in the format of before 10.1.2: 4 bytes and the fraction.
    HiresTimestamp {
        /// Digits of the fraction, 1 to 6.
        decimals: u8,
    },
    /// 3 bytes and the fraction.
    Time {
        /// Digits of the fraction, 0 to 6.
        decimals: u8,
    },
    /// 5 bytes and the fraction.
    DateTime {
        /// Digits of the fraction, 0 to 6.
        decimals: u8,
    },
    /// 4 bytes and the fraction.
    Timestamp {
        /// Digits of the fraction, 0 to 6.
        decimals: u8,
    },
    /// The label's number.
    Enum {
        /// 1 or 2 bytes.
        width: u8,
    },
    /// A bit for each label.
    Set {
        /// 1 to 8 bytes.
        width: u8,
    },
    /// A length and a binary JSON document.
    Json {
        /// Bytes of the length, 1 to 4.
        prefix: u8,
    },
    /// A length, an SRID and WKB.
    Geometry {
        /// Bytes of the length, 1 to 4.
        prefix: u8,
    },
    /// A length and 32-bit floats.
    Vector {
        /// Bytes of the length, 1 to 4.
        prefix: u8,
    },
}

impl Layout {
    /// Derives the layout from a type (the real one where CHAR, ENUM and SET share a code) and its metadata.
    ///
    /// Integers come out signed: the sign is in another part of the event.
    pub fn new(code: u8, metadata: u16, at: usize) -> Decoded<Self> {
        use type_code as t;
        let int = |width| Self::Int { width, unsigned: false };
        Ok(match code {
            t::TINY => int(1),
            t::SHORT => int(2),
            t::INT24 => int(3),
            t::LONG => int(4),
            t::LONGLONG => int(8),
            t::FLOAT => Self::Float,
            t::DOUBLE => Self::Double,
            t::NEWDECIMAL => decimal(metadata, at)?,
            t::VARCHAR | t::VAR_STRING | t::STRING => Self::Bytes { prefix: if metadata > 255 { 2 } else { 1 } },
            t::VARCHAR_COMPRESSED => Self::Compressed { prefix: if metadata > 255 { 2 } else { 1 } },
            t::TINY_BLOB => Self::Bytes { prefix: 1 },
            t::MEDIUM_BLOB => Self::Bytes { prefix: 3 },
            t::LONG_BLOB => Self::Bytes { prefix: 4 },
            t::BLOB => Self::Bytes { prefix: length_bytes(metadata, at)? },
            t::BLOB_COMPRESSED => Self::Compressed { prefix: length_bytes(metadata, at)? },
            t::JSON => Self::Json { prefix: length_bytes(metadata, at)? },
            t::GEOMETRY => Self::Geometry { prefix: length_bytes(metadata, at)? },
            t::VECTOR => Self::Vector { prefix: length_bytes(metadata, at)? },
            t::BIT => bit(metadata, at)?,
            t::YEAR => Self::Year,
            t::DATE | t::NEWDATE => Self::Date,
            t::TIME => Self::OldTime,
            t::DATETIME => Self::OldDateTime,
            t::TIMESTAMP => Self::OldTimestamp,
            t::TIME2 => Self::Time { decimals: fraction(metadata, at)? },
            t::DATETIME2 => Self::DateTime { decimals: fraction(metadata, at)? },
            t::TIMESTAMP2 => Self::Timestamp { decimals: fraction(metadata, at)? },
            t::ENUM => Self::Enum { width: within(metadata, 1, 2, at, "an ENUM wider than two bytes")? },
            t::SET => Self::Set { width: within(metadata, 1, 8, at, "a SET wider than eight bytes")? },
            t::DECIMAL => return Err(Malformed { what: "a DECIMAL column of a server before 5.0", at }),
            _ => return Err(Malformed { what: "an unknown column type", at }),
        })
    }

    /// Derives the layout of a temporal column of `MariaDB`'s old format from the digits of a second that it keeps.
    ///
    /// Source: logs of `MariaDB` 11.8 with `mysql56_temporal_format=OFF`. Without a fraction it is the format of all servers before 5.6.
    pub fn of_old_temporal(code: u8, decimals: u8) -> Self {
        match (code, decimals) {
            (type_code::TIME, 0) => Self::OldTime,
            (type_code::TIMESTAMP, 0) => Self::OldTimestamp,
            (_, 0) => Self::OldDateTime,
            (type_code::TIME, _) => Self::HiresTime { decimals: decimals.min(6) },
            (type_code::TIMESTAMP, _) => Self::HiresTimestamp { decimals: decimals.min(6) },
            _ => Self::HiresDateTime { decimals: decimals.min(6) },
        }
    }

    /// Returns the number of bytes of every value; none where a length precedes the value, or where the width is not
    /// known.
    pub fn fixed_width(self) -> Option<usize> {
        Some(match self {
            Self::Int { width, .. } | Self::Decimal { width, .. } | Self::Enum { width } | Self::Set { width } => {
                usize::from(width)
            }
            Self::Float | Self::OldTimestamp => 4,
            Self::Double | Self::OldDateTime => 8,
            Self::Bit { bits } => usize::from(bits).div_ceil(8),
            Self::Year => 1,
            Self::Date | Self::OldTime => 3,
            Self::Time { decimals } => 3 + fraction_bytes(decimals),
            Self::DateTime { decimals } => 5 + fraction_bytes(decimals),
            Self::Timestamp { decimals } | Self::HiresTimestamp { decimals } => 4 + fraction_bytes(decimals),
            Self::HiresTime { decimals } => [3, 4, 4, 5, 5, 5, 6].get(usize::from(decimals)).copied()?,
            Self::HiresDateTime { decimals } => [5, 6, 6, 7, 7, 7, 8].get(usize::from(decimals)).copied()?,
            _ => return None,
        })
    }

    /// Returns the bytes of the length before the value; none where the width is fixed.
    pub fn prefix(self) -> Option<u8> {
        match self {
            Self::Bytes { prefix }
            | Self::Compressed { prefix }
            | Self::Json { prefix }
            | Self::Geometry { prefix }
            | Self::Vector { prefix } => Some(prefix),
            _ => None,
        }
    }

    /// Skips one value.
    #[inline]
    pub fn skip(self, cursor: &mut Cursor<'_>) -> Decoded<()> {
        let length = match self.prefix() {
            Some(prefix) => cursor.uint_le(usize::from(prefix))? as usize,
            None => self.fixed_width().ok_or(cursor.malformed(UNKNOWN_FRACTION))?,
        };
        cursor.skip(length)
    }
}

/// Returns the number of bytes of a fraction of a second.
pub(crate) fn fraction_bytes(decimals: u8) -> usize {
    usize::from(decimals).div_ceil(2)
}

/// Returns the number of bytes of a packed DECIMAL; 9 digits go into 4 bytes.
pub(crate) fn decimal_bytes(precision: u8, scale: u8) -> usize {
    digits_bytes(precision.saturating_sub(scale)) + digits_bytes(scale)
}

fn digits_bytes(digits: u8) -> usize {
    const REST: [usize; 9] = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    let digits = usize::from(digits);
    digits / 9 * 4 + REST.get(digits % 9).copied().unwrap_or_default()
}

fn decimal(metadata: u16, at: usize) -> Decoded<Layout> {
    let [precision, scale] = metadata.to_be_bytes();
    if precision == 0 || precision > 65 || scale > 38 || scale > precision {
        return Err(Malformed { what: "a DECIMAL with impossible digits", at });
    }
    Ok(Layout::Decimal { precision, scale, width: decimal_bytes(precision, scale) as u8 })
}

fn bit(metadata: u16, at: usize) -> Decoded<Layout> {
    let [rest, bytes] = metadata.to_be_bytes();
    let bits = u16::from(bytes) * 8 + u16::from(rest);
    if rest > 7 || bits == 0 || bits > 64 {
        return Err(Malformed { what: "a BIT column of impossible width", at });
    }
    Ok(Layout::Bit { bits: bits as u8 })
}

fn length_bytes(metadata: u16, at: usize) -> Decoded<u8> {
    within(metadata, 1, 4, at, "a length of more than four bytes")
}

fn fraction(metadata: u16, at: usize) -> Decoded<u8> {
    within(metadata, 0, 6, at, "more than six digits of a second")
}

fn within(number: u16, low: u16, high: u16, at: usize, what: &'static str) -> Decoded<u8> {
    if (low..=high).contains(&number) { Ok(number as u8) } else { Err(Malformed { what, at }) }
}
