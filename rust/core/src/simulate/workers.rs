//! The workers of a simulated replica.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Workers, each with the time at which it is free.
#[derive(Debug)]
pub(super) struct Workers {
    free: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Workers {
    pub(super) fn new(number: u32) -> Self {
        Self { free: (0..number.max(1)).map(|worker| Reverse((0, worker))).collect() }
    }

    /// Takes the worker that is free first; returns the time and its number.
    pub(super) fn take(&mut self) -> (u64, u32) {
        self.free.pop().map_or((0, 0), |Reverse(first)| first)
    }

    /// Gives a worker back, free from a time on.
    pub(super) fn put(&mut self, free: u64, worker: u32) {
        self.free.push(Reverse((free, worker)));
    }
}

/// The turns of ordered commits: a commit begins when the older one has begun, so that a server writes several of them at
/// once, and ends when the older one has ended.
#[derive(Debug, Default)]
pub(super) struct Turns {
    begun: u64,
    ended: u64,
}

impl Turns {
    /// Commits the next transaction, whose rows are applied at `applied`; returns begin and end.
    pub(super) fn commit(&mut self, applied: u64, time: u64) -> (u64, u64) {
        self.begun = self.begun.max(applied);
        self.ended = self.ended.max(self.begun + time);
        (self.begun, self.ended)
    }
}
