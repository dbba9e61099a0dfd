//! Division of a schedule's lost time among its causes.
//!
//! Time is lost where fewer workers are busy than the largest number that is looked at. At each moment it belongs to
//! what keeps the coordinator from handing out the next transaction.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use super::cause::Cause;
use super::coordinator::{Slot, Wait, Watch};
use super::recording::{KeyTag, Recording};
use super::setup::Setup;

/// Time lost for one cause, and for one key where there is one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The cause.
    pub cause: Cause,
    /// The key that transactions had in common.
    pub key: Option<KeyTag>,
    /// Part of the schedule's time, in seconds.
    pub seconds: f64,
}

/// Number of keys for which time is kept; the rest counts for the cause alone.
const MOST_KEYS: usize = 1 << 16;

/// Lost time in nanoseconds of workers.
#[derive(Debug, Default)]
pub(super) struct Tally {
    causes: BTreeMap<Cause, f64>,
    keys: HashMap<(Cause, KeyTag), f64>,
}

impl Tally {
    pub(super) fn add(&mut self, cause: Cause, key: Option<KeyTag>, time: f64) {
        *self.causes.entry(cause).or_default() += time;
        if let Some(key) = key
            && (self.keys.len() < MOST_KEYS || self.keys.contains_key(&(cause, key.key())))
        {
            *self.keys.entry((cause, key.key())).or_default() += time;
        }
    }

    /// Returns the parts of `seconds`, the largest first: each cause, and after it its keys.
    pub(super) fn divide(&self, seconds: f64, most_keys: usize) -> Vec<Loss> {
        let sum: f64 = self.causes.values().sum();
        let part = |time: f64| if sum > 0.0 { time / sum * seconds } else { 0.0 };
        let mut causes: Vec<_> = self.causes.iter().filter(|(_, time)| **time > 0.0).collect();
        causes.sort_by(|a, b| b.1.total_cmp(a.1));
        let mut losses = Vec::new();
        for (&cause, &time) in causes {
            losses.push(Loss { cause, key: None, seconds: part(time) });
            let mut keys: Vec<_> = self.keys.iter().filter(|((of, _), _)| *of == cause).collect();
            keys.sort_by(|a, b| b.1.total_cmp(a.1).then_with(|| a.0.cmp(b.0)));
            let kept = keys.into_iter().take(most_keys);
            losses.extend(kept.map(|((_, key), time)| Loss { cause, key: Some(*key), seconds: part(*time) }));
        }
        losses
    }
}

/// Observer of the coordinator that divides its waits.
pub(super) struct Sweep<'r> {
    recording: &'r Recording,
    setup: &'r Setup,
    /// Largest number of workers that is looked at.
    most: u32,
    huge_from: u64,
    pub(super) tally: Tally,
    /// Times when the busy workers will not be busy any more.
    running: BinaryHeap<Reverse<u64>>,
    now: u64,
    /// First transaction that is not committed now.
    oldest: usize,
    /// The last barrier, as a need.
    floor: u32,
}

impl<'r> Sweep<'r> {
    pub(super) fn new(recording: &'r Recording, setup: &'r Setup, most: u32) -> Self {
        Self {
            recording,
            setup,
            most: most.max(setup.workers),
            huge_from: recording.huge_from(&setup.costs),
            tally: Tally::default(),
            running: BinaryHeap::new(),
            now: 0,
            oldest: 0,
            floor: 0,
        }
    }

    /// Returns the number of transactions.
    pub(super) fn len(&self) -> usize {
        self.recording.len()
    }

    /// Divides the time after the last transaction was handed out.
    pub(super) fn finish(&mut self, total: u64, committed: &[u64]) {
        self.pass(total, committed, (Cause::EndOfLog, None));
    }

    /// Moves on to `until`; `cause` is to blame for the workers that are not busy.
    fn pass(&mut self, until: u64, committed: &[u64], cause: (Cause, Option<KeyTag>)) {
        let most = self.most as usize;
        self.pass_by(until, committed, |sweep, busy, time| {
            sweep.tally.add(cause.0, cause.1, most.saturating_sub(busy) as f64 * time);
        });
    }

    /// Moves on to `until`, while no worker is free: some wait for their turn, and those that are missing are too few.
    fn pass_without_workers(&mut self, until: u64, committed: &[u64]) {
        let (most, workers) = (self.most as usize, self.setup.workers as usize);
        self.pass_by(until, committed, |sweep, busy, time| {
            let waiting = workers.saturating_sub(busy);
            sweep.tally.add(Cause::CommitOrder, None, waiting as f64 * time);
            sweep.tally.add(Cause::TooFewWorkers, None, (most - workers) as f64 * time);
        });
    }

    /// Calls `blame` with the number of busy workers and each piece of time up to `until`, unless a huge transaction is to
    /// blame.
    fn pass_by(&mut self, until: u64, committed: &[u64], blame: impl Fn(&mut Self, usize, f64)) {
        while self.now < until {
            while self.running.peek().is_some_and(|Reverse(end)| *end <= self.now) {
                self.running.pop();
            }
            while committed.get(self.oldest + 1).is_some_and(|end| *end <= self.now) {
                self.oldest += 1;
            }
            let next = self.running.peek().map_or(until, |Reverse(end)| until.min(*end));
            let busy = self.running.len();
            let time = (next - self.now) as f64;
            if self.is_huge(self.oldest) {
                let idle = (self.most as usize).saturating_sub(busy);
                self.tally.add(Cause::HugeTransaction, None, idle as f64 * time);
            } else {
                blame(self, busy, time);
            }
            self.now = next;
        }
    }

    fn is_huge(&self, index: usize) -> bool {
        index < self.recording.len() && self.recording.is_huge(index, &self.setup.costs, self.huge_from)
    }

    /// Returns the version that the keys of a transaction need, and its cause.
    fn key_need(&mut self, index: usize) -> (u32, Cause, Option<KeyTag>) {
        let recording = self.recording;
        if let Some(cause) = recording.barrier(index) {
            self.floor = index as u32 + 1;
            return (index as u32, cause, None);
        }
        if let Some(edge) = recording.edges(index).last()
            && edge.older + 1 > self.floor
        {
            return (edge.older + 1, recording.cause(edge.key), Some(edge.key));
        }
        let barrier = self.floor.checked_sub(1).and_then(|barrier| recording.barrier(barrier as usize));
        (self.floor, barrier.unwrap_or(Cause::NarrowNumbers), None)
    }
}

impl Watch for Sweep<'_> {
    fn placed(&mut self, slot: &Slot, wait: &Wait, committed: &[u64]) {
        let index = slot.first as usize;
        let (need, cause, key) = self.key_need(index);
        // The numbers may need less than the keys, where a key is not known exactly.
        let by_keys = wait.needed.min(committed[need as usize]);
        self.pass(by_keys, committed, (cause, key));
        let narrow = Cause::from_code(self.recording.narrow[index]).unwrap_or(cause);
        self.pass(wait.needed, committed, (narrow, None));
        self.pass_without_workers(wait.idle, committed);
        self.now = self.now.max(slot.start);
        self.running.push(Reverse(if slot.commit == slot.applied { slot.end } else { slot.applied }));
    }
}

/// Waits of the transactions in the optimistic mode.
#[derive(Debug)]
pub(super) struct Delays {
    pub(super) tally: Tally,
    huge_from: u64,
    /// Cause of the last transaction's late commit.
    root: (Cause, Option<KeyTag>),
}

impl Delays {
    pub(super) fn new(huge_from: u64) -> Self {
        Self { tally: Tally::default(), huge_from, root: (Cause::CommitOrder, None) }
    }

    /// Adds a transaction: its conflict, its wait for or as a barrier, and the times of its delay, of the wait for its turn,
    /// and of its rows.
    pub(super) fn add(
        &mut self,
        conflict: Option<(Cause, Option<KeyTag>)>,
        waited: Option<(Cause, u64)>,
        barrier: Option<Cause>,
        times: &[u64; 3],
    ) {
        let [delay, turn, rows] = *times;
        if let Some((cause, time)) = waited {
            self.tally.add(cause, None, time as f64);
        }
        if let Some((cause, key)) = conflict {
            self.tally.add(cause, key, delay as f64);
        }
        if turn > 0 {
            let (cause, key) = self.root;
            self.tally.add(cause, key, turn as f64);
        } else if barrier.is_none() && rows >= self.huge_from {
            self.root = (Cause::HugeTransaction, None);
        } else {
            let alone = barrier.map(|cause| (cause, None));
            self.root = conflict.or(alone).unwrap_or((Cause::CommitOrder, None));
        }
    }
}
