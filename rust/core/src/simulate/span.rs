//! The longest chain of transactions that wait for one another: the bound that no number of workers can beat.

use super::costs::Costs;
use super::merged::{Block, Blocks};
use super::recording::{KeyTag, Recording};
use super::setup::{Applier, Needs, Numbers, Setup, Without};

/// The longest chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Span {
    /// Its time.
    pub total_ns: u64,
    /// Number of its transactions, or of its blocks.
    pub steps: u64,
}

/// A transaction of the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Its index.
    pub index: u32,
    /// The key for which it waits for the step before; none for a barrier.
    pub key: Option<KeyTag>,
}

/// Returns the longest chain under numbers: each transaction waits for all up to the one that it needs.
pub fn numbered_span(recording: &Recording, costs: &Costs, numbers: Numbers) -> Span {
    let mut needs = Needs::new(recording, numbers, Without::default());
    let mut ends: Vec<(u64, u32)> = Vec::with_capacity(recording.len() + 1);
    ends.push((0, 0));
    let mut last = (0, 0);
    for index in 0..recording.len() {
        let (before, steps) = ends[needs.next(index) as usize];
        last = last.max((before + costs.apply(recording, index) + costs.commit_ns, steps + 1));
        ends.push(last);
    }
    Span { total_ns: last.0, steps: u64::from(last.1) }
}

/// Returns the longest chain under exact dependencies, with its transactions in order.
pub fn critical_path(recording: &Recording, costs: &Costs) -> (Span, Vec<Step>) {
    let number = recording.len();
    let mut ends: Vec<u64> = Vec::with_capacity(number);
    let mut before: Vec<u32> = Vec::with_capacity(number);
    // The transaction that ends last so far, and the last barrier; one more than the index, 0 for none.
    let (mut latest, mut floor) = (0_u32, 0_u32);
    for index in 0..number {
        let end_of = |place: u32, ends: &[u64]| place.checked_sub(1).map_or(0, |older| ends[older as usize]);
        let barrier = recording.barrier(index).is_some();
        let mut parent = if barrier { latest } else { floor };
        let mut start = end_of(parent, &ends);
        for edge in recording.edges(index).iter().filter(|_| !barrier) {
            if ends[edge.older as usize] > start {
                start = ends[edge.older as usize];
                parent = edge.older + 1;
            }
        }
        let end = start + costs.apply(recording, index) + costs.commit_ns;
        if end > end_of(latest, &ends) {
            latest = index as u32 + 1;
        }
        ends.push(end);
        before.push(parent);
        if barrier {
            floor = index as u32 + 1;
        }
    }
    let total_ns = latest.checked_sub(1).map_or(0, |last| ends[last as usize]);
    let mut steps = Vec::new();
    while let Some(index) = latest.checked_sub(1) {
        let parent = before[index as usize];
        let edges = recording.edges(index as usize);
        let key = edges.iter().find(|edge| edge.older + 1 == parent).map(|edge| edge.key);
        steps.push(Step { index, key });
        latest = parent;
    }
    steps.reverse();
    (Span { total_ns, steps: steps.len() as u64 }, steps)
}

/// Returns the longest chain of blocks of paraply, each with one commit; rows that depend on nothing are applied early.
pub fn merged_span(recording: &Recording, costs: &Costs, merge: u32) -> Span {
    let setup = Setup { merge, ..Setup::new(Applier::Paraply, Numbers::Fine, 1, *costs) };
    let mut blocks = Blocks::new(recording, &setup);
    let mut block = Block::default();
    // Time and steps until each block, and all before it, are committed.
    let mut ends = vec![(0_u64, 0_u64)];
    let mut work: Vec<(u32, u64)> = Vec::new();
    while blocks.next(&mut block) {
        work.clear();
        let parts = (block.first..).zip(&block.needs).map(|(index, need)| (*need, costs.rows(recording, index)));
        work.extend(parts);
        work.sort_unstable_by_key(|(need, _)| *need);
        let first = work.first().map_or((0, 0), |(need, _)| ends[*need as usize]);
        let begin = (first.0 + costs.transaction_ns, first.1);
        let (time, steps) = work.iter().fold(begin, |now, (need, time)| {
            let (after, steps) = now.max(ends[*need as usize]);
            (after + time, steps)
        });
        let end = (time + costs.commit_ns, steps + 1);
        ends.push(end.max(ends.last().copied().unwrap_or_default()));
    }
    let (total_ns, steps) = ends.last().copied().unwrap_or_default();
    Span { total_ns, steps }
}
