//! The hash map from write-set items to who wrote them last.
//!
//! Sixteen bytes an entry, four entries to a cache line, probed line by line. The map is cut into shards by the hash's
//! upper bits, and each shard grows by itself, so that neither growth nor a sweep ever touches more than a thousandth
//! of it at once, and never needs twice its memory.

use super::seeds::Seeds;

/// How many upper bits of the hash choose the shard.
const SHARD_BITS: u32 = 10;
/// How many shards there are.
pub(super) const SHARDS: usize = 1 << SHARD_BITS;
/// Entries in a cache line.
const WIDTH: usize = 4;
/// A shard grows when more than this many of a hundred slots are used.
const MAX_LOAD: usize = 85;
/// And then to this load, so that memory stays within 20% of what is needed.
const GROWN_LOAD: usize = 70;

/// The version field of an unused slot.
const UNUSED: u32 = u32::MAX;
/// The version field of an item whose version is not known.
pub(super) const NO_VERSION: u32 = u32::MAX - 1;

/// What is known of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    /// The number of its last writer less the certifier's base; 0 for none.
    pub number: u32,
    /// The version of its last writer, or [`NO_VERSION`].
    pub version: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u64,
    slot: Slot,
}

const EMPTY: Entry = Entry { key: 0, slot: Slot { number: 0, version: UNUSED } };

impl Entry {
    fn is_used(&self) -> bool {
        self.slot.version != UNUSED
    }
}

#[derive(Debug, Clone)]
#[repr(align(64))]
struct Line([Entry; WIDTH]);

#[derive(Debug, Default)]
struct Shard {
    lines: Vec<Line>,
    used: usize,
}

/// Where a search ended.
enum Found<'a> {
    /// At the item's own entry.
    Present(&'a mut Entry),
    /// At an unused slot where it may be put.
    Absent(&'a mut Entry),
    /// There is no room.
    Full,
}

impl Shard {
    fn first_line(&self, hash: u64) -> usize {
        let fraction = u128::from(hash << SHARD_BITS);
        ((fraction * self.lines.len() as u128) >> 64) as usize
    }

    fn get(&self, hash: u64, key: u64) -> Option<Slot> {
        let first = self.first_line(hash);
        let (before, from) = self.lines.split_at_checked(first)?;
        for line in from.iter().chain(before) {
            let mut ends = false;
            for entry in &line.0 {
                if entry.key == key && entry.is_used() {
                    return Some(entry.slot);
                }
                ends |= !entry.is_used();
            }
            if ends {
                return None;
            }
        }
        None
    }

    /// Lines are filled from the left, so the first unused slot ends the search.
    fn find(&mut self, hash: u64, key: u64) -> Found<'_> {
        let first = self.first_line(hash);
        let Some((before, from)) = self.lines.split_at_mut_checked(first) else { return Found::Full };
        for line in from.iter_mut().chain(before) {
            for entry in &mut line.0 {
                if !entry.is_used() {
                    return Found::Absent(entry);
                }
                if entry.key == key {
                    return Found::Present(entry);
                }
            }
        }
        Found::Full
    }

    fn has_room(&self) -> bool {
        (self.used + 1) * 100 <= self.lines.len() * WIDTH * MAX_LOAD
    }

    /// Moves every entry that is not dropped into lines of the right number.
    fn rebuild(&mut self, seeds: Seeds, mut drop: impl FnMut(Slot) -> bool) {
        let mut kept: Vec<Entry> = Vec::with_capacity(self.used);
        for entry in self.lines.iter().flat_map(|line| line.0.iter()).filter(|entry| entry.is_used()) {
            if !drop(entry.slot) {
                kept.push(*entry);
            }
        }
        let wanted = ((kept.len() + 1) * 100).div_ceil(WIDTH * GROWN_LOAD);
        self.lines = vec![Line([EMPTY; WIDTH]); wanted];
        self.used = kept.len();
        for entry in kept {
            if let Found::Absent(place) = self.find(seeds.hash(entry.key), entry.key) {
                *place = entry;
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

    /// Loads the cache line where `key` is or would be, and gives something of it, so that the load is really made.
    pub(super) fn touch(&self, key: u64) -> u64 {
        let hash = self.seeds.hash(key);
        let shard = self.shards.get(shard_of(hash));
        shard.and_then(|shard| shard.lines.get(shard.first_line(hash))).map_or(0, |line| line.0[0].key)
    }

    /// What is known of `key`.
    pub(super) fn get(&self, key: u64) -> Option<Slot> {
        let hash = self.seeds.hash(key);
        self.shards.get(shard_of(hash))?.get(hash, key)
    }

    /// Replaces what is known of `key` and gives what was.
    ///
    /// If the shard is full, those entries leave it that `drop` answers yes to, which is asked once for each.
    pub(super) fn put(&mut self, key: u64, slot: Slot, drop: impl FnMut(Slot) -> bool) -> Option<Slot> {
        let hash = self.seeds.hash(key);
        let shard = self.shards.get_mut(shard_of(hash))?;
        let has_room = shard.has_room();
        match shard.find(hash, key) {
            Found::Present(entry) => return Some(std::mem::replace(&mut entry.slot, slot)),
            Found::Absent(place) if has_room => {
                *place = Entry { key, slot };
                shard.used += 1;
                return None;
            }
            Found::Absent(_) | Found::Full => {}
        }
        shard.rebuild(self.seeds, drop);
        if let Found::Absent(place) = shard.find(hash, key) {
            *place = Entry { key, slot };
            shard.used += 1;
        }
        None
    }

    /// Removes from one shard the entries that `drop` answers yes to, which is asked once for each.
    pub(super) fn sweep(&mut self, shard: usize, mut drop: impl FnMut(Slot) -> bool) {
        let Some(shard) = self.shards.get_mut(shard) else { return };
        let mut dropped = Vec::new();
        let mut any = false;
        for entry in shard.lines.iter().flat_map(|line| line.0.iter()).filter(|entry| entry.is_used()) {
            let dead = drop(entry.slot);
            any |= dead;
            dropped.push(dead);
        }
        if any {
            let mut answers = dropped.into_iter();
            shard.rebuild(self.seeds, |_| answers.next().unwrap_or(false));
        }
    }

    /// Changes every entry's number.
    pub(super) fn renumber(&mut self, change: impl Fn(u32) -> u32) {
        for shard in &mut self.shards {
            for entry in shard.lines.iter_mut().flat_map(|line| line.0.iter_mut()) {
                entry.slot.number = change(entry.slot.number);
            }
        }
    }

    /// Every item.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Slot)> + '_ {
        let entries = self.shards.iter().flat_map(|shard| shard.lines.iter()).flat_map(|line| line.0.iter());
        entries.filter(|entry| entry.is_used()).map(|entry| (entry.key, entry.slot))
    }

    /// How many items there are, those included that are dead but not swept yet.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.used).sum()
    }

    /// The bytes held.
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

    fn slot(number: u32) -> Slot {
        Slot { number, version: NO_VERSION }
    }

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0_u64..400, 1_u32..1000, 0_u8..20), 0..900)) {
            let mut table = Table::new();
            let mut plain: HashMap<u64, Slot> = HashMap::new();
            for (key, number, step) in steps {
                if step == 0 {
                    (0..SHARDS).for_each(|shard| table.sweep(shard, |slot| slot.number < number));
                    plain.retain(|_, slot| slot.number >= number);
                }
                prop_assert_eq!(table.get(key), plain.get(&key).copied());
                prop_assert_eq!(table.put(key, slot(number), |_| false), plain.insert(key, slot(number)));
                prop_assert_eq!(table.len(), plain.len());
            }
            let all: HashMap<u64, Slot> = table.iter().collect();
            prop_assert_eq!(all, plain);
        }
    }

    #[test]
    fn a_full_shard_drops_what_is_dead_before_it_grows() {
        let mut table = Table::new();
        for key in 0..200_000_u64 {
            table.put(key, slot(1), |_| true);
        }
        assert!(table.len() < 20_000, "{}", table.len());
    }
}
