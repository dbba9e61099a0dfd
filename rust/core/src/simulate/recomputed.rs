//! The numbers that a source's tracker and a group's certifier would stamp, and reasons why they are narrower than the keys.

use super::cause::Cause;
use super::recording::{Identity, Place};
use crate::certifier::{Candidate, Certifier, Kind, Options, Outcome};
use crate::tracker::{Change, Mode, Restart, Rules, Sessions, Source};

/// Number of items beyond which the certifier's are collected, as a group does every minute.
const MOST_ITEMS: usize = 1 << 21;

/// Changes of a transaction in the form that a source's tracker and a certifier take.
#[derive(Debug, Clone, Copy)]
pub struct SourceEntry<'a> {
    /// Its changes, as the tracker takes them.
    pub change: Change<'a>,
    /// The distinct hashes of its write set under scheme `group`.
    pub items: &'a [u64],
    /// True if the certifier takes it as a barrier.
    pub barrier: bool,
    /// True if it changes a table that is some foreign key's parent.
    pub parent: bool,
}

/// One transaction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entry<'a> {
    /// Its place in the log.
    pub place: Place,
    /// Its identity.
    pub identity: Identity,
    /// Number of its rows.
    pub rows: u64,
    /// Bytes in the log.
    pub bytes: u64,
    /// Keys that it takes exclusively, under scheme `fine`.
    pub exclusive: &'a [u64],
    /// Keys that it shares.
    pub shared: &'a [u64],
    /// Reason why it runs alone, if it does.
    pub barrier: Option<Cause>,
    /// Microseconds that its DDL statement took on the source, 0 if they are not known; none if it has no such statement.
    pub statement_us: Option<u64>,
    /// Its `last_committed` and `sequence_number`.
    pub stamp: Option<(i64, i64)>,
    /// The session that wrote it.
    pub session: Option<u64>,
    /// Its changes in the form that a source's tracker and a certifier take.
    pub source: Option<SourceEntry<'a>>,
}

/// Needs of a transaction under both schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Again {
    pub(super) write_set: u32,
    pub(super) group: u32,
    own: Option<Cause>,
}

/// Both computations.
#[derive(Debug)]
pub(super) struct Recomputed {
    source: Source,
    certifier: Certifier,
    file: Option<u32>,
    /// Index of the file's first transaction.
    base: u32,
    /// Need of transactions after the last restart of the tracker's history, and its reason.
    restarted: (u32, Cause),
    /// Need of transactions after the last collection of a group.
    collected: u32,
    /// Number of transactions, of those whose stamped need is the certifier's, and of collections.
    seen: u64,
    like_group: u64,
    collections: u64,
}

impl Recomputed {
    pub(super) fn new(history: u64) -> Self {
        let rules = Rules { history_size: history, repeats_count_once: false };
        Self {
            source: Source::new(Mode::WriteSet, rules, Sessions::Logged),
            certifier: Certifier::new(Options { first_remote_alone: false, ..Options::default() }),
            file: None,
            base: 0,
            restarted: (0, Cause::Rotation),
            collected: 0,
            seen: 0,
            like_group: 0,
            collections: 0,
        }
    }

    /// Returns the needs of the next transaction; none if its write set is not known.
    pub(super) fn next(&mut self, index: u32, entry: &Entry<'_>) -> Option<Again> {
        let source = entry.source?;
        self.seen += 1;
        let new_file = self.file.replace(entry.place.file) != Some(entry.place.file);
        if new_file {
            self.source.rotate();
            self.base = index;
            self.restarted = (index + 1, Cause::Rotation);
        }
        let write_set = self.track(index, entry, &source);
        let group = self.certify(&source);
        Some(Again { write_set, group, own: own_reason(&source) })
    }

    /// Returns the need by the tracker. It depends on the order of commits: that of the log's own numbers where they are a
    /// source's, else of the sessions; without both each transaction began after the one before had committed.
    fn track(&mut self, index: u32, entry: &Entry<'_>, source: &SourceEntry<'_>) -> u32 {
        let number = i64::from(index - self.base) + 1;
        let session = entry.session.map(|session| session as u32);
        let bounds = self.source.observe(number, session, &source.change);
        let parent = match entry.stamp {
            Some((last_committed, stamped)) if stamped == number => bounds.nearest(last_committed),
            _ if session.is_some() => bounds.least,
            _ => bounds.most,
        };
        if let Some(restart) = self.source.last_restart() {
            let why = match restart {
                Restart::Overflow => Cause::HistoryOverflow,
                Restart::Untracked if source.parent => Cause::ForeignKeyParent,
                Restart::Untracked => Cause::Ddl,
            };
            self.restarted = (index + 1, why);
        }
        self.base + u32::try_from(parent).unwrap_or(0)
    }

    fn certify(&mut self, source: &SourceEntry<'_>) -> u32 {
        if self.certifier.items_held() > MOST_ITEMS {
            self.certifier.open_window();
            while self.certifier.sweep_step() {}
        }
        let kind = if source.barrier { Kind::Barrier } else { Kind::Rows };
        let outcome = self.certifier.certify(&Candidate { items: source.items, kind, ..Candidate::default() });
        let numbers = match outcome {
            Outcome::Certified { numbers, .. } => numbers,
            Outcome::Rejected(_) => None,
        };
        // R1: the first number is 2, and 1 is what everything depends on at the start.
        numbers.map_or(0, |numbers| u32::try_from(numbers.last_committed - 1).unwrap_or(0))
    }

    /// Compares a stamped need with the computed ones; returns the reason why it is greater than the keys', if known.
    pub(super) fn compare(&mut self, index: u32, stamped: u32, again: &Again) -> Option<Cause> {
        if self.is_group() && stamped == index && stamped > again.group.max(self.collected) {
            // R7: the first transaction after a collection depends on all before it.
            self.collected = stamped;
            self.collections += 1;
        }
        self.like_group += u64::from(stamped == again.group.max(self.collected));
        if self.is_group() && stamped == self.collected && stamped > again.group {
            return Some(Cause::GarbageCollection);
        }
        let restarted = stamped == again.write_set && self.restarted.0 == stamped;
        again.own.or_else(|| restarted.then_some(self.restarted.1))
    }

    /// Returns true if nearly all numbers so far are a certifier's, with few collections.
    fn is_group(&self) -> bool {
        self.like_group >= 16 && self.like_group * 10 >= self.seen * 9 && self.collections * 50 <= self.seen
    }
}

/// Returns the reason why a source does not track a transaction by its keys.
fn own_reason(source: &SourceEntry<'_>) -> Option<Cause> {
    match source.change {
        Change::Untracked if source.parent => Some(Cause::ForeignKeyParent),
        Change::Untracked => Some(Cause::UnknownSchema),
        Change::Rows { missing_keys: true, .. } => Some(Cause::NoKey),
        Change::Rows { .. } => None,
    }
}
