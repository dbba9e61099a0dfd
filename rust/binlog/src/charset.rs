//! Text in any character set of the servers as UTF-8.

use std::borrow::Cow;

use encoding_rs::{self as encoding, Encoding};

/// How the text of a column becomes UTF-8.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Charset {
    /// It is already.
    Utf8,
    /// Two bytes a unit, the most significant first; also ucs2.
    Utf16,
    /// Two bytes a unit, the least significant first.
    Utf16Le,
    /// Four bytes a character, the most significant first.
    Utf32,
    /// As one of the encodings of the WHATWG standard.
    Encoding(&'static Encoding),
    /// A character set without a table here: bytes above 127 become U+FFFD.
    Ascii,
}

impl Charset {
    /// The character set of a collation, by the collation's full name; none for `binary`.
    pub fn of_collation(name: &str) -> Option<Self> {
        let charset = name.split('_').next().unwrap_or_default();
        Some(match charset {
            "binary" => return None,
            "utf8" | "utf8mb3" | "utf8mb4" => Self::Utf8,
            "ucs2" | "utf16" => Self::Utf16,
            "utf16le" => Self::Utf16Le,
            "utf32" => Self::Utf32,
            other => table_of(other).map_or(Self::Ascii, Self::Encoding),
        })
    }

    /// The text; what is no character becomes U+FFFD.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Self::Utf8 => String::from_utf8_lossy(bytes),
            Self::Utf16 => utf16(bytes, u16::from_be_bytes),
            Self::Utf16Le => utf16(bytes, u16::from_le_bytes),
            Self::Utf32 => {
                let (units, _) = bytes.as_chunks::<4>();
                let character = |unit: &[u8; 4]| char::from_u32(u32::from_be_bytes(*unit));
                units.iter().map(|unit| character(unit).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
            }
            Self::Encoding(encoding) => encoding.decode_without_bom_handling(bytes).0,
            Self::Ascii if bytes.is_ascii() => String::from_utf8_lossy(bytes),
            Self::Ascii => {
                let character = |byte: &u8| if byte.is_ascii() { *byte as char } else { char::REPLACEMENT_CHARACTER };
                bytes.iter().map(character).collect()
            }
        }
    }
}

fn utf16(bytes: &[u8], number: fn([u8; 2]) -> u16) -> Cow<'_, str> {
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| number(*unit));
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn table_of(charset: &str) -> Option<&'static Encoding> {
    Some(match charset {
        "latin1" => encoding::WINDOWS_1252,
        "latin2" => encoding::ISO_8859_2,
        "latin5" => encoding::WINDOWS_1254,
        "latin7" => encoding::ISO_8859_13,
        "cp1250" => encoding::WINDOWS_1250,
        "cp1251" => encoding::WINDOWS_1251,
        "cp1256" => encoding::WINDOWS_1256,
        "cp1257" => encoding::WINDOWS_1257,
        "cp866" => encoding::IBM866,
        "greek" => encoding::ISO_8859_7,
        "hebrew" => encoding::ISO_8859_8,
        "koi8r" => encoding::KOI8_R,
        "koi8u" => encoding::KOI8_U,
        "macroman" => encoding::MACINTOSH,
        "tis620" => encoding::WINDOWS_874,
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
            ("utf8mb4_0900_ai_ci", "né".as_bytes(), "né"),
            ("latin1_swedish_ci", b"n\xe9 \x80", "né €"),
            ("cp1251_general_ci", b"\xcf\xf0", "Пр"),
            ("sjis_japanese_ci", b"\x83\x65", "テ"),
            ("ucs2_general_ci", b"\0n\0\xe9", "né"),
            ("utf16le_bin", b"n\0\xe9\0", "né"),
            ("utf32_bin", b"\0\0\0n\0\x01\xf6\0", "n😀"),
            ("cp850_bin", b"n\x82", "n\u{fffd}"),
        ] {
            assert_eq!(Charset::of_collation(collation).unwrap().decode(bytes), text, "{collation}");
        }
        assert_eq!(Charset::of_collation("binary"), None);
    }
}
