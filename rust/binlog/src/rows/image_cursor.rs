//! Reading the bytes of row images and JSON documents in order, with every access checked.
//!
//! Events are read once each with [`crate::event::cursor`], whose faults carry text. This cursor is used once for each value:
//! it knows its position, and its errors allocate nothing.

use crate::error::Fault;

/// Error for a value whose length is not known; the log is not damaged.
pub const UNKNOWN_FRACTION: &str =
    "a temporal value of MariaDB's format of before 10.1.2, whose digits of a second are not known";

/// Description of a row that lacks a value which the reader must have.
pub const INCOMPLETE_ROW: &str = "the log leaves columns out of a changed row, or holds a part of a JSON document only; set \
                                  binlog_row_image=FULL and binlog_row_value_options='' on the source, and read the log from there on";

/// Bytes of an event that have no meaning in the format.
///
/// The position counts from the first byte of what was being read: an event's header, or a JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} (byte {at})")]
pub struct Malformed {
    /// Description of the error, as a whole phrase.
    pub what: &'static str,
    /// Position in bytes.
    pub at: usize,
}

impl From<Malformed> for Fault {
    fn from(error: Malformed) -> Self {
        match error.what {
            UNKNOWN_FRACTION | INCOMPLETE_ROW => Self::not_understood(error.what),
            _ => Self::damaged(error.to_string()),
        }
    }
}

/// The result of decoding a part of an event.
pub type Decoded<T> = Result<T, Malformed>;

/// A position in an event's bytes.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at an offset of the bytes; an offset after the end leaves nothing to read.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at: at.min(bytes.len()) }
    }

    /// Returns the offset of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Returns the number of bytes left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Returns true if no byte is left.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Returns an error at the next byte.
    pub fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { what, at: self.at }
    }

    /// Takes the next `length` bytes.
    #[inline]
    pub fn take(&mut self, length: usize) -> Decoded<&'a [u8]> {
        let end = self.at.checked_add(length).ok_or(self.malformed("a length beyond any event"))?;
        let bytes = self.bytes.get(self.at..end).ok_or(self.malformed("the event ends too early"))?;
        self.at = end;
        Ok(bytes)
    }

    /// Skips the next `length` bytes.
    #[inline]
    pub fn skip(&mut self, length: usize) -> Decoded<()> {
        if length > self.remaining() {
            return Err(self.malformed("the event ends too early"));
        }
        self.at += length;
        Ok(())
    }

    /// Takes all remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        let bytes = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        bytes
    }

    /// Takes a fixed number of bytes as an array.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| Malformed { what: "the event ends too early", at })
    }

    /// Reads one byte.
    #[inline]
    pub fn u8(&mut self) -> Decoded<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads two bytes, the least significant first.
    #[inline]
    pub fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Reads four bytes, the least significant first.
    #[inline]
    pub fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Reads eight bytes, the least significant first.
    #[inline]
    pub fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads an unsigned number of 0 to 8 bytes, the least significant first.
    #[inline]
    pub fn uint_le(&mut self, width: usize) -> Decoded<u64> {
        Ok(self.take(width)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Reads an unsigned number of 0 to 8 bytes, the most significant first.
    #[inline]
    pub fn uint_be(&mut self, width: usize) -> Decoded<u64> {
        Ok(self.take(width)?.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Reads a length-encoded integer of the client protocol: 1, 3, 4 or 9 bytes.
    pub fn packed(&mut self) -> Decoded<u64> {
        match self.u8()? {
            252 => self.uint_le(2),
            253 => self.uint_le(3),
            254 => self.uint_le(8),
            byte @ 0..=250 => Ok(u64::from(byte)),
            _ => Err(Malformed { what: "no length-encoded integer", at: self.at.saturating_sub(1) }),
        }
    }

    /// Reads a length-encoded integer that must not exceed what is left to read.
    pub fn packed_length(&mut self) -> Decoded<usize> {
        let at = self.at;
        let length = self.packed()?;
        match usize::try_from(length) {
            Ok(length) if length <= self.remaining() => Ok(length),
            _ => Err(Malformed { what: "a length that exceeds the event", at }),
        }
    }

    /// Reads a length-encoded integer and as many bytes.
    pub fn packed_bytes(&mut self) -> Decoded<&'a [u8]> {
        let length = self.packed_length()?;
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked_before_anything_is_taken() {
        let mut cursor = Cursor::new(&[254, 255, 255, 255, 255, 255, 255, 255, 255, 1], 0);
        assert_eq!(cursor.packed_bytes().unwrap_err().at, 0);
        assert!(Cursor::new(&[1, 2], 7).u8().is_err());
        assert!(Cursor::new(&[251], 0).packed().is_err());
    }

    #[test]
    fn packed_integers_of_each_width() {
        let bytes = [250, 252, 1, 2, 253, 1, 2, 3, 254, 1, 0, 0, 0, 0, 0, 0, 128];
        let mut cursor = Cursor::new(&bytes, 0);
        assert_eq!(cursor.packed(), Ok(250));
        assert_eq!(cursor.packed(), Ok(0x201));
        assert_eq!(cursor.packed(), Ok(0x0003_0201));
        assert_eq!(cursor.packed(), Ok(0x8000_0000_0000_0001));
        assert!(cursor.is_at_end());
    }
}
