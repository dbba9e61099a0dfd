//! Character sets with several bytes a character.

use encoding_rs::Encoding;

/// Length of a character in bytes, by its first ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Two from 128 on.
    Two,
    /// Two, and one for katakana of half width.
    ShiftJis,
    /// Two, and three after `8f`.
    Euc,
    /// Two, and four where the second byte is a digit.
    Gb18030,
}

/// A character set of the servers.
#[derive(Debug, PartialEq, Eq)]
pub struct MultiByte {
    /// Its name.
    pub(super) name: &'static str,
    /// The encoding that most of its characters are in.
    pub(super) encoding: &'static Encoding,
    /// Length of its characters.
    pub(super) layout: Layout,
    /// Characters that the servers read differently: the first code, the last, and the character of the first.
    pub(super) corrections: &'static [(u32, u32, char)],
}

impl MultiByte {
    /// Returns the text; none where some of the bytes are no character, or a character that Unicode does not have.
    pub(super) fn decode(&self, bytes: &[u8]) -> Option<String> {
        let mut text = String::with_capacity(bytes.len());
        let (mut rest, mut plain) = (bytes, 0);
        while let Some(remaining) = rest.get(plain..).filter(|remaining| !remaining.is_empty()) {
            let length = self.length(remaining);
            let Some(character) = self.correction(remaining.get(..length)?) else {
                plain += length;
                continue;
            };
            self.push(&mut text, rest.get(..plain)?)?;
            if character == char::REPLACEMENT_CHARACTER {
                return None;
            }
            text.push(character);
            rest = remaining.get(length..)?;
            plain = 0;
        }
        self.push(&mut text, rest)?;
        Some(text)
    }

    fn push(&self, text: &mut String, bytes: &[u8]) -> Option<()> {
        text.push_str(&self.encoding.decode_without_bom_handling_and_without_replacement(bytes)?);
        Some(())
    }

    /// Returns the length of the first character.
    fn length(&self, bytes: &[u8]) -> usize {
        match (bytes, self.layout) {
            ([..=0x7f, ..], _) | ([0x80 | 0xa0..=0xdf | 0xfd.., ..], Layout::ShiftJis) => 1,
            ([0x8f, ..], Layout::Euc) => 3,
            ([_, b'0'..=b'9', ..], Layout::Gb18030) => 4,
            _ => 2,
        }
    }

    /// Returns the servers' reading of a character for which the encoding differs: `\u{fffd}` where the servers have no
    /// character.
    fn correction(&self, bytes: &[u8]) -> Option<char> {
        let code = bytes.iter().fold(0, |code, byte| code << 8 | u32::from(*byte));
        let place = self.corrections.partition_point(|(_, last, _)| *last < code);
        let (first, _, character) = self.corrections.get(place).filter(|(first, ..)| *first <= code)?;
        if *character == char::REPLACEMENT_CHARACTER {
            return Some(*character);
        }
        Some(char::from_u32(u32::from(*character) + (code - first)).unwrap_or(char::REPLACEMENT_CHARACTER))
    }
}
