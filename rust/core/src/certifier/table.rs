//! The hash map from write-set items to their last writers.
//!
//! Twelve bytes an item, five items to a cache line, probed line by line. The map is cut into shards by the hash's
//! upper bits, and each shard grows by itself, so that neither growth nor a sweep ever touches more than a thousandth
//! of it at once, and never needs twice its memory.

use super::seeds::Seeds;

/// Number of upper bits of the hash that choose the shard.
const SHARD_BITS: u32 = 10;
/// Number of shards.
pub(super) const SHARDS: usize = 1 << SHARD_BITS;
/// Items in a cache line.
const WIDTH: usize = 5;
/// A shard grows when more than this many of a hundred slots are used.
const MAX_LOAD: usize = 78;
/// And then to this load, so that memory stays within 20% of what is needed.
const GROWN_LOAD: usize = 64;

/// The bit that distinguishes versions from numbers.
const IS_VERSION: u32 = 1 << 31;

/// Last writer of an item: its version, or, where that is not known, its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark(u32);

impl Mark {
    /// The highest number that a mark can carry.
    pub(super) const MAX_NUMBER: u32 = IS_VERSION - 1;

    /// Makes a mark of the last writer's number, less the certifier's base; 0 for none.
    pub(super) fn of_number(number: u32) -> Self {
        Self(number.min(Self::MAX_NUMBER))
    }

    /// Makes a mark of the last writer's version.
    pub(super) fn of_version(index: u32) -> Self {
        Self(index | IS_VERSION)
    }

    /// Returns the index of the version, if there is one.
    pub(super) fn version(self) -> Option<u32> {
        (self.0 & IS_VERSION != 0).then_some(self.0 & !IS_VERSION)
    }

    /// Returns the number; it has no meaning for a version.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// A cache line of items, filled from its start. The keys are contiguous, so that they are compared at once.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Line {
    keys: [u64; WIDTH],
    marks: [Mark; WIDTH],
    used: u32,
}

const EMPTY: Line = Line { keys: [0; WIDTH], marks: [Mark(0); WIDTH], used: 0 };

impl Line {
    /// Returns the position of `key` in the line.
    fn position(&self, key: u64) -> Option<usize> {
        let mut equal = 0_u32;
        for (index, other) in self.keys.iter().enumerate() {
            equal |= u32::from(*other == key) << index;
        }
        equal &= (1 << self.used) - 1;
        (equal != 0).then_some(equal.trailing_zeros() as usize)
    }

    fn is_full(&self) -> bool {
        self.used as usize == WIDTH
    }

    fn push(&mut self, key: u64, mark: Mark) {
        let index = self.used as usize;
        if let (Some(place), Some(place_of_mark)) = (self.keys.get_mut(index), self.marks.get_mut(index)) {
            *place = key;
            *place_of_mark = mark;
            self.used += 1;
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u64, Mark)> + '_ {
        self.keys.iter().copied().zip(self.marks.iter().copied()).take(self.used as usize)
    }
}

#[derive(Debug, Default)]
struct Shard {
    lines: Vec<Line>,
    used: usize,
}

/// End of a search.
enum Found<'a> {
    /// The item was found.
    Present(&'a mut Mark),
    /// A line into which the item may be put.
    Absent(&'a mut Line),
    /// The shard is full.
    Full,
}

impl Shard {
    fn first_line(&self, hash: u64) -> usize {
        let fraction = u128::from(hash << SHARD_BITS);
        ((fraction * self.lines.len() as u128) >> 64) as usize
    }

    fn get(&self, hash: u64, key: u64) -> Option<Mark> {
        let (before, from) = self.lines.split_at_checked(self.first_line(hash))?;
        for line in from.iter().chain(before) {
            if let Some(position) = line.position(key) {
                return line.marks.get(position).copied();
            }
            if !line.is_full() {
                return None;
            }
        }
        None
    }

    fn find(&mut self, hash: u64, key: u64) -> Found<'_> {
        let first = self.first_line(hash);
        let Some((before, from)) = self.lines.split_at_mut_checked(first) else { return Found::Full };
        for line in from.iter_mut().chain(before) {
            if let Some(position) = line.position(key) {
                return line.marks.get_mut(position).map_or(Found::Full, Found::Present);
            }
            if !line.is_full() {
                return Found::Absent(line);
            }
        }
        Found::Full
    }

    fn has_room(&self) -> bool {
        (self.used + 1) * 100 <= self.lines.len() * WIDTH * MAX_LOAD
    }

    fn iter(&self) -> impl Iterator<Item = (u64, Mark)> + '_ {
        self.lines.iter().flat_map(Line::iter)
    }

    /// Moves every item that is not dropped into lines of the right number.
    fn rebuild(&mut self, seeds: Seeds, mut drop: impl FnMut(Mark) -> bool) {
        let mut kept = Vec::with_capacity(self.used);
        kept.extend(self.iter().filter(|(_, mark)| !drop(*mark)));
        let wanted = ((kept.len() + 1) * 100).div_ceil(WIDTH * GROWN_LOAD);
        self.lines = vec![EMPTY; wanted];
        self.used = kept.len();
        for (key, mark) in kept {
            if let Found::Absent(line) = self.find(seeds.hash(key), key) {
                line.push(key, mark);
            }
        }
    }
}

/// The certification info's items.
#[derive(Debug)]
pub(super) struct Table {
    shards: Vec<Shard>,
    seeds: Seeds,
}

impl Table {
    pub(super) fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Shard::default()).collect(), seeds: Seeds::default() }
    }

    /// Loads the cache line in which `key` is or would be, and returns something of it, so that the load is really
    /// made.
    pub(super) fn touch(&self, key: u64) -> u64 {
        let hash = self.seeds.hash(key);
        let shard = self.shards.get(shard_of(hash));
        shard.and_then(|shard| shard.lines.get(shard.first_line(hash))).map_or(0, |line| u64::from(line.used))
    }

    /// Returns the last writer of `key`.
    pub(super) fn get(&self, key: u64) -> Option<Mark> {
        let hash = self.seeds.hash(key);
        self.shards.get(shard_of(hash))?.get(hash, key)
    }

    /// Replaces the last writer of `key` and returns the previous one.
    ///
    /// If the shard is full, the items for which `drop` returns true are removed. It is called once for each item.
    pub(super) fn put(&mut self, key: u64, mark: Mark, drop: impl FnMut(Mark) -> bool) -> Option<Mark> {
        let hash = self.seeds.hash(key);
        let shard = self.shards.get_mut(shard_of(hash))?;
        let has_room = shard.has_room();
        match shard.find(hash, key) {
            Found::Present(place) => return Some(std::mem::replace(place, mark)),
            Found::Absent(line) if has_room => {
                line.push(key, mark);
                shard.used += 1;
                return None;
            }
            Found::Absent(_) | Found::Full => {}
        }
        shard.rebuild(self.seeds, drop);
        if let Found::Absent(line) = shard.find(hash, key) {
            line.push(key, mark);
            shard.used += 1;
        }
        None
    }

    /// Removes from one shard the items for which `drop` returns true. It is called once for each item.
    pub(super) fn sweep(&mut self, shard: usize, mut drop: impl FnMut(Mark) -> bool) {
        let Some(shard) = self.shards.get_mut(shard) else { return };
        let answers: Vec<bool> = shard.iter().map(|(_, mark)| drop(mark)).collect();
        if answers.contains(&true) {
            let mut answers = answers.into_iter();
            shard.rebuild(self.seeds, |_| answers.next().unwrap_or(false));
        }
    }

    /// Lowers every number, not below 0.
    pub(super) fn lower_numbers(&mut self, by: u32) {
        let lines = self.shards.iter_mut().flat_map(|shard| shard.lines.iter_mut());
        for mark in lines.flat_map(|line| line.marks.iter_mut()).filter(|mark| mark.version().is_none()) {
            *mark = Mark::of_number(mark.number().saturating_sub(by));
        }
    }

    /// Iterates over all items.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Mark)> + '_ {
        self.shards.iter().flat_map(Shard::iter)
    }

    /// Returns the number of items, including those that are dead but not swept yet.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.used).sum()
    }

    /// Returns the size in bytes.
    pub(super) fn memory(&self) -> usize {
        let lines: usize = self.shards.iter().map(|shard| shard.lines.capacity()).sum();
        lines * size_of::<Line>() + self.shards.capacity() * size_of::<Shard>()
    }
}

fn shard_of(hash: u64) -> usize {
    (hash >> (64 - SHARD_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn mark(number: u32) -> Mark {
        Mark::of_number(number)
    }

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0_u64..400, 1_u32..1000, 0_u8..20), 0..900)) {
            let mut table = Table::new();
            let mut plain: HashMap<u64, Mark> = HashMap::new();
            for (key, number, step) in steps {
                if step == 0 {
                    (0..SHARDS).for_each(|shard| table.sweep(shard, |mark| mark.number() < number));
                    plain.retain(|_, mark| mark.number() >= number);
                }
                prop_assert_eq!(table.get(key), plain.get(&key).copied());
                prop_assert_eq!(table.put(key, mark(number), |_| false), plain.insert(key, mark(number)));
                prop_assert_eq!(table.len(), plain.len());
            }
            let all: HashMap<u64, Mark> = table.iter().collect();
            prop_assert_eq!(all, plain);
        }
    }

    #[test]
    fn a_full_shard_drops_what_is_dead_before_it_grows() {
        let mut table = Table::new();
        for key in 0..200_000_u64 {
            table.put(key, mark(1), |_| true);
        }
        assert!(table.len() < 20_000, "{}", table.len());
    }
}
