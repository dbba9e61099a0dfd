//! Unicode weights, and the compact form that equality needs of them.
//!
//! What two equal texts share is the sequence of their characters' weights, level by level, weights of nothing left out. The form is
//! that sequence in a code of our own: a first-level weight that an ASCII character has is that character (in lower case where case
//! does not count), any other weight three bytes with the high bit set. So most text keeps its length, and a space at the end is seen
//! in the bytes. Later levels, which rarely change, are written as runs.
//!
//! A collation that pads compares as if the shorter text ended in spaces, level by level; so each level loses the weights of spaces
//! at its end. MariaDB's newest collations without padding still pad the levels after the first.

use super::archive::Raw;
use super::codes::Codes;
use super::contractions::{Contractions, Piece, pieces};
use super::levels::Level;
use super::signatures::{Numbers, Signatures};

/// Stands before each later level; neither a code nor a run begins with it.
const LEVEL: u8 = 0xFF;

/// The levels that a collation compares: bit n for level n + 1; the first is always compared.
pub(super) type Levels = u8;

/// What a collation compares of a table's weights.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    /// The levels.
    pub(super) levels: Levels,
    /// Whether spaces at the end count for nothing in the first level.
    pub(super) pads_first: bool,
    /// Whether they count for nothing in the later levels.
    pub(super) pads_later: bool,
}

/// A signature, and how many characters one after the other have it.
pub(super) type Run = (u32, u32);

/// The weights of one table.
#[derive(Debug)]
pub(super) struct Tables {
    first: Codes,
    later: Vec<Later>,
    signatures: Signatures,
    contractions: Option<Contractions>,
    ascii_regular: bool,
}

/// A level after the first: its weights of ASCII characters.
#[derive(Debug)]
struct Later {
    number: usize,
    /// The one weight of each ASCII byte; 0 for those without.
    ascii: [u16; 256],
    /// The weight that all ASCII characters share, if they do.
    common: Option<u16>,
    /// Whether no ASCII character has two weights.
    regular: bool,
}

impl Tables {
    pub(super) fn new(raw: &Raw) -> Self {
        let empty = Level::default();
        let first = Codes::new(raw.levels.first().unwrap_or(&empty));
        let later: Vec<_> =
            raw.levels.iter().enumerate().skip(1).map(|(n, level)| Later::new(n, level, &first)).collect();
        let mut numbers = Numbers::default();
        let mut signatures = Signatures::new(raw.levels.get(1..).unwrap_or_default(), &mut numbers);
        let contractions = Contractions::new(&raw.contractions, &first, &mut signatures, &mut numbers);
        let ascii_regular = first.ascii_regular() && later.iter().all(|level| level.regular);
        Self { first, later, signatures, contractions, ascii_regular }
    }

    /// Whether a text has to be taken apart into characters first.
    pub(super) fn has_contractions(&self) -> bool {
        self.contractions.is_some()
    }

    /// Whether [`Self::append_ascii`] may be called for this text of ASCII characters.
    pub(super) fn is_simple(&self, ascii: &[u8]) -> bool {
        self.ascii_regular && self.contractions.as_ref().is_none_or(|all| !all.are_in(ascii))
    }

    fn later(&self, levels: Levels) -> impl Iterator<Item = &Later> {
        self.later.iter().filter(move |level| levels >> level.number & 1 == 1)
    }

    /// Appends the form of a text of ASCII characters only.
    pub(super) fn append_ascii(&self, value: &[u8], by: Comparison, out: &mut Vec<u8>) {
        let start = out.len();
        self.first.append_ascii(value, out);
        let weighed = out.len() - start;
        if by.pads_first {
            super::strip_trailing(out, start, self.first.space());
        }
        for later in self.later(by.levels) {
            later.append_ascii(value, weighed, by.pads_later, out);
        }
    }

    /// Appends the form of any text without contractions, in a collation that compares the first level only.
    pub(super) fn append_characters(&self, text: impl Iterator<Item = u32>, by: Comparison, out: &mut Vec<u8>) {
        let start = out.len();
        for code_point in text {
            self.first.append_one(code_point, out);
        }
        if by.pads_first {
            super::strip_trailing(out, start, self.first.space());
        }
    }

    /// Appends the form of any text; `runs` is room to work in.
    pub(super) fn append_text(&self, text: &[u32], by: Comparison, runs: &mut Vec<Run>, out: &mut Vec<u8>) {
        let start = out.len();
        out.reserve(text.len() * 3);
        if by.levels == 1 {
            for piece in pieces(self.contractions.as_ref(), text) {
                match piece {
                    Piece::One(code_point) => self.first.append_one(code_point, out),
                    Piece::Together(unit) => out.extend_from_slice(&unit.codes),
                }
            }
            if by.pads_first {
                super::strip_trailing(out, start, self.first.space());
            }
            return;
        }
        runs.clear();
        let mut run = (u32::MAX, 0);
        let mut at_start = self.contractions.as_ref().and_then(|all| all.follower_at_start(text));
        for piece in pieces(self.contractions.as_ref(), text) {
            let signature = match piece {
                Piece::One(code_point) => {
                    self.first.append_one(code_point, out);
                    self.signatures.of(code_point)
                }
                Piece::Together(unit) => {
                    out.extend_from_slice(&unit.codes);
                    unit.signature
                }
            };
            let signature = at_start.take().unwrap_or(signature);
            if signature == run.0 {
                run.1 += 1;
            } else {
                runs.push(run);
                run = (signature, 1);
            }
        }
        runs.push(run);
        if by.pads_first {
            super::strip_trailing(out, start, self.first.space());
        }
        for later in self.later(by.levels) {
            let mut written = Runs::begin(out);
            // The first run is none.
            for (signature, count) in runs.iter().skip(1) {
                self.signatures
                    .weights(*signature, *count, later.number - 1, |weight, times| written.add(weight, times));
            }
            written.end(later.pad(by.pads_later));
        }
    }
}

impl Later {
    fn new(number: usize, level: &Level, first: &Codes) -> Self {
        let mut ascii = [0; 256];
        let mut regular = true;
        let mut like_first = true;
        for byte in 0..128_u8 {
            let mut count = 0;
            level.weights(u32::from(byte), |weight| {
                ascii[usize::from(byte)] = weight;
                count += 1;
            });
            regular &= count < 2;
            like_first &= (count == 1) == first.weighs(byte);
        }
        let mut distinct = ascii.iter().copied().filter(|w| *w != 0);
        let common = distinct.next().filter(|first| like_first && distinct.all(|w| w == *first));
        Self { number, ascii, common, regular }
    }

    /// The weight that is left out at the end.
    fn pad(&self, pads: bool) -> Option<u16> {
        pads.then_some(self.ascii[usize::from(b' ')])
    }

    /// Appends this level's runs for a text of ASCII characters, `weighed` of which have weights.
    fn append_ascii(&self, value: &[u8], weighed: usize, pads: bool, out: &mut Vec<u8>) {
        let mut runs = Runs::begin(out);
        if let Some(weight) = self.common {
            runs.add(weight, weighed as u32);
        } else {
            for byte in value {
                runs.add_one(self.ascii[usize::from(*byte)]);
            }
        }
        runs.end(self.pad(pads));
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

    /// Adds a weight, or nothing if it is 0.
    #[inline]
    fn add_one(&mut self, weight: u16) {
        if weight == self.weight {
            self.length += u32::from(weight != 0);
        } else if weight != 0 {
            self.write();
            (self.weight, self.length) = (weight, 1);
        }
    }

    fn write(&mut self) {
        if self.length > 0 {
            let mut run = [0; 6];
            run[..2].copy_from_slice(&self.weight.to_be_bytes());
            run[2..].copy_from_slice(&self.length.to_be_bytes());
            self.out.extend_from_slice(&run);
            self.length = 0;
        }
    }

    /// Writes the last run, unless it is of the weight that spaces have.
    fn end(mut self, pad: Option<u16>) {
        if pad != Some(self.weight) {
            self.write();
        }
    }
}
