//! Recording of a log's transactions, one after another, in bounded memory besides some tens of bytes for each.

use std::collections::HashMap;

use super::cause::Cause;
use super::hot::HotKeys;
use super::recomputed::{Entry, Recomputed};
use super::recording::{Edge, KeyTag, Recording};
use super::stamps::Stamps;
use crate::certifier::Seeds;
use crate::schedule::DependencyTracker;

/// Number of keys beyond which dependencies on the oldest transactions are forgotten.
const MOST_KEYS: usize = 3 << 19;
/// Number of transactions that are never forgotten: more than any applier has in progress.
const IN_PROGRESS: u32 = 20_000;
/// Most dependencies that are kept for a transaction, the newest ones.
const MOST_EDGES: usize = 64;
/// Number of sessions and of shared keys that are remembered.
const MOST_REMEMBERED: usize = 1 << 18;

/// Recorder of the transactions of a log.
#[derive(Debug)]
pub struct Recorder {
    recording: Recording,
    tracker: DependencyTracker,
    recomputed: Recomputed,
    stamps: Stamps,
    sessions: HashMap<u64, u32, Seeds>,
    /// The last transaction that touched each shared key.
    sharers: HashMap<u64, u32, Seeds>,
    hot: HotKeys,
    wanted: Vec<(u32, u64)>,
    /// The last barrier and all before it.
    floor: u32,
    found: Vec<Edge>,
}

impl Recorder {
    /// Creates a recorder; `history` is the size of the history of a source's tracker.
    pub fn new(history: u64) -> Self {
        Self {
            recording: Recording { first_edges: vec![0], ..Recording::default() },
            tracker: DependencyTracker::new(),
            recomputed: Recomputed::new(history),
            stamps: Stamps::default(),
            sessions: HashMap::default(),
            sharers: HashMap::default(),
            hot: HotKeys::default(),
            wanted: Vec::new(),
            floor: 0,
            found: Vec::new(),
        }
    }

    /// Returns the number of transactions so far.
    pub fn len(&self) -> usize {
        self.recording.len()
    }

    /// Returns true if there are no transactions yet.
    pub fn is_empty(&self) -> bool {
        self.recording.is_empty()
    }

    /// Adds the next transaction.
    pub fn add(&mut self, entry: &Entry<'_>) {
        let index = self.recording.len() as u32;
        self.recording.rows.push(u32::try_from(entry.rows).unwrap_or(u32::MAX));
        self.recording.bytes.push(u32::try_from(entry.bytes).unwrap_or(u32::MAX));
        self.recording.barriers.push(entry.barrier.map_or(0, Cause::code));
        if let Some(micros) = entry.statement_us {
            self.recording.statements.insert(index, micros);
        }
        self.recording.put_place(entry.place);
        self.recording.put_identity(entry.identity);
        let needed = self.add_edges(index, entry);
        let sibling = self.last_sharer(index, entry.shared);
        let session = self.last_of_session(index, entry.session);
        self.add_numbers(index, entry, needed, sibling, session);
        self.forget(index);
    }

    /// Returns the keys whose names should be found in the transactions since the last call, with their index.
    pub fn take_wanted(&mut self) -> Vec<(u32, u64)> {
        std::mem::take(&mut self.wanted)
    }

    /// Sets the cause of conflicts over a key.
    pub fn set_cause(&mut self, key: u64, cause: Cause) {
        self.recording.set_cause(KeyTag::new(key, false), cause);
    }

    /// Returns the recording, complete.
    pub fn finish(self) -> Recording {
        self.recording
    }

    /// Adds what a transaction has to wait for; returns what its keys and the barriers need.
    fn add_edges(&mut self, index: u32, entry: &Entry<'_>) -> u32 {
        self.found.clear();
        for (keys, shares) in [(entry.exclusive, false), (entry.shared, true)] {
            for key in keys {
                let one = std::slice::from_ref(key);
                let (exclusive, shared): (&[u64], &[u64]) = if shares { (&[], one) } else { (one, &[]) };
                let older = self.tracker.add(u64::from(index) + 1, exclusive, shared, false).blocks;
                if older.is_empty() {
                    continue;
                }
                // Several of them have shared the key, or one has taken it.
                let tag = KeyTag::new(*key, shares || older.len() > 1 || self.sharers.contains_key(key));
                self.found.extend(older.iter().map(|older| Edge { older: (*older - 1) as u32, key: tag }));
                if self.hot.count(*key) {
                    self.wanted.push((index, *key));
                }
            }
        }
        self.found.sort_unstable();
        self.found.dedup_by_key(|edge| edge.older);
        let newest = self.found.len().saturating_sub(MOST_EDGES);
        self.recording.edges.extend_from_slice(&self.found[newest..]);
        self.recording.first_edges.push(self.recording.edges.len() as u32);
        if entry.barrier.is_some() {
            self.floor = index + 1;
            return index;
        }
        self.found.last().map_or(self.floor, |edge| self.floor.max(edge.older + 1))
    }

    /// Returns the need of a transaction that waits for the last one with one of its shared keys.
    fn last_sharer(&mut self, index: u32, shared: &[u64]) -> u32 {
        if self.sharers.len() > MOST_REMEMBERED {
            self.sharers.clear();
        }
        shared.iter().filter_map(|key| self.sharers.insert(*key, index)).map(|older| older + 1).max().unwrap_or(0)
    }

    /// Returns the need of a transaction that waits for the last one of its session.
    fn last_of_session(&mut self, index: u32, session: Option<u64>) -> u32 {
        if self.sessions.len() > MOST_REMEMBERED {
            self.sessions.clear();
        }
        session.and_then(|session| self.sessions.insert(session, index)).map_or(0, |older| older + 1)
    }

    fn add_numbers(&mut self, index: u32, entry: &Entry<'_>, keys: u32, sibling: u32, session: u32) {
        let again = self.recomputed.next(index, entry);
        if let Some(again) = again {
            self.recording.has_recomputed = true;
            self.recording.write_set.push(again.write_set);
            self.recording.group.push(again.group);
        } else {
            self.recording.write_set.push(index);
            self.recording.group.push(index);
        }
        let Some((last_committed, number)) = entry.stamp else {
            self.recording.stamped.push(index);
            self.recording.narrow.push(0);
            return;
        };
        self.recording.has_stamps = true;
        let stamped = self.stamps.next(index, entry.place.file, last_committed, number);
        let need = stamped.need.min(index);
        self.recording.stamped.push(need);
        let known = again.and_then(|again| self.recomputed.compare(index, need, &again));
        let narrow = if need <= keys {
            None
        } else if stamped.starts_over {
            Some(Cause::Rotation)
        } else if need == sibling {
            Some(Cause::ForeignKeyParent)
        } else {
            Some(known.unwrap_or(if need == session { Cause::SessionOrder } else { Cause::NarrowNumbers }))
        };
        self.recording.narrow.push(narrow.map_or(0, Cause::code));
    }

    fn forget(&mut self, index: u32) {
        if self.tracker.keys_held() > MOST_KEYS {
            self.tracker.forget_up_to(u64::from(index.saturating_sub(IN_PROGRESS)));
        }
    }
}
