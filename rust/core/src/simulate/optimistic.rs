//! `MariaDB`'s optimistic mode: transactions start without looking at conflicts, and commit in order.
//!
//! A transaction that comes to a row after an older one that has not committed waits for the lock. One that comes first
//! blocks the older one: it is rolled back, and tried again when all older ones are committed. A row is taken to be
//! reached in the middle of its transaction. A statement that runs alone waits for all older transactions, and all
//! younger ones wait for it.

use super::coordinator::{Kept, Outcome, Slot};
use super::losses::Delays;
use super::recording::{Edge, Recording};
use super::setup::{Setup, Times};
use super::workers::{Turns, Workers};

/// State of the transactions so far.
struct State<'r> {
    recording: &'r Recording,
    setup: &'r Setup,
    /// Time when each transaction came to its row.
    reached: Vec<u64>,
    /// Time when each was committed.
    committed: Vec<u64>,
}

/// A conflict that delayed a transaction.
struct Conflict {
    edge: Edge,
    until: u64,
    retried: bool,
}

impl State<'_> {
    /// Returns the conflict that delays a transaction most.
    fn conflict(&self, index: usize, reach: u64) -> Option<Conflict> {
        let mut found: Option<Conflict> = None;
        for edge in self.recording.edges(index).iter().rev() {
            let until = self.committed[edge.older as usize];
            if until <= reach {
                break; // commits are in order: all older ones are committed, too
            }
            if self.setup.without.drops(self.recording, *edge) {
                continue;
            }
            let retried = self.reached[edge.older as usize] > reach;
            if retried || found.is_none() {
                found = Some(Conflict { edge: *edge, until, retried });
            }
            if retried {
                break;
            }
        }
        found
    }
}

/// Returns the schedule of `MariaDB`'s optimistic mode; `kept` takes a part of it, and `delays` what transactions waited for.
pub(super) fn run(
    recording: &Recording,
    setup: &Setup,
    mut kept: Option<&mut Kept>,
    mut delays: Option<&mut Delays>,
) -> Outcome {
    let times = Times::new(recording, setup);
    let mut workers = Workers::new(setup.workers);
    let mut turns = Turns::default();
    let number = recording.len();
    let (reached, committed) = (Vec::with_capacity(number), Vec::with_capacity(number));
    let mut state = State { recording, setup, reached, committed };
    let mut outcome = Outcome { commits: number as u64, ..Outcome::default() };
    let (mut since, mut last, mut after_barrier, mut last_barrier) = (0, 0, 0, None);
    for index in 0..number {
        let barrier = recording.barrier(index).filter(|cause| !setup.without.causes.has(*cause));
        let (idle, worker) = workers.take();
        let needed = if barrier.is_some() { last } else { after_barrier };
        let start = idle.max(since).max(needed);
        let time = times.apply(recording, index);
        let reach = start + time / 2;
        let conflict = state.conflict(index, reach);
        let (applied, reached) = match &conflict {
            None => (start + time, reach),
            Some(conflict) if conflict.retried => {
                outcome.retries += 1;
                outcome.busy_ns += time;
                let again = last.max(start + time);
                (again + time, again + time / 2)
            }
            Some(conflict) => (conflict.until + time - time / 2, conflict.until),
        };
        let (commit, end) = turns.commit(applied, setup.costs.commit_ns);
        workers.put(end, worker);
        if let Some(delays) = &mut delays {
            let own = conflict.map(|conflict| (recording.cause(conflict.edge.key), Some(conflict.edge.key)));
            delays.add(
                own,
                barrier.or(last_barrier).map(|cause| (cause, needed.saturating_sub(idle.max(since)))),
                barrier,
                &[(applied - start).saturating_sub(time), commit - applied, time],
            );
        }
        let slot = Slot { first: index as u32, count: 1, worker, start, applied, commit, end };
        if let Some(kept) = &mut kept {
            kept.keep(&slot);
        }
        state.reached.push(reached);
        state.committed.push(end);
        outcome.busy_ns += time + setup.costs.commit_ns;
        (since, last) = (start, end);
        if barrier.is_some() {
            (after_barrier, last_barrier) = (end, barrier);
        }
    }
    outcome.total_ns = last;
    outcome
}
