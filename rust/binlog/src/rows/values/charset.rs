//! Text in any character set of the servers as UTF-8.

mod corrections;
mod multi_byte;
mod single_byte;

use std::borrow::Cow;
use std::sync::LazyLock;

pub use multi_byte::MultiByte;

/// [`single_byte::UPPER`], one character after the other.
static UPPER: LazyLock<Vec<(&str, Vec<char>)>> =
    LazyLock::new(|| single_byte::UPPER.iter().map(|(name, upper)| (*name, upper.chars().collect())).collect());

/// Conversion of the text of a column to UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Already UTF-8.
    Utf8,
    /// Bytes below 128.
    Ascii,
    /// Two bytes a unit, the most significant first.
    Utf16,
    /// Two bytes a character, the most significant first.
    Ucs2,
    /// Two bytes a unit, the least significant first.
    Utf16Le,
    /// Four bytes a character, the most significant first.
    Utf32,
    /// One byte a character: the characters from 128 on.
    SingleByte(&'static [char]),
    /// One byte a character, and letters among the first 128 too.
    Swe7,
    /// One byte a character below 128, several bytes for the others.
    MultiByte(&'static MultiByte),
    /// A character set that is not known here, except for its ASCII.
    Unknown,
}

impl Charset {
    /// Returns the character set of a collation, by the collation's full name; none for `binary`.
    pub fn of_collation(name: &str) -> Option<Self> {
        let charset = name.split('_').next().unwrap_or_default();
        Some(match charset {
            "binary" => return None,
            "utf8" | "utf8mb3" | "utf8mb4" => Self::Utf8,
            "ascii" => Self::Ascii,
            "ucs2" => Self::Ucs2,
            "utf16" => Self::Utf16,
            "utf16le" => Self::Utf16Le,
            "utf32" => Self::Utf32,
            "swe7" => Self::Swe7,
            other => UPPER
                .iter()
                .find(|(name, _)| *name == other)
                .map(|(_, upper)| Self::SingleByte(upper))
                .or_else(|| corrections::ALL.iter().find(|charset| charset.name == other).map(Self::MultiByte))
                .unwrap_or(Self::Unknown),
        })
    }

    /// Returns the text; none where some of the bytes are no character.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Utf16 => utf16(bytes, u16::from_be_bytes),
            Self::Utf16Le => utf16(bytes, u16::from_le_bytes),
            Self::Ucs2 => {
                let (units, rest) = bytes.as_chunks::<2>();
                let character = |unit: &[u8; 2]| char::from_u32(u32::from(u16::from_be_bytes(*unit)));
                units.iter().map(character).collect::<Option<String>>().filter(|_| rest.is_empty()).map(Cow::Owned)
            }
            Self::Utf32 => {
                let (units, rest) = bytes.as_chunks::<4>();
                let character = |unit: &[u8; 4]| char::from_u32(u32::from_be_bytes(*unit));
                units.iter().map(character).collect::<Option<String>>().filter(|_| rest.is_empty()).map(Cow::Owned)
            }
            Self::Swe7 => characters(bytes, |byte| {
                let letter = single_byte::SWE7.iter().find(|(code, _)| *code == byte).map(|(_, letter)| *letter);
                letter.or_else(|| byte.is_ascii().then_some(char::from(byte)))
            }),
            _ if bytes.is_ascii() => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::SingleByte(upper) => characters(bytes, |byte| match byte.checked_sub(128) {
                Some(place) => upper.get(usize::from(place)).copied(),
                None => Some(char::from(byte)),
            }),
            Self::MultiByte(charset) => charset.decode(bytes).map(Cow::Owned),
            Self::Ascii | Self::Unknown => None,
        }
    }
}

/// Returns the text of bytes that are one character each.
fn characters(bytes: &[u8], character: impl Fn(u8) -> Option<char>) -> Option<Cow<'_, str>> {
    let known = |byte: &u8| character(*byte).filter(|character| *character != char::REPLACEMENT_CHARACTER);
    bytes.iter().map(known).collect::<Option<String>>().map(Cow::Owned)
}

fn utf16(bytes: &[u8], number: fn([u8; 2]) -> u16) -> Option<Cow<'_, str>> {
    let (units, rest) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| number(*unit));
    let text = char::decode_utf16(units).collect::<Result<String, _>>().ok()?;
    rest.is_empty().then_some(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_every_kind_of_character_set_is_read() {
        for (collation, bytes, text) in [
            ("utf8mb4_0900_ai_ci", "né".as_bytes(), Some("né")),
            ("latin1_swedish_ci", b"n\xe9 \x80\x81", Some("né €\u{81}")),
            ("cp1251_general_ci", b"\xcf\xf0", Some("Пр")),
            ("sjis_japanese_ci", b"\x83\x65", Some("テ")),
            ("sjis_japanese_ci", b"\x81\x60a\x81\x5f\xb1", Some("〜a\\ｱ")),
            ("cp932_japanese_ci", b"\x81\x60a\x81\x5f\xb1", Some("～a＼ｱ")),
            ("ujis_bin", b"\xa4\xa2\x8f\xf5\xa2\x8e\xb1", Some("あ\u{e3ad}ｱ")),
            ("eucjpms_bin", b"\x8f\xa2\xc3\x8f\xf3\xf4", Some("￤ⅱ")),
            ("gb2312_chinese_ci", b"\xb0\xa1\xa1\xa4", Some("啊・")),
            ("gb18030_chinese_ci", b"\x810\x810\xa3\xa0x", Some("\u{80}\u{e5e5}x")),
            ("big5_chinese_ci", b"\xa4\x40\xc7\x41", Some("一ォ")),
            ("ucs2_general_ci", b"\0n\0\xe9", Some("né")),
            ("utf16le_bin", b"n\0\xe9\0", Some("né")),
            ("utf32_bin", b"\0\0\0n\0\x01\xf6\0", Some("n😀")),
            ("cp850_bin", b"n\x82", Some("né")),
            ("latin5_turkish_ci", b"\xfd", Some("ı")),
            ("swe7_swedish_ci", b"a@[", Some("aÉÄ")),
        ] {
            assert_eq!(Charset::of_collation(collation).unwrap().decode(bytes).as_deref(), text, "{collation}");
        }
        assert_eq!(Charset::of_collation("binary"), None);
    }

    #[test]
    fn bytes_that_are_no_character_make_no_text() {
        for (collation, bytes) in [
            ("utf8mb4_bin", &b"a\xff"[..]),
            ("ascii_bin", b"\x80"),
            ("cp1250_bin", b"\x81"),
            ("utf16_bin", b"\xd8\0"),
            ("utf32_bin", b"\0\0\0"),
            ("sjis_bin", b"\x83"),
            ("ucs2_bin", b"\xd8\x3d\xde\0"),
            ("gbk_bin", b"\x80A"),
            ("gbk_bin", b"\xa2\xab"),
            ("big5_bin", b"\x88\x62"),
            ("big5_bin", b"\xa1\x5a"),
            ("gb18030_bin", b"\x810\x81"),
            ("future_bin", b"\x83"),
        ] {
            assert_eq!(Charset::of_collation(collation).unwrap().decode(bytes), None, "{collation}");
        }
        assert_eq!(Charset::of_collation("future_bin").unwrap().decode(b"a").as_deref(), Some("a"));
    }

    #[test]
    fn every_byte_has_its_place_in_the_tables() {
        for (name, upper) in single_byte::UPPER {
            assert_eq!(upper.chars().count(), 128, "{name}");
        }
    }
}
