//! Simulation of how long appliers need for a log, and division of the lost time among its causes.
//!
//! A [`Recorder`] keeps of each transaction its size and what it has to wait for: under the keys, under the numbers of
//! the log, and under recomputed numbers. [`simulate`] gives the time of an applier with a number of workers.
//! [`explain`] divides the time in which workers have nothing to do. [`critical_path`] is the bound for any number of
//! workers. Times are integers, so that the results do not depend on the machine.

mod cause;
mod coordinator;
mod costs;
pub mod groups;
mod hot;
mod losses;
mod merged;
mod optimistic;
mod recomputed;
mod recorder;
mod recording;
mod setup;
mod span;
mod stamps;
#[cfg(test)]
mod tests;
pub mod totals;
mod workers;

pub use cause::{Cause, Causes};
pub use coordinator::{Outcome, Slot};
pub use costs::Costs;
pub use losses::Loss;
pub use merged::MOST_MERGED;
pub use recomputed::{Entry, SourceEntry};
pub use recorder::Recorder;
pub use recording::{Edge, Identity, KeyTag, Place, Recording};
pub use setup::{Applier, Numbers, Setup, Without};
pub use span::{Span, Step, critical_path, merged_span, numbered_span};

use coordinator::{Blind, Kept, Wait, Watch};
use losses::{Delays, Sweep};

/// Returns the times of a schedule.
pub fn simulate(recording: &Recording, setup: &Setup) -> Outcome {
    match setup.applier {
        Applier::MySql | Applier::ChangeStream => coordinator::run(recording, setup, &mut Blind),
        Applier::MariaDb => optimistic::run(recording, setup, None, None),
        Applier::Paraply => merged::run(recording, setup, None),
    }
}

/// Returns a part of a schedule: at most `most` transactions or blocks, from the one with the index `from` on.
pub fn schedule(recording: &Recording, setup: &Setup, from: usize, most: usize) -> Vec<Slot> {
    let mut kept = Kept { from, most, slots: Vec::new() };
    match setup.applier {
        Applier::MySql | Applier::ChangeStream => coordinator::run(recording, setup, &mut kept),
        Applier::MariaDb => optimistic::run(recording, setup, Some(&mut kept), None),
        Applier::Paraply => merged::run(recording, setup, Some(&mut kept)),
    };
    kept.slots
}

/// Divides the time that a schedule loses against `most` workers that are always busy: each cause, the largest first, and
/// after it its keys.
///
/// For `MySQL`'s coordinator each moment belongs to what keeps it from handing out the next transaction; for `MariaDB`
/// the time is divided by what the transactions waited for. Other appliers are not divided.
pub fn explain(recording: &Recording, setup: &Setup, most: u32, most_keys: usize) -> (Outcome, Vec<Loss>) {
    let lost = |outcome: &Outcome| {
        let ideal = recording.work(&setup.costs) / u64::from(most.max(1));
        outcome.total_ns.saturating_sub(ideal) as f64 / 1e9
    };
    match setup.applier {
        Applier::MySql | Applier::ChangeStream => {
            let mut watch = Last { sweep: Sweep::new(recording, setup, most), committed: Vec::new() };
            let outcome = coordinator::run(recording, setup, &mut watch);
            let Last { mut sweep, committed } = watch;
            sweep.finish(outcome.total_ns, &committed);
            let losses = sweep.tally.divide(lost(&outcome), most_keys);
            (outcome, losses)
        }
        Applier::MariaDb => {
            let mut delays = Delays::new(recording.huge_from(&setup.costs));
            let outcome = optimistic::run(recording, setup, None, Some(&mut delays));
            let losses = delays.tally.divide(lost(&outcome), most_keys);
            (outcome, losses)
        }
        Applier::Paraply => (merged::run(recording, setup, None), Vec::new()),
    }
}

/// Observer that hands on to the sweep, and keeps the times of the commits for its end.
struct Last<'r> {
    sweep: Sweep<'r>,
    committed: Vec<u64>,
}

impl Watch for Last<'_> {
    fn placed(&mut self, slot: &Slot, wait: &Wait, committed: &[u64]) {
        self.sweep.placed(slot, wait, committed);
        if slot.first as usize + 1 == self.sweep.len() {
            self.committed = committed.to_vec();
        }
    }
}
