//! One chunk of a trace: dependencies that can be resolved inside it, and touches that have to be reported.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::slot::Slot;
use super::wire::{Head, Row, Tail, write_edges, write_rows};
use super::{ChunkHeader, Role};
use crate::certifier::Seeds;

/// Number of keys that may be kept after a barrier although nothing can depend on them any more.
const KEPT_BEHIND_BARRIER: usize = 1 << 16;
/// Greatest number of a chunk, whose highest bit is needed for a flag.
const MOST_NUMBERS: u32 = (1 << 31) - 1;

/// A transaction that does not fit at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// Positions have to ascend.
    #[error("position {position} comes after position {before}: a chunk's positions ascend, and none is there twice")]
    Order {
        /// The transaction's position.
        position: i64,
        /// The position of the one before it.
        before: i64,
    },
    /// Too many for one chunk.
    #[error("a chunk holds at most {MOST_NUMBERS} transactions")]
    TooLong,
}

/// Keys that a transaction touches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Touches<'a> {
    /// Keys taken exclusively; repeated ones do no harm.
    pub exclusive: &'a [u64],
    /// Keys shared with others (R15).
    pub shared: &'a [u64],
    /// The session, whose transactions are never reordered; it is not a key of the write set.
    pub session: Option<u64>,
}

/// A resolved chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkReport {
    /// Summary of the chunk.
    pub header: ChunkHeader,
    /// Its transactions, for [`number_rows`](super::number_rows).
    pub rows: Vec<u8>,
    /// The touches that others may depend on, for the [`KeyResolver`](super::KeyResolver) of each part of the keys.
    pub edges: Vec<Vec<u8>>,
}

/// Resolves a chunk: transactions are added in the order of their positions.
#[derive(Debug)]
pub struct ChunkResolver {
    keys: HashMap<u64, Slot, Seeds>,
    shared_counts_as_exclusive: bool,
    numbers: u32,
    barrier: u32,
    rows: Vec<Row>,
    heads: Vec<Vec<Head>>,
}

impl ChunkResolver {
    /// Creates a resolver that splits its report into `parts`. With 0 parts the chunk is the whole trace and nothing is
    /// reported. `shared_counts_as_exclusive` selects the server's own rules, which have no shared keys.
    pub fn new(parts: usize, shared_counts_as_exclusive: bool) -> Self {
        Self {
            keys: HashMap::default(),
            shared_counts_as_exclusive,
            numbers: 0,
            barrier: 0,
            rows: Vec::new(),
            heads: vec![Vec::new(); parts],
        }
    }

    /// Returns the number of transactions added.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds the next transaction.
    pub fn add(&mut self, position: i64, role: Role, touches: Touches<'_>) -> Result<(), OrderError> {
        if let Some(before) = self.rows.last().map(|row| row.position).filter(|before| *before >= position) {
            return Err(OrderError::Order { position, before });
        }
        let (number, dependency, role) = match role {
            Role::ViewChange => (0, 0, role),
            Role::Local => {
                self.touch_locally(touches);
                (0, 0, role)
            }
            Role::Rows | Role::Barrier => self.number(role, touches)?,
        };
        self.rows.push(Row { position, number, dependency, role });
        Ok(())
    }

    /// Ends the chunk.
    pub fn finish(self) -> ChunkReport {
        let header = ChunkHeader {
            first: self.rows.first().map_or(0, |row| row.position),
            last: self.rows.last().map_or(0, |row| row.position),
            numbers: self.numbers,
            barrier: self.barrier,
        };
        let mut tails = vec![Vec::new(); self.heads.len()];
        if !tails.is_empty() {
            let visible = |slot: &Slot| self.barrier == 0 || slot.newest() > self.barrier;
            for (key, slot) in self.keys.into_iter().filter(|(_, slot)| visible(slot)) {
                let part = part_of(key, tails.len());
                if let Some(tails) = tails.get_mut(part) {
                    tails.push(Tail { key, slot });
                }
            }
        }
        let edges = self.heads.iter().zip(&tails).map(|(heads, tails)| write_edges(heads, tails)).collect();
        ChunkReport { header, rows: write_rows(&self.rows), edges }
    }

    /// R3 and R5 inside the chunk: Returns a transaction's number, its dependency and its role.
    fn number(&mut self, role: Role, touches: Touches<'_>) -> Result<(u32, u32, Role), OrderError> {
        if self.numbers == MOST_NUMBERS {
            return Err(OrderError::TooLong);
        }
        self.numbers += 1;
        let number = self.numbers;
        let barrier = role == Role::Barrier || (touches.exclusive.is_empty() && touches.shared.is_empty());
        if barrier {
            self.barrier = number;
            if self.keys.len() > KEPT_BEHIND_BARRIER {
                self.keys = HashMap::default();
            }
        }
        let mut dependency = self.barrier;
        for key in touches.exclusive.iter().chain(&touches.session) {
            dependency = dependency.max(self.take(*key, number));
        }
        for key in touches.shared {
            let found =
                if self.shared_counts_as_exclusive { self.take(*key, number) } else { self.share(*key, number) };
            dependency = dependency.max(found);
        }
        Ok((number, dependency, if barrier { Role::Barrier } else { role }))
    }

    /// R4: Notes the touches of a local transaction. Keys that it takes exclusively show nothing earlier. Keys that it
    /// shares stay unchanged, and its session does not matter to an applier.
    fn touch_locally(&mut self, touches: Touches<'_>) {
        let shared = if self.shared_counts_as_exclusive { touches.shared } else { &[] };
        for key in touches.exclusive.iter().chain(shared) {
            self.keys.insert(*key, Slot::LOCAL);
        }
    }

    fn take(&mut self, key: u64, number: u32) -> u32 {
        match self.keys.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Slot::taken(number));
                self.report(key, number, false);
                0
            }
            Entry::Occupied(mut entry) => {
                let first = entry.get().open;
                let dependency = entry.get_mut().take(number);
                if first {
                    self.report(key, number, false);
                }
                dependency
            }
        }
    }

    fn share(&mut self, key: u64, number: u32) -> u32 {
        match self.keys.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(Slot::shared(number));
                self.report(key, number, true);
                0
            }
            Entry::Occupied(entry) if entry.get().was_touched_by(number) => 0,
            Entry::Occupied(mut entry) => {
                let first = entry.get().open;
                let dependency = entry.get_mut().share(number);
                if first {
                    self.report(key, number, true);
                }
                dependency
            }
        }
    }

    /// Reports a touch that may depend on one before the chunk: none after a barrier does.
    fn report(&mut self, key: u64, number: u32, shared: bool) {
        let part = part_of(key, self.heads.len());
        if self.barrier == 0
            && let Some(heads) = self.heads.get_mut(part)
        {
            heads.push(Head { key, number, shared });
        }
    }
}

/// Returns the part that a key belongs to: the same in every process.
fn part_of(key: u64, parts: usize) -> usize {
    let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((mixed * parts as u64) >> 32) as usize
}
