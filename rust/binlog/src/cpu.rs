//! CPU time of the stages of an apply, summed over the threads of this process.
//!
//! A stage is entered once for each batch of a log, block or statement, never for each row: reading the clock of a thread is a system
//! call.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// A stage of the work on a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Bytes from files or decompressors.
    Read,
    /// From bytes to transactions.
    Decode,
    /// From rows to write sets.
    Hash,
    /// From write sets to blocks and what they wait for.
    Plan,
    /// From blocks to statements.
    Render,
    /// Statements to the server, and its answers.
    Send,
}

/// All stages with their names.
pub const STAGES: [(Stage, &str); 6] = [
    (Stage::Read, "read"),
    (Stage::Decode, "decode"),
    (Stage::Hash, "hash"),
    (Stage::Plan, "plan"),
    (Stage::Render, "render"),
    (Stage::Send, "send"),
];

static SPENT: [AtomicU64; STAGES.len()] = [const { AtomicU64::new(0) }; STAGES.len()];

thread_local! {
    /// The stage that the thread is in, and its CPU time in nanoseconds when the stage was entered or continued.
    static CURRENT: Cell<Option<(Stage, u64)>> = const { Cell::new(None) };
}

/// Returns the nanoseconds that all threads have spent in a stage so far.
pub fn spent(stage: Stage) -> u64 {
    spent_in(stage).map_or(0, |spent| spent.load(Ordering::Relaxed))
}

/// Adds nanoseconds to a stage.
pub fn spend(stage: Stage, nanoseconds: u64) {
    if let Some(spent) = spent_in(stage) {
        spent.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

/// Does work in a stage. The time in a stage within it counts only there.
pub fn within<T>(stage: Stage, work: impl FnOnce() -> T) -> T {
    let _entered = Entered::new(stage);
    work()
}

fn spent_in(stage: Stage) -> Option<&'static AtomicU64> {
    SPENT.get(stage as usize)
}

/// Returns the CPU time of this thread in nanoseconds.
fn clock() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// A stage until it is dropped.
struct Entered {
    outer: Option<Stage>,
}

impl Entered {
    fn new(stage: Stage) -> Self {
        let now = clock();
        let outer = CURRENT.replace(Some((stage, now)));
        if let Some((outer, since)) = outer {
            spend(outer, now.saturating_sub(since));
        }
        Self { outer: outer.map(|(outer, _)| outer) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let now = clock();
        if let Some((stage, since)) = CURRENT.replace(self.outer.map(|outer| (outer, now))) {
            spend(stage, now.saturating_sub(since));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Uses CPU time of this thread.
    fn work(duration: Duration) {
        let until = clock() + duration.as_nanos() as u64;
        while clock() < until {}
    }

    #[test]
    fn a_stage_within_another_counts_only_once() {
        // Stages that nothing else in the tests of this crate enters: all tests share the sums.
        let before: Vec<u64> = STAGES.iter().map(|(stage, _)| spent(*stage)).collect();
        let (outer, inner) = (Duration::from_millis(2), Duration::from_millis(3));
        let started = clock();
        within(Stage::Plan, || {
            work(outer);
            within(Stage::Render, || work(inner));
        });
        let all = clock() - started;
        let found: Vec<u64> = STAGES.iter().zip(before).map(|((stage, _), before)| spent(*stage) - before).collect();
        let of = |stage: Stage| found[stage as usize];
        assert!(of(Stage::Plan) >= outer.as_nanos() as u64, "{found:?}");
        assert!(of(Stage::Render) >= inner.as_nanos() as u64, "{found:?}");
        assert!(of(Stage::Plan) + of(Stage::Render) <= all, "{found:?} in {all}");
    }

    #[test]
    fn the_names_are_in_the_order_of_the_stages() {
        assert!(STAGES.iter().enumerate().all(|(place, (stage, _))| *stage as usize == place));
    }
}
