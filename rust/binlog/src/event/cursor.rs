//! Reading numbers and strings from an event's bytes; a read past the end is a fault, never a panic.

use crate::error::Fault;

/// A position in a slice of bytes that moves forward as it is read.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns true if everything was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads the next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(|| {
            Fault::damaged(format!("an event's field needs {count} bytes, but only {} are left in it", self.rest.len()))
        })?;
        self.rest = rest;
        Ok(taken)
    }

    /// Reads the next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads two bytes, little endian.
    pub fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads four bytes, little endian.
    pub fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes, little endian.
    pub fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a number of up to eight bytes, little endian.
    pub fn unsigned(&mut self, width: usize) -> Result<u64, Fault> {
        let mut array = [0; 8];
        let bytes = self.take(width)?;
        array
            .get_mut(..width)
            .ok_or_else(|| Fault::damaged("a number is wider than eight bytes"))?
            .copy_from_slice(bytes);
        Ok(u64::from_le_bytes(array))
    }

    /// Reads a length-encoded integer of the client protocol.
    pub fn lenenc(&mut self) -> Result<u64, Fault> {
        match self.u8()? {
            small @ 0..=250 => Ok(u64::from(small)),
            252 => self.unsigned(2),
            253 => self.unsigned(3),
            254 => self.unsigned(8),
            other => Err(Fault::damaged(format!("{other} does not start a length-encoded number"))),
        }
    }

    /// Reads a length-encoded integer that must be usable as a size.
    pub fn lenenc_size(&mut self) -> Result<usize, Fault> {
        usize::try_from(self.lenenc()?).map_err(|_| Fault::damaged("a length is larger than memory"))
    }

    /// Reads bytes up to a NUL, which is skipped.
    pub fn until_nul(&mut self) -> Result<&'a [u8], Fault> {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let taken = self.take(end.ok_or_else(|| Fault::damaged("a string has no end"))?)?;
        self.take(1)?;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_little_endian_and_ends_are_faults() {
        let mut cursor = Cursor::new(&[1, 2, 0, 252, 0x34, 0x12, b'a', 0, 9]);
        assert_eq!(cursor.u8(), Ok(1));
        assert_eq!(cursor.u16(), Ok(2));
        assert_eq!(cursor.lenenc(), Ok(0x1234));
        assert_eq!(cursor.until_nul(), Ok(&b"a"[..]));
        assert!(cursor.u16().is_err());
        assert_eq!(cursor.rest(), [9], "a failed read takes nothing");
        assert!(cursor.until_nul().is_err());
        assert!(Cursor::new(&[0; 20]).unsigned(9).is_err());
    }
}
