//! One part of the keys over all chunks: the dependencies that reach from one chunk into another.

use std::collections::HashMap;

use super::wire::{Crossing, Head, Tail, WireError, read_edges, write_crossings};
use super::{ChunkHeader, FIRST_LAST_COMMITTED};
use crate::certifier::Seeds;

/// Chunks that cannot follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Two chunks have overlapping positions, or come in the wrong order.
    #[error("positions {first} to {last} come after position {before}: chunks must not overlap")]
    Overlap {
        /// First position of the chunk.
        first: i64,
        /// Last position of the chunk.
        last: i64,
        /// Last position of the chunk before it.
        before: i64,
    },
    /// A report cannot be read.
    #[error(transparent)]
    Damaged(#[from] WireError),
}

/// Effects of the other chunks on one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyAnswer {
    /// The last number assigned before the chunk.
    pub base: i64,
    /// The number of the last barrier before the chunk, or the number that everything may depend on at the start.
    pub floor: i64,
    /// The dependencies that reach into the chunk, for [`number_rows`](super::number_rows).
    pub crossings: Vec<u8>,
}

/// The last touches of a key: absolute numbers, 0 for none.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    exclusive: i64,
    shared: i64,
}

/// Takes the reports of all chunks in order, for one part of the keys.
#[derive(Debug)]
pub struct KeyResolver {
    keys: HashMap<u64, Last, Seeds>,
    base: i64,
    floor: i64,
    before: Option<i64>,
}

impl Default for KeyResolver {
    fn default() -> Self {
        Self { keys: HashMap::default(), base: FIRST_LAST_COMMITTED, floor: FIRST_LAST_COMMITTED, before: None }
    }
}

impl KeyResolver {
    /// Creates a resolver that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next chunk's report for this part of the keys.
    pub fn add(&mut self, header: ChunkHeader, edges: &[u8]) -> Result<KeyAnswer, KeyError> {
        if let Some(before) = self.before.filter(|before| *before >= header.first) {
            return Err(KeyError::Overlap { first: header.first, last: header.last, before });
        }
        let (heads, tails) = read_edges(edges)?;
        let crossings = self.cross(heads);
        let answer = KeyAnswer { base: self.base, floor: self.floor, crossings: write_crossings(&crossings) };
        if header.barrier > 0 {
            self.floor = self.base + i64::from(header.barrier);
            self.keys = HashMap::default();
        }
        tails.for_each(|tail| self.keep(tail));
        self.base += i64::from(header.numbers);
        self.before = Some(header.last);
        Ok(answer)
    }

    /// Returns the newest number outside of the chunk that each of its transactions depends on, where there is one.
    fn cross(&self, heads: impl Iterator<Item = Head>) -> Vec<Crossing> {
        let mut crossings: Vec<Crossing> = Vec::new();
        for head in heads {
            let Some(last) = self.keys.get(&head.key) else { continue };
            let dependency = if head.shared { last.exclusive } else { last.exclusive.max(last.shared) };
            match crossings.last_mut() {
                _ if dependency <= self.floor => {}
                Some((number, newest)) if *number == head.number => *newest = dependency.max(*newest),
                _ => crossings.push((head.number, dependency)),
            }
        }
        crossings
    }

    fn keep(&mut self, tail: Tail) {
        let absolute = |number: u32| if number == 0 { 0 } else { self.base + i64::from(number) };
        let (exclusive, shared) = (absolute(tail.slot.exclusive), absolute(tail.slot.shared));
        let last = self.keys.entry(tail.key).or_default();
        if tail.slot.open {
            last.shared = last.shared.max(shared);
        } else {
            *last = Last { exclusive, shared };
        }
    }
}
