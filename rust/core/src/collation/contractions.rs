//! Sequences of characters that a collation weighs together, such as `ch` in Czech.

use super::codes::Codes;
use super::signatures::{Numbers, Signatures};
use super::writer::Padded;

/// Japanese marks that are weighed by the kana before them.
const FOLLOWERS: [u32; 5] = [0x309D, 0x309E, 0x30FC, 0x30FD, 0x30FE];

/// How many ASCII characters there are.
const ASCII: usize = 128;

/// The contractions of one table.
#[derive(Debug)]
pub(super) struct Contractions {
    /// By code point: the place in `lists` of those that begin with it, plus one; 0 if none does.
    heads: Vec<u16>,
    lists: Vec<List>,
    /// For each ASCII character, a bit for each ASCII character that comes second behind it, by its last six bits.
    ascii: Box<[u64; ASCII]>,
    has_ascii: bool,
    has_followers: bool,
}

/// The contractions with one head.
#[derive(Debug, Default)]
struct List {
    /// The least second character.
    least: u32,
    /// For each character from that on: the place in `units` of the first that has it second, plus one; 0 if none has.
    places: Vec<u16>,
    /// By the second character, the longest first.
    units: Vec<Unit>,
}

impl List {
    /// Sorts the units, and notes where those with each second character begin.
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

    /// The units with this second character, the longest first, and others behind them.
    #[inline]
    fn from(&self, second: u32) -> &[Unit] {
        let place = self.places.get(second.wrapping_sub(self.least) as usize).copied().unwrap_or(0);
        usize::from(place).checked_sub(1).and_then(|place| self.units.get(place..)).unwrap_or_default()
    }
}

/// What one contraction weighs.
#[derive(Debug)]
pub(super) struct Unit {
    /// The second character.
    second: u32,
    /// The characters after the second.
    rest: Box<[u32]>,
    /// The codes of its first-level weights.
    pub(super) codes: Padded,
    /// What it weighs in the later levels.
    pub(super) signature: u32,
    /// What its last character adds in the later levels, where a kana and a mark weigh together.
    follower: Option<u32>,
}

impl Contractions {
    /// The contractions of a table, or none if it has none.
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
            ascii: Box::new([0; ASCII]),
            has_ascii: false,
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

    /// Adds a contraction behind those with its head.
    fn add(&mut self, head: u32, unit: Unit) {
        if let Some(seconds) = self.ascii.get_mut(head as usize)
            && unit.second < ASCII as u32
        {
            *seconds |= 1 << (unit.second % u64::BITS);
            self.has_ascii = true;
        }
        let place = &mut self.heads[head as usize];
        if *place == 0 {
            self.lists.push(List::default());
            *place = self.lists.len() as u16;
        }
        if let Some(list) = self.lists.get_mut(usize::from(*place) - 1) {
            list.units.push(unit);
        }
    }

    /// Whether a text of ASCII characters has a contraction.
    pub(super) fn are_in(&self, ascii: &[u8]) -> bool {
        // The lowest bit says that two characters may begin one.
        let may_begin = |two: &[u8]| match *two {
            [a, b] => self.ascii[usize::from(a) % ASCII] >> (u32::from(b) % u64::BITS),
            _ => 0,
        };
        // Most texts have none: that is found without a branch for each character.
        self.has_ascii && ascii.windows(2).fold(0, |found, two| found | may_begin(two)) & 1 == 1 && {
            let mut places = ascii.windows(2).enumerate().filter(|(_, two)| may_begin(two) & 1 == 1);
            places.any(|(at, _)| {
                let mut text = ascii.get(at..).unwrap_or_default().iter().copied().map(u32::from);
                text.next().is_some_and(|first| self.at(first, text).is_some())
            })
        }
    }

    /// Whether a contraction begins with this character.
    pub(super) fn begin_with(&self, code_point: u32) -> bool {
        self.heads.get(code_point as usize).is_some_and(|place| *place > 0)
    }

    /// The longest contraction of a character and those behind it, and how many of those it takes.
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

    /// What a mark at the start of a text weighs in the later levels, if it weighs otherwise there.
    ///
    /// MySQL goes through a text once for each level, and takes the last character of the pass before for the one before the first.
    pub(super) fn follower_at_start(&self, mut text: impl DoubleEndedIterator<Item = u32>) -> Option<u32> {
        if !self.has_followers {
            return None;
        }
        let (first, last) = (text.next()?, text.next_back()?);
        self.at(last, std::iter::once(first)).filter(|(_, behind)| *behind == 1)?.0.follower
    }
}

/// The signature of what stands behind the weights of a character in a contraction that begins with it.
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
