//! Parameters of a simulation.

use super::cause::{Cause, Causes};
use super::costs::Costs;
use super::recording::{Edge, KeyTag, Recording};

/// An applier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Applier {
    /// `MySQL`'s coordinator and its workers.
    MySql,
    /// The same, but a worker that has to wait for its turn takes the next transaction, and another one commits.
    ChangeStream,
    /// `MariaDB`'s optimistic mode: everything starts, and conflicts are tried again.
    MariaDb,
    /// paraply: exact dependencies, early rows, and several transactions in a commit.
    Paraply,
}

/// Origin of the numbers by which `MySQL`'s coordinator schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Numbers {
    /// As in the log.
    Stamped,
    /// As a source with write sets stamps them (R16).
    WriteSet,
    /// As a group's certifier stamps them (R3, R5).
    Group,
    /// As the keys need them (R13 to R15).
    Fine,
}

/// Causes of waits that a simulation leaves out, to see what they cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Without {
    /// Causes.
    pub causes: Causes,
    /// One key.
    pub key: Option<KeyTag>,
}

impl Without {
    /// Returns true if nothing is left out that concerns keys.
    pub(super) fn keeps_keys(self) -> bool {
        self.causes.is_empty() && self.key.is_none()
    }

    /// Returns true if a dependency is left out.
    pub(super) fn drops(self, recording: &Recording, edge: Edge) -> bool {
        self.key == Some(edge.key.key()) || (!self.causes.is_empty() && self.causes.has(recording.cause(edge.key)))
    }
}

/// One simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// The applier.
    pub applier: Applier,
    /// Origin of the numbers, for `MySQL`'s coordinator.
    pub numbers: Numbers,
    /// Number of workers.
    pub workers: u32,
    /// True if commits keep the log's order.
    pub ordered: bool,
    /// Most transactions of a commit of paraply; 0 for as many as it would choose itself.
    pub merge: u32,
    /// The times.
    pub costs: Costs,
    /// Causes that are left out.
    pub without: Without,
}

impl Setup {
    /// Returns the simulation of an applier with ordered commits.
    pub fn new(applier: Applier, numbers: Numbers, workers: u32, costs: Costs) -> Self {
        Self { applier, numbers, workers, ordered: true, merge: 0, costs, without: Without::default() }
    }
}

/// Time to apply each transaction, and huge ones in parts where they are left out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    costs: Costs,
    /// Time beyond which a transaction is split, and number of parts.
    split: Option<(u64, u64)>,
    /// True if DDL statements take no time.
    without_ddl: bool,
}

impl Times {
    pub(super) fn new(recording: &Recording, setup: &Setup) -> Self {
        let splits = setup.without.causes.has(Cause::HugeTransaction);
        let split = splits.then(|| (recording.huge_from(&setup.costs), u64::from(setup.workers.max(1))));
        Self { costs: setup.costs, split, without_ddl: setup.without.causes.has(Cause::Ddl) }
    }

    pub(super) fn apply(&self, recording: &Recording, index: usize) -> u64 {
        self.costs.transaction_ns + self.rows(recording, index)
    }

    pub(super) fn rows(&self, recording: &Recording, index: usize) -> u64 {
        match self.split {
            Some((huge, parts)) if recording.is_huge(index, &self.costs, huge) => {
                self.costs.rows(recording, index) / parts
            }
            _ if self.without_ddl => self.costs.image(recording, index),
            _ => self.costs.rows(recording, index),
        }
    }
}

/// Needs of one transaction after another, for `MySQL`'s coordinator.
#[derive(Debug)]
pub(super) struct Needs<'r> {
    recording: &'r Recording,
    numbers: Numbers,
    without: Without,
    /// The last barrier and all before it.
    floor: u32,
}

impl<'r> Needs<'r> {
    pub(super) fn new(recording: &'r Recording, numbers: Numbers, without: Without) -> Self {
        Self { recording, numbers, without, floor: 0 }
    }

    /// Returns the need of the next transaction.
    pub(super) fn next(&mut self, index: usize) -> u32 {
        let recording = self.recording;
        match self.numbers {
            Numbers::Stamped if self.without.keeps_keys() => recording.stamped[index],
            Numbers::WriteSet => recording.write_set[index],
            Numbers::Group => recording.group[index],
            Numbers::Fine => self.keys(index),
            Numbers::Stamped => {
                let keys = self.keys(index);
                let stamped = recording.stamped[index];
                match Cause::from_code(recording.narrow[index]) {
                    Some(reason) if self.without.causes.has(reason) => keys,
                    Some(_) => stamped,
                    None => keys.min(stamped),
                }
            }
        }
    }

    /// Returns the version that the keys and the barriers need.
    fn keys(&mut self, index: usize) -> u32 {
        if self.recording.barrier(index).is_some_and(|cause| !self.without.causes.has(cause)) {
            self.floor = index as u32 + 1;
            return index as u32;
        }
        let without = self.without;
        let kept = |edge: &&Edge| without.keeps_keys() || !without.drops(self.recording, **edge);
        self.recording.edges(index).iter().rev().find(kept).map_or(self.floor, |edge| self.floor.max(edge.older + 1))
    }
}
