//! The versions that items were last written at: the set that the writer had executed, and the writer itself.
//!
//! A version is kept once for all items of its transaction, packed into a few bytes, and counts the items that have it.
//! The question whether the stable set makes it dead is answered on demand, and the answer is kept.

use std::collections::BTreeMap;

use crate::gtid::{Gtid, GtidSet, Intervals, Origin};

/// Packed bytes that need no allocation of their own.
const INLINE: usize = 30;
/// Versions in a chunk: the slab grows without moving what it holds.
const CHUNK: usize = 4096;
/// The epoch of a version that is dead.
const DEAD: u32 = u32::MAX;
/// Origins that a snapshot's intervals are looked up for in advance.
const NEAR: usize = 8;

/// A set as bytes: for each origin its name's index, the number of intervals, then gap and length of each, as varints.
#[derive(Debug)]
enum Packed {
    Inline(u8, [u8; INLINE]),
    Boxed(Box<[u8]>),
}

impl Packed {
    fn new(bytes: &[u8]) -> Self {
        let mut inline = [0; INLINE];
        if let Some(place) = inline.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
            return Self::Inline(bytes.len() as u8, inline);
        }
        Self::Boxed(bytes.into())
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Inline(length, bytes) => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Self::Boxed(bytes) => bytes,
        }
    }

    fn allocated(&self) -> usize {
        match self {
            Self::Inline(..) => 0,
            Self::Boxed(bytes) => bytes.len(),
        }
    }
}

#[derive(Debug)]
struct Version {
    /// Number of items that have this version.
    items: u32,
    /// The collection up to which the version is known to be alive, or [`DEAD`].
    epoch: u32,
    /// The writer's number; -1 for none.
    number: i64,
    set: Packed,
}

/// A GTID set prepared for many questions.
pub(super) struct Reference<'a> {
    set: &'a GtidSet,
    near: [Option<&'a Intervals>; NEAR],
}

/// The versions of the certification info.
#[derive(Debug, Default)]
pub(super) struct Versions {
    chunks: Vec<Vec<Version>>,
    free: Vec<u32>,
    names: Vec<Origin>,
    numbers: BTreeMap<Origin, u32>,
    stable: GtidSet,
    epoch: u32,
    scratch: Vec<u8>,
    boxed: usize,
}

impl Versions {
    /// Adds a version that no item has yet; call [`hold`](Self::hold) before the first item gets it.
    pub(super) fn keep(&mut self, snapshot: &GtidSet, own: Option<&Gtid>, number: i64) -> u32 {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        for (origin, intervals) in snapshot.by_origin() {
            self.pack(&mut bytes, &origin, intervals.iter());
        }
        if let Some(own) = own.filter(|own| !snapshot.contains(own)) {
            self.pack(&mut bytes, &own.origin.without_server(), std::iter::once((own.number, own.number)));
        }
        let version = Version { items: 0, epoch: self.epoch, number, set: Packed::new(&bytes) };
        self.boxed += version.set.allocated();
        self.scratch = bytes;
        self.place(version)
    }

    fn pack(&mut self, bytes: &mut Vec<u8>, origin: &Origin, intervals: impl Iterator<Item = (u64, u64)> + Clone) {
        put_varint(bytes, u64::from(self.name(origin)));
        put_varint(bytes, intervals.clone().count() as u64);
        let mut end = 0;
        for (first, last) in intervals {
            put_varint(bytes, first - end);
            put_varint(bytes, last - first);
            end = last;
        }
    }

    fn name(&mut self, origin: &Origin) -> u32 {
        if let Some(number) = self.numbers.get(origin) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(origin.clone());
        self.numbers.insert(origin.clone(), number);
        number
    }

    fn place(&mut self, version: Version) -> u32 {
        if let Some(index) = self.free.pop() {
            if let Some(place) = self.get_mut(index) {
                *place = version;
            }
            return index;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let index = (self.chunks.len() - 1) * CHUNK;
        self.chunks.last_mut().map_or(0, |chunk| {
            chunk.push(version);
            (index + chunk.len() - 1) as u32
        })
    }

    fn get(&self, index: u32) -> Option<&Version> {
        self.chunks.get(index as usize / CHUNK)?.get(index as usize % CHUNK)
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Version> {
        self.chunks.get_mut(index as usize / CHUNK)?.get_mut(index as usize % CHUNK)
    }

    /// Loads a version into the cache, and returns something of it.
    pub(super) fn touch(&self, index: u32) -> u64 {
        self.get(index).map_or(0, |version| u64::from(version.items))
    }

    /// Returns the number of the transaction whose version it is; -1 for none.
    pub(super) fn number(&self, index: u32) -> i64 {
        self.get(index).map_or(-1, |version| version.number)
    }

    /// Counts `items` more items that have the version.
    pub(super) fn hold(&mut self, index: u32, items: u32) {
        if let Some(version) = self.get_mut(index) {
            version.items += items;
        }
    }

    /// Counts one item less, and frees the version if it was the last.
    pub(super) fn release(&mut self, index: u32) {
        let Some(version) = self.get_mut(index) else { return };
        version.items = version.items.saturating_sub(1);
        if version.items == 0 {
            let old = std::mem::replace(&mut version.set, Packed::Inline(0, [0; INLINE]));
            self.boxed -= old.allocated();
            self.free.push(index);
        }
    }

    /// Prepares a set for [`is_within`](Self::is_within).
    pub(super) fn reference<'a>(&self, set: &'a GtidSet) -> Reference<'a> {
        let mut near = [None; NEAR];
        for (place, origin) in near.iter_mut().zip(&self.names) {
            *place = set.intervals(origin);
        }
        Reference { set, near }
    }

    /// Returns true if the version is a subset of a set.
    pub(super) fn is_within(&self, index: u32, reference: &Reference<'_>) -> bool {
        self.get(index).is_some_and(|version| self.count_within(version, reference).is_some())
    }

    /// Returns the number of GTIDs of the version, if all of them are in a set.
    fn count_within(&self, version: &Version, reference: &Reference<'_>) -> Option<u64> {
        let mut bytes = version.set.bytes();
        let mut count = 0_u64;
        while !bytes.is_empty() {
            let name = take_varint(&mut bytes) as usize;
            let intervals = match reference.near.get(name) {
                Some(near) => *near,
                None => self.names.get(name).and_then(|origin| reference.set.intervals(origin)),
            }?;
            let mut end = 0;
            for _ in 0..take_varint(&mut bytes) {
                let first = end + take_varint(&mut bytes);
                end = first + take_varint(&mut bytes);
                if !intervals.contains_range(first, end) {
                    return None;
                }
                count = count.saturating_add(end - first).saturating_add(1);
            }
        }
        Some(count)
    }

    /// Returns the version as a set.
    pub(super) fn unpack(&self, index: u32) -> GtidSet {
        let mut set = GtidSet::new();
        let mut bytes = self.get(index).map(|version| version.set.bytes()).unwrap_or_default();
        while !bytes.is_empty() {
            let name = take_varint(&mut bytes) as usize;
            let mut end = 0;
            for _ in 0..take_varint(&mut bytes) {
                let first = end + take_varint(&mut bytes);
                end = first + take_varint(&mut bytes);
                if let Some(origin) = self.names.get(name) {
                    set.add_range(origin, first, end);
                }
            }
        }
        set
    }

    /// Returns the stable set of the last collection.
    pub(super) fn stable(&self) -> &GtidSet {
        &self.stable
    }

    /// Makes every version that exists now and is a strict subset of `stable` dead, without touching one.
    pub(super) fn collect(&mut self, stable: &GtidSet) {
        if !stable.contains_set(&self.stable) {
            self.settle();
        }
        self.stable = stable.clone();
        self.epoch += 1;
    }

    /// Checks every version for being dead, before a stable set comes that does not contain the last one.
    fn settle(&mut self) {
        let count = self.chunks.iter().map(Vec::len).sum::<usize>();
        for index in 0..count as u32 {
            self.is_dead(index);
        }
    }

    /// Returns true if a collection has removed the version.
    pub(super) fn is_dead(&mut self, index: u32) -> bool {
        let Some(version) = self.get(index) else { return true };
        if version.epoch == self.epoch || version.epoch == DEAD {
            return version.epoch == DEAD;
        }
        let within = self.count_within(version, &self.reference(&self.stable));
        let dead = within.is_some_and(|count| count < self.stable.count());
        let epoch = if dead { DEAD } else { self.epoch };
        if let Some(version) = self.get_mut(index) {
            version.epoch = epoch;
        }
        dead
    }

    /// Returns the size in bytes.
    pub(super) fn memory(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<Version>() + self.free.capacity() * size_of::<u32>() + self.boxed
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    let mut shift = 0;
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}
