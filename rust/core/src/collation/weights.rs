//! Unicode weights, and the compact form that equality needs.
//!
//! Two equal texts share the sequence of their characters' weights, level by level, without empty weights. The form is
//! that sequence in a compact code: a first-level weight that an ASCII character has is that character (in lower case
//! where case does not count), any other weight is three bytes with the high bit set. So most text keeps its length,
//! and a space at the end is visible in the bytes. Later levels, which rarely change, are written as runs.
//!
//! A collation that pads compares as if the shorter text ended in spaces, level by level; so each level loses the weights of spaces
//! at its end. MariaDB's newest collations without padding still pad the levels after the first.

use super::ascii::{self, Ascii};
use super::bytes::strip_trailing;
use super::codes::Codes;
use super::contractions::Contractions;
use super::levels::Level;
use super::raw::Raw;
use super::runs::{Finder, Run, Runs, write_two_weights};
use super::signatures::{Numbers, Signatures};
use super::writer::Writer;

/// The levels that a collation compares: bit n for level n + 1; the first is always compared.
pub(super) type Levels = u8;

/// Levels of a table's weights that a collation compares.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    /// The levels.
    pub(super) levels: Levels,
    /// True if spaces at the end are ignored in the first level.
    pub(super) pads_first: bool,
    /// True if spaces at the end are ignored in the later levels.
    pub(super) pads_later: bool,
}

/// Bytes that are enough for the later levels of most texts.
const ROOM: usize = 64;

/// The weights of one table.
#[derive(Debug)]
pub(super) struct Tables {
    first: Codes,
    later: Vec<Later>,
    signatures: Signatures,
    contractions: Option<Contractions>,
    ascii: Ascii,
    ascii_regular: bool,
}

/// A level after the first: its weights of ASCII characters.
#[derive(Debug)]
struct Later {
    number: usize,
    /// The one weight of each ASCII byte; 0 for those without.
    ascii: [u16; 256],
    /// Pattern that these weights follow.
    ascii_weights: Regular,
    /// True if no ASCII character has two weights.
    regular: bool,
}

/// Pattern of the weights of ASCII characters.
#[derive(Debug)]
enum Regular {
    /// No character has a weight.
    None,
    /// Characters with a weight in the first level have this one, and no other character has one.
    Common(u16),
    /// Printable characters have the first weight, but capitals the second.
    Cases([u16; 2]),
    /// No pattern.
    Listed,
}

impl Tables {
    pub(super) fn new(raw: &Raw) -> Self {
        let empty = Level::default();
        let mut first = Codes::new(raw.levels.first().unwrap_or(&empty));
        let later: Vec<_> =
            raw.levels.iter().enumerate().skip(1).map(|(n, level)| Later::new(n, level, &first)).collect();
        let mut numbers = Numbers::default();
        let mut signatures = Signatures::new(raw.levels.get(1..).unwrap_or_default(), &mut numbers);
        let contractions = Contractions::new(&raw.contractions, &first, &mut signatures, &mut numbers);
        let begins = |code_point| contractions.as_ref().is_some_and(|all| all.begin_with(code_point));
        let of_page = |page| {
            let contracts = contractions.as_ref().is_some_and(|all| all.begin_on(page));
            signatures.of_page(page).filter(|_| !contracts)
        };
        first.mark(|code_point| signatures.of(code_point), begins, of_page);
        let ascii = Ascii::new(first.of_ascii(), contractions.as_ref().map(Contractions::ascii_pairs));
        let ascii_regular = first.ascii_regular() && later.iter().all(|level| level.regular);
        Self { first, later, signatures, contractions, ascii, ascii_regular }
    }

    fn later(&self, levels: Levels) -> impl Iterator<Item = &Later> {
        self.later.iter().filter(move |level| levels >> level.number & 1 == 1)
    }

    /// Appends the form of a text of ASCII characters only; appends nothing and returns false if the text has
    /// contractions or characters with two weights.
    #[inline(never)]
    pub(super) fn append_ascii(&self, value: &[u8], by: Comparison, out: &mut Vec<u8>) -> bool {
        if !self.ascii_regular {
            return false;
        }
        let start = out.len();
        let may_contract = self.ascii.append(value, out);
        if may_contract && self.contractions.as_ref().is_some_and(|all| all.are_in(value)) {
            out.truncate(start);
            return false;
        }
        let weighed = out.len() - start;
        if by.pads_first {
            strip_trailing(out, start, self.first.space());
        }
        if by.levels > 1 {
            self.append_ascii_later(value, weighed as u32, by, out);
        }
        true
    }

    /// Appends the later levels of a text of ASCII characters, of which `weighed` have a weight in the first.
    #[inline]
    fn append_ascii_later(&self, value: &[u8], weighed: u32, by: Comparison, out: &mut Vec<u8>) {
        let mut form = Writer::behind(out, ROOM);
        for later in self.later(by.levels) {
            let pad = later.pad(by.pads_later);
            if let Regular::Cases(weights) = later.ascii_weights
                && let Some(capitals) = ascii::capitals(value)
            {
                write_two_weights(&mut form, (capitals, value.len() as u32), weights, pad);
                continue;
            }
            let mut weights = Runs::begin(&mut form);
            match later.ascii_weights {
                Regular::None => {}
                Regular::Common(weight) => weights.add(weight, weighed),
                Regular::Cases(_) | Regular::Listed => weights.add_bytes(value, &later.ascii),
            }
            weights.end(pad);
        }
        form.end();
    }

    /// Appends the form of a text; `runs` is a reusable buffer.
    #[inline]
    pub(super) fn append_text(
        &self,
        text: impl DoubleEndedIterator<Item = u32> + Clone,
        most: usize,
        by: Comparison,
        runs: &mut Vec<Run>,
        out: &mut Vec<u8>,
    ) {
        let mut form = Writer::behind(out, 3 * most + 2 * ROOM);
        let mut signatures = Finder::new(runs, most, u32::MAX);
        if by.levels == 1 {
            self.append_first(text, &mut form, |_| ());
        } else {
            self.append_first(text, &mut form, |signature| signatures.add(signature));
        }
        if by.pads_first {
            form.strip_trailing(self.first.space());
        }
        for later in self.later(by.levels) {
            let mut weights = Runs::begin(&mut form);
            for (signature, count) in signatures.found() {
                self.signatures.weights(signature, count, later.number - 1, |weight, times| weights.add(weight, times));
            }
            weights.end(later.pad(by.pads_later));
        }
        form.end();
    }

    /// Appends the first level, and calls `f` with the signature of each character or contraction.
    ///
    /// As a server does, the longest contraction is taken first, from the left.
    #[inline]
    fn append_first(
        &self,
        mut text: impl DoubleEndedIterator<Item = u32> + Clone,
        out: &mut Writer<'_>,
        mut f: impl FnMut(u32),
    ) {
        let mut at_start = self.contractions.as_ref().and_then(|all| all.follower_at_start(text.clone()));
        while let Some(code_point) = text.next() {
            let signature = if let Some(signature) = self.first.append_plain(code_point, out) {
                signature
            } else if let Some((unit, behind)) =
                self.contractions.as_ref().and_then(|all| all.at(code_point, text.clone()))
            {
                unit.codes.append_to(out);
                for _ in 0..behind {
                    text.next();
                }
                unit.signature
            } else {
                self.first.append_one(code_point, out);
                self.signatures.of(code_point)
            };
            f(at_start.take().unwrap_or(signature));
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
        let ascii_weights = match distinct.next() {
            None => Regular::None,
            Some(first) if like_first && distinct.all(|weight| weight == first) => Regular::Common(first),
            Some(_) => cases(&ascii).map_or(Regular::Listed, Regular::Cases),
        };
        Self { number, ascii, ascii_weights, regular }
    }

    /// Returns the weight that is left out at the end.
    fn pad(&self, pads: bool) -> Option<u16> {
        pads.then_some(self.ascii[usize::from(b' ')])
    }
}

/// Returns the weight of all printable characters but capitals, and that of capitals, if there are just these two.
fn cases(weights: &[u16; 256]) -> Option<[u16; 2]> {
    let [other, capital] = [b'a', b'A'].map(|byte| weights[usize::from(byte)]);
    let expected = |byte: u8| if byte.is_ascii_uppercase() { capital } else { other };
    let are = (b' '..=b'~').all(|byte| weights[usize::from(byte)] == expected(byte));
    (are && capital != other && capital != 0 && other != 0).then_some([other, capital])
}
