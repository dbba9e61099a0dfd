//! Character sets: the end of each character of a value, and its code point.

/// Encoding of the characters of a character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Charset {
    /// One byte for each character.
    One,
    Utf8mb4,
    Utf8mb3,
    Ucs2,
    Utf16,
    Utf16le,
    Utf32,
    Big5,
    Gb2312,
    Gbk,
    Gb18030,
    /// Also cp932.
    Sjis,
    /// Also eucjpms.
    Ujis,
    Euckr,
}

impl Charset {
    /// Returns the character set of this name; an unknown name is taken for a set with single bytes, as all others are.
    pub(super) fn by_name(name: &str) -> Self {
        match name {
            "utf8mb4" => Self::Utf8mb4,
            "utf8mb3" => Self::Utf8mb3,
            "ucs2" => Self::Ucs2,
            "utf16" => Self::Utf16,
            "utf16le" => Self::Utf16le,
            "utf32" => Self::Utf32,
            "big5" => Self::Big5,
            "gb2312" => Self::Gb2312,
            "gbk" => Self::Gbk,
            "gb18030" => Self::Gb18030,
            "sjis" | "cp932" => Self::Sjis,
            "ujis" | "eucjpms" => Self::Ujis,
            "euckr" => Self::Euckr,
            _ => Self::One,
        }
    }

    /// Returns a space.
    pub(super) fn space(self) -> &'static [u8] {
        match self {
            Self::Ucs2 | Self::Utf16 => b"\0 ",
            Self::Utf16le => b" \0",
            Self::Utf32 => b"\0\0\0 ",
            _ => b" ",
        }
    }

    /// Returns true if ASCII characters are their own bytes, and no other character begins with a byte below 0x80.
    pub(super) fn has_ascii(self) -> bool {
        !matches!(self, Self::Ucs2 | Self::Utf16 | Self::Utf16le | Self::Utf32)
    }

    /// Returns the first character: its number (a code point in Unicode's sets, else its bytes as a number), and its
    /// length.
    ///
    /// Returns none if the bytes are no character.
    #[inline]
    pub(super) fn first(self, bytes: &[u8]) -> Option<(u32, usize)> {
        match self {
            Self::One => bytes.first().map(|byte| (u32::from(*byte), 1)),
            Self::Utf8mb4 | Self::Utf8mb3 => utf8(bytes).filter(|(_, length)| self == Self::Utf8mb4 || *length < 4),
            Self::Ucs2 => unit(bytes, u16::from_be_bytes).filter(|unit| !surrogate(*unit)).map(|unit| (unit.into(), 2)),
            Self::Utf16 => utf16(bytes, u16::from_be_bytes),
            Self::Utf16le => utf16(bytes, u16::from_le_bytes),
            Self::Utf32 => {
                let code_point = u32::from_be_bytes(*bytes.first_chunk()?);
                char::from_u32(code_point).map(|_| (code_point, 4))
            }
            _ => self.double_byte(bytes),
        }
    }

    /// Returns the first character of a set in which a byte of the upper half begins a character of more bytes.
    #[inline]
    fn double_byte(self, bytes: &[u8]) -> Option<(u32, usize)> {
        let one = *bytes.first()?;
        if one < 0x80 || (self == Self::Sjis && (0xA1..=0xDF).contains(&one)) {
            return Some((one.into(), 1));
        }
        let two = *bytes.get(1)?;
        let upper = (0xA1..=0xFE).contains(&two);
        let fits = match self {
            Self::Big5 => (0xA1..=0xF9).contains(&one) && (upper || (0x40..=0x7E).contains(&two)),
            Self::Gb2312 => (0xA1..=0xF7).contains(&one) && upper,
            Self::Gbk => (0x81..=0xFE).contains(&one) && (0x40..=0xFE).contains(&two) && two != 0x7F,
            Self::Sjis => {
                (matches!(one, 0x81..=0x9F) || matches!(one, 0xE0..=0xFC))
                    && (0x40..=0xFC).contains(&two)
                    && two != 0x7F
            }
            Self::Euckr => (0x81..=0xFE).contains(&one) && matches!(two, 0x41..=0x5A | 0x61..=0x7A | 0x81..=0xFE),
            Self::Ujis => match one {
                0x8E => (0xA1..=0xDF).contains(&two),
                0x8F => return three(bytes).filter(|(code, _)| upper && (0xA1..=0xFE).contains(&(code & 0xFF))),
                _ => (0xA1..=0xFE).contains(&one) && upper,
            },
            Self::Gb18030 => {
                if !(0x81..=0xFE).contains(&one) {
                    return None;
                }
                if two.is_ascii_digit() {
                    let [_, _, three, four] = *bytes.first_chunk()?;
                    let fits = (0x81..=0xFE).contains(&three) && four.is_ascii_digit();
                    return fits.then_some((u32::from_be_bytes([one, two, three, four]), 4));
                }
                (0x40..=0xFE).contains(&two) && two != 0x7F
            }
            _ => false,
        };
        fits.then_some((u32::from(one) << 8 | u32::from(two), 2))
    }

    /// Iterates over the characters of a value. The position at the end is that of the first invalid byte, or the
    /// value's length.
    pub(super) fn characters(self, value: &[u8]) -> Characters<'_> {
        Characters { charset: self, value, at: 0 }
    }

    /// Appends the characters of a whole value to `out`.
    ///
    /// # Errors
    ///
    /// The offset of the first byte that begins no character.
    pub(super) fn decode(self, value: &[u8], out: &mut Vec<u32>) -> Result<(), usize> {
        match self {
            Self::Ucs2 => return decode_units(value, u16::from_be_bytes, false, out),
            Self::Utf16 => return decode_units(value, u16::from_be_bytes, true, out),
            Self::Utf16le => return decode_units(value, u16::from_le_bytes, true, out),
            _ => {}
        }
        let mut characters = self.characters(value);
        out.extend(characters.by_ref().map(|(character, _)| character));
        if characters.at == value.len() { Ok(()) } else { Err(characters.at) }
    }

    /// Returns true if this is one of the UTF-8 sets.
    pub(super) fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8mb4 | Self::Utf8mb3)
    }

    /// Writes a value of ASCII characters, each of which has several bytes in this set, with one byte each; returns
    /// their number.
    ///
    /// Returns none if there are other characters, or too many.
    pub(super) fn narrow(self, value: &[u8], out: &mut [u8]) -> Option<usize> {
        match self {
            Self::Ucs2 | Self::Utf16 => narrow_units(value, out, |unit| u16::from_be_bytes(unit).into()),
            Self::Utf16le => narrow_units(value, out, |unit| u16::from_le_bytes(unit).into()),
            Self::Utf32 => narrow_units(value, out, u32::from_be_bytes),
            _ => None,
        }
    }
}

/// Implements [`Charset::narrow`] for characters of `WIDTH` bytes, whose numbers `number` returns.
#[inline]
fn narrow_units<const WIDTH: usize>(
    value: &[u8],
    out: &mut [u8],
    number: impl Fn([u8; WIDTH]) -> u32,
) -> Option<usize> {
    let (units, rest) = value.as_chunks::<WIDTH>();
    if units.len() > out.len() || !rest.is_empty() {
        return None;
    }
    let mut all = 0;
    for (unit, narrow) in units.iter().zip(out) {
        let character = number(*unit);
        all |= character;
        *narrow = character as u8;
    }
    (all < 0x80).then_some(units.len())
}

/// Iterates over characters and their lengths; ends early at bytes that are none.
#[derive(Debug, Clone)]
pub(super) struct Characters<'v> {
    charset: Charset,
    value: &'v [u8],
    at: usize,
}

impl Characters<'_> {
    /// Returns the number of bytes read.
    pub(super) fn at(&self) -> usize {
        self.at
    }
}

impl Iterator for Characters<'_> {
    type Item = (u32, usize);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let found = self.charset.first(self.value.get(self.at..)?)?;
        self.at += found.1;
        Some(found)
    }
}

#[inline]
fn utf8(bytes: &[u8]) -> Option<(u32, usize)> {
    let one = *bytes.first()?;
    let tail = |n: usize| bytes.get(n).filter(|byte| **byte & 0xC0 == 0x80).map(|byte| u32::from(byte & 0x3F));
    let lead = u32::from(one);
    match one {
        0..0x80 => Some((lead, 1)),
        0xC2..0xE0 => Some(((lead & 0x1F) << 6 | tail(1)?, 2)),
        0xE0..0xF0 => {
            let code_point = (lead & 0xF) << 12 | tail(1)? << 6 | tail(2)?;
            (code_point >= 0x800 && char::from_u32(code_point).is_some()).then_some((code_point, 3))
        }
        0xF0..0xF5 => {
            let code_point = (lead & 7) << 18 | tail(1)? << 12 | tail(2)? << 6 | tail(3)?;
            (0x1_0000..0x11_0000).contains(&code_point).then_some((code_point, 4))
        }
        _ => None,
    }
}

fn unit(bytes: &[u8], number: fn([u8; 2]) -> u16) -> Option<u16> {
    bytes.first_chunk().map(|two| number(*two))
}

fn surrogate(unit: u16) -> bool {
    (0xD800..0xE000).contains(&unit)
}

fn utf16(bytes: &[u8], number: fn([u8; 2]) -> u16) -> Option<(u32, usize)> {
    let first = unit(bytes, number)?;
    if !surrogate(first) {
        return Some((first.into(), 2));
    }
    let second = unit(bytes.get(2..)?, number)?;
    let pair = (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second);
    pair.then(|| (0x1_0000 + ((u32::from(first) & 0x3FF) << 10 | u32::from(second) & 0x3FF), 4))
}

/// Implements [`Charset::decode`] for characters of two bytes, and of four where there are pairs.
#[inline]
fn decode_units(value: &[u8], number: fn([u8; 2]) -> u16, pairs: bool, out: &mut Vec<u32>) -> Result<(), usize> {
    out.reserve(value.len() / 2);
    let mut at = 0;
    while let Some(first) = value.get(at..).and_then(|rest| unit(rest, number)) {
        if surrogate(first) {
            let pair = value.get(at..).filter(|_| pairs).and_then(|rest| utf16(rest, number));
            let Some((character, length)) = pair else { return Err(at) };
            out.push(character);
            at += length;
        } else {
            out.push(first.into());
            at += 2;
        }
    }
    if at == value.len() { Ok(()) } else { Err(at) }
}

fn three(bytes: &[u8]) -> Option<(u32, usize)> {
    let [one, two, three] = *bytes.first_chunk()?;
    Some((u32::from_be_bytes([0, one, two, three]), 3))
}
