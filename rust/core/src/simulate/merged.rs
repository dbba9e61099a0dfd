//! paraply: exact dependencies, several transactions in a commit, and rows that are applied before their turn.
//!
//! With commits in order a worker takes a block when one of its transactions may start. It applies those that depend on
//! nothing, then waits for older blocks for the others. A commit is sent when the older one is acknowledged (R20).
//! Without order a block waits for exactly the blocks that it depends on.

use super::coordinator::{Kept, Outcome, Slot};
use super::recording::Recording;
use super::setup::{Setup, Times};
use super::workers::Workers;

/// Most transactions of a commit that automatic merging chooses, as on `MySQL`.
pub const MOST_MERGED: u32 = 256;
/// Bytes after which a block is full.
const BLOCK_BYTES: u64 = 256 * 1024;

/// One block: its transactions, and the older blocks that they need.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) barrier: bool,
    /// Need of each transaction: a number of blocks.
    pub(super) needs: Vec<u32>,
    /// All blocks that it depends on, each once.
    pub(super) older: Vec<u32>,
}

/// Cuts the transactions into blocks.
pub(super) struct Blocks<'r> {
    recording: &'r Recording,
    setup: &'r Setup,
    most: usize,
    next: usize,
    /// Block of each transaction so far.
    block_of: Vec<u32>,
    made: u32,
    /// The last barrier's block and all before it.
    floor: u32,
}

impl<'r> Blocks<'r> {
    pub(super) fn new(recording: &'r Recording, setup: &'r Setup) -> Self {
        let automatic = recording.len() as u32 / (2 * setup.workers.max(1));
        let most = if setup.merge > 0 { setup.merge } else { automatic.clamp(1, MOST_MERGED) };
        let block_of = Vec::with_capacity(recording.len());
        Self { recording, setup, most: most as usize, next: 0, block_of, made: 0, floor: 0 }
    }

    /// Fills the next block; returns false at the end.
    pub(super) fn next(&mut self, block: &mut Block) -> bool {
        block.needs.clear();
        block.older.clear();
        (block.first, block.count, block.barrier) = (self.next, 0, false);
        let mut bytes = 0;
        while self.next < self.recording.len() && block.count < self.most {
            let alone = self.stands_alone(self.next);
            bytes += u64::from(self.recording.bytes(self.next));
            if block.count > 0 && (alone || bytes > BLOCK_BYTES) {
                break;
            }
            self.join(block, self.next, alone);
            self.next += 1;
            if alone {
                break;
            }
        }
        block.older.sort_unstable();
        block.older.dedup();
        self.made += 1;
        if block.barrier {
            self.floor = self.made;
        }
        block.count > 0
    }

    /// Returns the number of blocks up to the last barrier.
    pub(super) fn floor(&self) -> usize {
        self.floor as usize
    }

    fn stands_alone(&self, index: usize) -> bool {
        self.recording.barrier(index).is_some_and(|cause| !self.setup.without.causes.has(cause))
    }

    fn join(&mut self, block: &mut Block, index: usize, alone: bool) {
        let own = self.made;
        let mut need = if alone { own } else { self.floor };
        block.barrier |= alone;
        let edges = if alone { &[] } else { self.recording.edges(index) };
        for edge in edges.iter().filter(|edge| !self.setup.without.drops(self.recording, **edge)) {
            let older = self.block_of[edge.older as usize];
            if older < own {
                need = need.max(older + 1);
                block.older.push(older);
            } else {
                need = need.max(block.needs[edge.older as usize - block.first]);
            }
        }
        block.needs.push(need);
        block.count += 1;
        self.block_of.push(own);
    }
}

/// Returns the schedule of paraply; `kept` takes a part of it.
pub(super) fn run(recording: &Recording, setup: &Setup, mut kept: Option<&mut Kept>) -> Outcome {
    let times = Times::new(recording, setup);
    let mut blocks = Blocks::new(recording, setup);
    let mut workers = Workers::new(setup.workers);
    let mut outcome = Outcome::default();
    let mut block = Block::default();
    // When each block was committed, and when all up to it were.
    let (mut ends, mut all) = (Vec::new(), vec![0_u64]);
    let mut work: Vec<(u32, u64)> = Vec::new();
    while blocks.next(&mut block) {
        work.clear();
        let parts = (block.first..).zip(&block.needs).map(|(index, need)| (*need, times.rows(recording, index)));
        work.extend(parts);
        let time: u64 = setup.costs.transaction_ns + work.iter().map(|(_, time)| time).sum::<u64>();
        let (idle, worker) = workers.take();
        let last = all.last().copied().unwrap_or_default();
        let (start, applied, commit, end);
        if setup.ordered {
            work.sort_unstable_by_key(|(need, _)| *need);
            start = idle.max(work.first().map_or(0, |(need, _)| all[*need as usize]));
            applied = work
                .iter()
                .fold(start + setup.costs.transaction_ns, |now, (need, time)| now.max(all[*need as usize]) + time);
            commit = applied.max(last);
        } else {
            let older = block.older.iter().map(|older| ends[*older as usize]);
            let floor = if block.barrier { last } else { all[blocks.floor()] };
            start = older.fold(idle.max(floor), u64::max);
            applied = start + time;
            commit = applied;
        }
        end = commit + setup.costs.commit_ns;
        workers.put(end, worker);
        ends.push(end);
        all.push(last.max(end));
        outcome.busy_ns += time + setup.costs.commit_ns;
        outcome.commits += 1;
        if let Some(kept) = &mut kept {
            let (first, count) = (block.first as u32, block.count as u32);
            kept.keep(&Slot { first, count, worker, start, applied, commit, end });
        }
    }
    outcome.total_ns = all.last().copied().unwrap_or_default();
    outcome
}
