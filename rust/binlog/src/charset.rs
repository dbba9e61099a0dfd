//! Text in any character set of the servers as UTF-8.

mod single_byte;

use std::borrow::Cow;
use std::sync::LazyLock;

use encoding_rs::{self as encoding, Encoding};

/// [`single_byte::UPPER`], one character after the other.
static UPPER: LazyLock<Vec<(&str, Vec<char>)>> =
    LazyLock::new(|| single_byte::UPPER.iter().map(|(name, upper)| (*name, upper.chars().collect())).collect());

/// How the text of a column becomes UTF-8.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Charset {
    /// It is already.
    Utf8,
    /// Bytes below 128.
    Ascii,
    /// Two bytes a unit, the most significant first; also ucs2.
    Utf16,
    /// Two bytes a unit, the least significant first.
    Utf16Le,
    /// Four bytes a character, the most significant first.
    Utf32,
    /// One byte a character: the characters from 128 on.
    SingleByte(&'static [char]),
    /// One byte a character, and letters among the first 128 too.
    Swe7,
    /// As one of the encodings of the WHATWG standard.
    Encoding(&'static Encoding),
    /// A character set that is not known here; its ASCII is.
    Unknown,
}

impl Charset {
    /// The character set of a collation, by the collation's full name; none for `binary`.
    pub fn of_collation(name: &str) -> Option<Self> {
        let charset = name.split('_').next().unwrap_or_default();
        Some(match charset {
            "binary" => return None,
            "utf8" | "utf8mb3" | "utf8mb4" => Self::Utf8,
            "ascii" => Self::Ascii,
            "ucs2" | "utf16" => Self::Utf16,
            "utf16le" => Self::Utf16Le,
            "utf32" => Self::Utf32,
            "swe7" => Self::Swe7,
            other => UPPER
                .iter()
                .find(|(name, _)| *name == other)
                .map(|(_, upper)| Self::SingleByte(upper))
                .or_else(|| encoding_of(other).map(Self::Encoding))
                .unwrap_or(Self::Unknown),
        })
    }

    /// The text; none where some of the bytes are no character.
    pub fn decode(self, bytes: &[u8]) -> Option<Cow<'_, str>> {
        match self {
            Self::Utf8 => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Self::Utf16 => utf16(bytes, u16::from_be_bytes),
            Self::Utf16Le => utf16(bytes, u16::from_le_bytes),
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
            Self::Encoding(encoding) => encoding.decode_without_bom_handling_and_without_replacement(bytes),
            Self::Ascii | Self::Unknown => None,
        }
    }
}

/// The text of bytes that are a character each.
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

/// The encoding of a character set with more than one byte a character.
fn encoding_of(charset: &str) -> Option<&'static Encoding> {
    Some(match charset {
        "big5" => encoding::BIG5,
        "gb2312" | "gbk" => encoding::GBK,
        "gb18030" => encoding::GB18030,
        "sjis" | "cp932" => encoding::SHIFT_JIS,
        "ujis" | "eucjpms" => encoding::EUC_JP,
        "euckr" => encoding::EUC_KR,
        _ => return None,
    })
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
