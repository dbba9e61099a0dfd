//! `MySQL`'s coordinator and its workers (WL#4648, WL#6813, R21).
//!
//! The coordinator hands out one transaction after another. It waits until every transaction up to the one that the next
//! depends on is committed (the low-water mark), then until a worker is idle. As it never overtakes, one pass over the
//! transactions gives the whole schedule.

use super::recording::Recording;
use super::setup::{Applier, Needs, Setup, Times};
use super::workers::{Turns, Workers};

/// Times of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Time until everything is committed.
    pub total_ns: u64,
    /// Time that workers spent with applying and committing, but not with waiting.
    pub busy_ns: u64,
    /// Number of commits.
    pub commits: u64,
    /// Number of transactions that were rolled back and tried again.
    pub retries: u64,
}

/// One transaction, or one block of paraply, of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// Index of the first transaction.
    pub first: u32,
    /// Number of transactions.
    pub count: u32,
    /// The worker.
    pub worker: u32,
    /// Time of the start.
    pub start: u64,
    /// Time when its rows are applied.
    pub applied: u64,
    /// Time when its commit begins.
    pub commit: u64,
    /// Time when it is committed.
    pub end: u64,
}

/// Times that the coordinator waited for before it handed out a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// Time when the transactions that its numbers need were committed.
    pub(super) needed: u64,
    /// Time when a worker was idle.
    pub(super) idle: u64,
}

/// Observer of a schedule.
pub(super) trait Watch {
    /// Takes a transaction; `committed` holds for each number of transactions when all of them were committed.
    fn placed(&mut self, slot: &Slot, wait: &Wait, committed: &[u64]);
}

/// Observer that sees nothing.
pub(super) struct Blind;

impl Watch for Blind {
    fn placed(&mut self, _: &Slot, _: &Wait, _: &[u64]) {}
}

/// Observer that keeps a part of the schedule.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) from: usize,
    pub(super) most: usize,
    pub(super) slots: Vec<Slot>,
}

impl Kept {
    /// Keeps a slot if it is in the wanted part.
    pub(super) fn keep(&mut self, slot: &Slot) {
        if slot.first as usize >= self.from && self.slots.len() < self.most {
            self.slots.push(*slot);
        }
    }
}

impl Watch for Kept {
    fn placed(&mut self, slot: &Slot, _: &Wait, _: &[u64]) {
        self.keep(slot);
    }
}

/// Returns the schedule of `MySQL`'s coordinator, or of the Change Stream Applier.
pub(super) fn run(recording: &Recording, setup: &Setup, watch: &mut impl Watch) -> Outcome {
    let times = Times::new(recording, setup);
    let mut needs = Needs::new(recording, setup.numbers, setup.without);
    let mut workers = Workers::new(setup.workers);
    let mut turns = Turns::default();
    let mut committed = Vec::with_capacity(recording.len() + 1);
    committed.push(0);
    let (mut since, mut last, mut busy) = (0, 0, 0);
    let commit_ns = setup.costs.commit_ns;
    for index in 0..recording.len() {
        let need = needs.next(index);
        let needed = committed[need as usize];
        let (idle, worker) = workers.take();
        let start = since.max(needed).max(idle);
        let time = times.apply(recording, index);
        let applied = start + time;
        let (commit, end) =
            if setup.ordered { turns.commit(applied, commit_ns) } else { (applied, applied + commit_ns) };
        let leaves = setup.applier == Applier::ChangeStream && commit > applied;
        workers.put(if leaves { applied } else { end }, worker);
        last = end.max(last);
        committed.push(last);
        busy += time + commit_ns;
        let slot = Slot { first: index as u32, count: 1, worker, start, applied, commit, end };
        watch.placed(&slot, &Wait { needed, idle }, &committed);
        since = start;
    }
    Outcome { total_ns: last, busy_ns: busy, commits: recording.len() as u64, retries: 0 }
}
