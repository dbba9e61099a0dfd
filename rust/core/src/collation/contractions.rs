//! Sequences of characters that a collation weighs together, such as `ch` in Czech.

use std::collections::HashMap;

use super::codes::Codes;

/// Characters are looked up by their last bits first.
const FLAGS: usize = 4096;
/// Some contraction begins with such a character.
const HEAD: u8 = 1;
/// Some contraction has such a character in second place.
const SECOND: u8 = 2;

/// The contractions of one table.
#[derive(Debug)]
pub(super) struct Contractions {
    flags: Box<[u8; FLAGS]>,
    longest: usize,
    units: HashMap<Vec<u32>, Unit>,
}

/// What one contraction weighs.
#[derive(Debug)]
pub(super) struct Unit {
    /// The codes of its first-level weights.
    pub(super) codes: Vec<u8>,
    /// The weights of the levels after the first.
    pub(super) later: Vec<Vec<u16>>,
}

impl Contractions {
    /// The contractions of a table, or none if it has none.
    pub(super) fn new(list: &[(Vec<u32>, Vec<Vec<u16>>)], codes: &Codes) -> Option<Self> {
        let longest = list.iter().map(|(text, _)| text.len()).max()?;
        let mut out = Self { flags: Box::new([0; FLAGS]), longest, units: HashMap::new() };
        for (text, weights) in list {
            for (place, flag) in [(0, HEAD), (1, SECOND)] {
                if let Some(code_point) = text.get(place) {
                    out.flags[*code_point as usize % FLAGS] |= flag;
                }
            }
            let mut units = Vec::new();
            for weight in weights.first().into_iter().flatten() {
                codes.code(*weight, &mut units);
            }
            let later = weights.iter().skip(1).cloned().collect();
            out.units.insert(text.clone(), Unit { codes: units, later });
        }
        Some(out)
    }

    /// Whether text of ASCII characters may have a contraction.
    pub(super) fn may_be_in(&self, ascii: &[u8]) -> bool {
        let flag = |byte: &u8| self.flags[usize::from(*byte)];
        ascii.iter().zip(ascii.iter().skip(1)).any(|(a, b)| flag(a) & HEAD != 0 && flag(b) & SECOND != 0)
    }

    /// The longest contraction that a text begins with, and its length.
    #[inline]
    pub(super) fn at(&self, text: &[u32]) -> Option<(&Unit, usize)> {
        let [first, second, ..] = text else { return None };
        let flag = |code_point: &u32| self.flags[*code_point as usize % FLAGS];
        if flag(first) & HEAD == 0 || flag(second) & SECOND == 0 {
            return None;
        }
        let longest = self.longest.min(text.len());
        (2..=longest).rev().find_map(|n| Some((self.units.get(text.get(..n)?)?, n)))
    }
}

/// What a text is weighed by: single characters, and contractions.
pub(super) enum Piece<'t> {
    /// A character.
    One(u32),
    /// Characters that weigh together.
    Together(&'t Unit),
}

/// Cuts a text into what weighs together, as a server does: the longest contraction first, from the left.
pub(super) fn pieces<'t>(contractions: Option<&'t Contractions>, text: &'t [u32]) -> impl Iterator<Item = Piece<'t>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (first, after) = rest.split_first()?;
        if let Some((unit, length)) = contractions.and_then(|all| all.at(rest)) {
            rest = rest.get(length..).unwrap_or_default();
            return Some(Piece::Together(unit));
        }
        rest = after;
        Some(Piece::One(*first))
    })
}
