//! Unicode weights, and the compact form that equality needs of them.
//!
//! What two equal texts share is the sequence of their characters' weights, level by level, weights of nothing left out. The form is
//! that sequence in a code of our own: a first-level weight that an ASCII character has is that character (in lower case where case
//! does not count), any other weight three bytes with the high bit set. So most text keeps its length, and a space at the end is seen
//! in the bytes. Later levels, which rarely change, are written as runs.

use std::sync::OnceLock;

use super::codes::Codes;
use super::levels::{Input, Level};

/// Stands before each later level; neither a code nor a run begins with it.
const LEVEL: u8 = 0xFF;

/// Collations whose characters have the same weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Family {
    /// `general_ci`: one weight for each character of the first plane.
    General,
    /// `unicode_ci`: Unicode collation algorithm 4.0.0.
    Uca400,
    /// `unicode_520_ci`: 5.2.0.
    Uca520,
    /// `0900`: 9.0.0, three levels.
    Uca900,
}

impl Family {
    /// The tables, unpacked on first use.
    pub(super) fn tables(self) -> &'static Tables {
        static TABLES: [OnceLock<Tables>; 4] = [const { OnceLock::new() }; 4];
        let data: &[u8] = match self {
            Self::General => include_bytes!("../../data/general.zst"),
            Self::Uca400 => include_bytes!("../../data/uca400.zst"),
            Self::Uca520 => include_bytes!("../../data/uca520.zst"),
            Self::Uca900 => include_bytes!("../../data/uca900.zst"),
        };
        TABLES[self as usize].get_or_init(|| Tables::read(&unpack(data)))
    }
}

/// Unpacks a compiled-in file.
pub(super) fn unpack(data: &[u8]) -> Vec<u8> {
    // The files are part of the program and read by its tests; one that cannot be unpacked leaves every collation unknown.
    zstd::decode_all(data).unwrap_or_default()
}

/// The weights of one family.
#[derive(Debug)]
pub(super) struct Tables {
    first: Codes,
    later: Vec<Later>,
}

/// A level after the first, and its weights of ASCII characters.
#[derive(Debug)]
struct Later {
    level: Level,
    /// The one weight of each ASCII byte; 0 for those without.
    ascii: [u16; 256],
    /// The weight that all ASCII characters share, if they do.
    common: Option<u16>,
}

impl Tables {
    fn read(data: &[u8]) -> Self {
        let mut input = Input::new(data);
        let count = input.byte();
        let first = Codes::new(&Level::read(&mut input));
        let later = (1..count).map(|_| Later::new(Level::read(&mut input))).collect();
        Self { first, later }
    }

    /// Appends the form of a text of ASCII characters only.
    pub(super) fn append_ascii(&self, value: &[u8], levels: usize, pad_space: bool, out: &mut Vec<u8>) {
        let start = out.len();
        self.first.append_ascii(value, out);
        if pad_space {
            super::strip_trailing(out, start, self.first.space());
        }
        let weighed = out.len() - start;
        for later in self.later.iter().take(levels.saturating_sub(1)) {
            later.append_ascii(value, weighed, out);
        }
    }

    /// Appends the form of any text.
    pub(super) fn append_text(&self, text: &str, levels: usize, pad_space: bool, out: &mut Vec<u8>) {
        let start = out.len();
        self.first.append_text(text, out);
        if pad_space {
            super::strip_trailing(out, start, self.first.space());
        }
        for later in self.later.iter().take(levels.saturating_sub(1)) {
            later.append_text(text, out);
        }
    }
}

impl Later {
    fn new(level: Level) -> Self {
        let mut ascii = [0; 256];
        for byte in 0..128_u8 {
            level.weights(char::from(byte), |weight| ascii[usize::from(byte)] = weight);
        }
        let mut distinct = ascii.iter().copied().filter(|w| *w != 0);
        let common = distinct.next().filter(|first| distinct.all(|w| w == *first));
        Self { level, ascii, common }
    }

    /// Appends this level's runs for any text.
    fn append_text(&self, text: &str, out: &mut Vec<u8>) {
        let mut runs = Runs::begin(out);
        for character in text.chars() {
            match u8::try_from(character) {
                Ok(byte) if byte.is_ascii() => match self.ascii[usize::from(byte)] {
                    0 => {}
                    weight => runs.add(weight, 1),
                },
                _ => self.level.weights(character, |weight| runs.add(weight, 1)),
            }
        }
        runs.end();
    }

    /// Appends this level's runs for a text of ASCII characters, `weighed` of which have weights.
    fn append_ascii(&self, value: &[u8], weighed: usize, out: &mut Vec<u8>) {
        let mut runs = Runs::begin(out);
        if let Some(weight) = self.common {
            runs.add(weight, weighed as u32);
        } else {
            for weight in value.iter().map(|b| self.ascii[usize::from(*b)]).filter(|w| *w != 0) {
                runs.add(weight, 1);
            }
        }
        runs.end();
    }
}

/// Writes weights as runs: two bytes of weight, four of length.
struct Runs<'o> {
    out: &'o mut Vec<u8>,
    weight: u16,
    length: u32,
}

impl<'o> Runs<'o> {
    fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(LEVEL);
        Self { out, weight: 0, length: 0 }
    }

    #[inline]
    fn add(&mut self, weight: u16, length: u32) {
        if weight != self.weight {
            self.write();
            self.weight = weight;
        }
        self.length += length;
    }

    fn write(&mut self) {
        if self.length > 0 {
            self.out.extend_from_slice(&self.weight.to_be_bytes());
            self.out.extend_from_slice(&self.length.to_be_bytes());
            self.length = 0;
        }
    }

    fn end(mut self) {
        self.write();
    }
}
