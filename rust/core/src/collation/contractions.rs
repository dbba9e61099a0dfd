//! Sequences of characters that a collation weighs together, such as `ch` in Czech.

use super::codes::Codes;
use super::levels::PAGE;
use super::signatures::{Numbers, Signatures};
use super::writer::Padded;

/// Japanese marks that are weighed by the kana before them.
const FOLLOWERS: [u32; 5] = [0x309D, 0x309E, 0x30FC, 0x30FD, 0x30FE];

/// Number of ASCII characters.
pub(super) const ASCII: usize = 128;

/// The contractions of one table.
#[derive(Debug)]
pub(super) struct Contractions {
    /// By code point: the index in `lists` of the contractions that begin with it, plus one; 0 for none.
    heads: Vec<u16>,
    lists: Vec<List>,
    /// See [`Self::ascii_pairs`].
    ascii_pairs: Box<[u128; ASCII]>,
    has_followers: bool,
}

/// The contractions with one head.
#[derive(Debug, Default)]
struct List {
    /// The least second character.
    least: u32,
    /// For each second character from `least` on: the index in `units` of its first unit, plus one; 0 for none.
    places: Vec<u16>,
    /// By the second character, the longest first.
    units: Vec<Unit>,
}

impl List {
    /// Sorts the units, and notes the index of the first unit with each second character.
    fn sort(&mut self) {
        self.units.sort_by_key(|unit| (unit.second, usize::MAX - unit.rest.len()));
        self.least = self.units.first().map_or(0, |unit| unit.second);
        for (at, unit) in self.units.iter().enumerate().rev() {
            let offset = (unit.second - self.least) as usize;
            if self.places.len() <= offset {
                self.places.resize(offset + 1, 0);
            }
            self.places[offset] = at as u16 + 1;
        }
    }

    /// Returns the units with this second character, the longest first, followed by others.
    #[inline]
    fn from(&self, second: u32) -> &[Unit] {
        let place = self.places.get(second.wrapping_sub(self.least) as usize).copied().unwrap_or(0);
        usize::from(place).checked_sub(1).and_then(|place| self.units.get(place..)).unwrap_or_default()
    }
}

/// Weights of one contraction.
#[derive(Debug)]
pub(super) struct Unit {
    /// The second character.
    second: u32,
    /// The characters after the second.
    rest: Box<[u32]>,
    /// The codes of its first-level weights.
    pub(super) codes: Padded,
    /// Signature of its weights in the later levels.
    pub(super) signature: u32,
    /// Signature that its last character adds in the later levels, where a kana and a mark weigh together.
    follower: Option<u32>,
}

impl Contractions {
    /// Returns the contractions of a table, or none if it has none.
    pub(super) fn new(
        list: &[(Vec<u32>, Vec<Vec<u16>>)],
        codes: &Codes,
        signatures: &mut Signatures,
        numbers: &mut Numbers,
    ) -> Option<Self> {
        let greatest = list.iter().filter_map(|(text, _)| text.first()).max()?;
        let mut out = Self {
            heads: vec![0; *greatest as usize + 1],
            lists: Vec::new(),
            ascii_pairs: ascii_pairs(list),
            has_followers: false,
        };
        for (text, weights) in list {
            let (Some((head, tail)), Some((first, later))) = (text.split_first(), weights.split_first()) else {
                continue;
            };
            let Some((second, rest)) = tail.split_first() else { continue };
            let mut unit = Vec::new();
            for weight in first {
                codes.code(*weight, &mut unit);
            }
            let follower = match tail {
                [mark] if FOLLOWERS.contains(mark) => added(later, *head, signatures, numbers),
                _ => None,
            };
            out.has_followers |= follower.is_some();
            let signature = signatures.number(later, numbers);
            out.add(*head, Unit { second: *second, rest: rest.into(), codes: Padded::new(unit), signature, follower });
        }
        out.lists.iter_mut().for_each(List::sort);
        Some(out)
    }

    /// Adds a contraction after those with the same head.
    fn add(&mut self, head: u32, unit: Unit) {
        let place = &mut self.heads[head as usize];
        if *place == 0 {
            self.lists.push(List::default());
            *place = self.lists.len() as u16;
        }
        if let Some(list) = self.lists.get_mut(usize::from(*place) - 1) {
            list.units.push(unit);
        }
    }

    /// Returns for each ASCII character a bit for each character that may follow it in a contraction: one of these
    /// pairs is in each contraction.
    pub(super) fn ascii_pairs(&self) -> &[u128; ASCII] {
        &self.ascii_pairs
    }

    /// Returns true if a text of ASCII characters has a contraction.
    pub(super) fn are_in(&self, ascii: &[u8]) -> bool {
        let mut text = ascii.iter().copied().map(u32::from);
        while let Some(first) = text.next() {
            if self.at(first, text.clone()).is_some() {
                return true;
            }
        }
        false
    }

    /// Returns true if a contraction begins with this character.
    pub(super) fn begin_with(&self, code_point: u32) -> bool {
        self.heads.get(code_point as usize).is_some_and(|place| *place > 0)
    }

    /// Returns true if a contraction begins with a character of this page.
    pub(super) fn begin_on(&self, page: usize) -> bool {
        self.heads.iter().skip(page * PAGE).take(PAGE).any(|place| *place > 0)
    }

    /// Returns the longest contraction of a character and those after it, and the number of the latter that it takes.
    #[inline]
    pub(super) fn at(&self, first: u32, behind: impl Iterator<Item = u32> + Clone) -> Option<(&Unit, usize)> {
        let place = self.heads.get(first as usize).filter(|place| **place > 0)?;
        let mut rest = behind;
        let second = rest.next()?;
        let units = self.lists.get(usize::from(*place) - 1)?.from(second);
        let mut alike = units.iter().take_while(|unit| unit.second == second);
        let length = |unit: &Unit| unit.rest.len();
        let follows = |unit: &Unit| rest.clone().take(length(unit)).eq(unit.rest.iter().copied());
        let unit = alike.find(|unit| unit.rest.is_empty() || follows(unit))?;
        Some((unit, length(unit) + 1))
    }

    /// Returns the signature of a mark at the start of a text in the later levels, if it differs there.
    ///
    /// MySQL reads a text once for each level. At the start of a pass it takes the last character of the pass before
    /// for the preceding one.
    pub(super) fn follower_at_start(&self, mut text: impl DoubleEndedIterator<Item = u32>) -> Option<u32> {
        if !self.has_followers {
            return None;
        }
        let (first, last) = (text.next()?, text.next_back()?);
        self.at(last, std::iter::once(first)).filter(|(_, behind)| *behind == 1)?.0.follower
    }
}

/// Computes [`Contractions::ascii_pairs`].
fn ascii_pairs(list: &[(Vec<u32>, Vec<Vec<u16>>)]) -> Box<[u128; ASCII]> {
    let mut pairs = Box::new([0; ASCII]);
    let of_length = |two: bool| list.iter().map(|(text, _)| text).filter(move |text| (text.len() == 2) == two);
    // A longer contraction often contains one of two characters, as Hungarian `nny` does; then that pair is enough.
    for text in of_length(true).chain(of_length(false)).filter(|text| text.iter().all(|c| (*c as usize) < ASCII)) {
        let known = |two: &[u32]| matches!(*two, [a, b] if pairs[a as usize] >> b & 1 == 1);
        if let [first, second, ..] = *text.as_slice()
            && !text.windows(2).any(known)
        {
            pairs[first as usize] |= 1 << second;
        }
    }
    pairs
}

/// Returns the signature of the weights that follow those of a character in a contraction that begins with it.
fn added(later: &[Vec<u16>], head: u32, signatures: &mut Signatures, numbers: &mut Numbers) -> Option<u32> {
    let own = signatures.of(head);
    let mut rest = Vec::new();
    for (level, weights) in later.iter().enumerate() {
        let mut heads = Vec::new();
        signatures.weights(own, 1, level, |weight, _| heads.push(weight));
        rest.push(weights.strip_prefix(heads.as_slice())?.to_vec());
    }
    Some(signatures.number(&rest, numbers))
}
