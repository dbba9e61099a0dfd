//! Prediction of certification conflicts, if the sessions of a log wrote to several members of a group (R2).
//!
//! A transaction is rejected if another one that changed the same key was certified before it and after its snapshot. Its
//! snapshot is as old as the transaction takes, and the messages of the other members are later by the latency. Sessions
//! are taken to be spread over the primaries by chance; those of one session are on one primary.

use std::collections::HashMap;
use std::mem::swap;

use super::hot::HotKeys;
use crate::certifier::Seeds;

/// Number of keys for which conflicts are counted.
const MOST_KEYS: usize = 1 << 16;
/// Number of keys of a generation beyond which it is closed, whatever the time.
const MOST_RECENT: usize = 1 << 20;

/// Last touches of a key: time and session, and those of the last other session.
#[derive(Debug, Clone, Copy)]
struct Touch {
    time: i64,
    session: u64,
    other: Option<(i64, u64)>,
}

/// A transaction, as the prediction takes it.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    /// Commit time, microseconds.
    pub time: i64,
    /// Time that it takes, microseconds.
    pub duration: i64,
    /// Its session.
    pub session: u64,
    /// Keys that it writes.
    pub items: &'a [u64],
}

/// Prediction for a number of primaries.
#[derive(Debug)]
pub struct Prediction {
    /// Chance that two sessions are on different primaries.
    chance: f64,
    latency: i64,
    recent: HashMap<u64, Touch, Seeds>,
    older: HashMap<u64, Touch, Seeds>,
    /// Time when the newer generation began.
    began: i64,
    /// Greatest time so far.
    now: i64,
    conflicts: f64,
    written: u64,
    keys: HashMap<u64, f64, Seeds>,
    hot: HotKeys,
}

impl Prediction {
    /// Creates a prediction for a number of primaries and a latency of messages in microseconds.
    pub fn new(primaries: u32, latency: i64) -> Self {
        let primaries = f64::from(primaries.max(1));
        Self {
            chance: (primaries - 1.0) / primaries,
            latency,
            recent: HashMap::default(),
            older: HashMap::default(),
            began: i64::MIN,
            now: i64::MIN,
            conflicts: 0.0,
            written: 0,
            keys: HashMap::default(),
            hot: HotKeys::default(),
        }
    }

    /// Adds the next transaction; returns the keys of its conflicts whose names should be found.
    pub fn add(&mut self, write: &Write<'_>) -> Vec<u64> {
        self.now = self.now.max(write.time);
        self.turn_over(write.duration);
        let since = write.time - self.latency - write.duration;
        let mut conflict = None;
        let mut wanted = Vec::new();
        for &key in write.items {
            let known = self.recent.get(&key).or_else(|| self.older.get(&key)).copied();
            let others = known.and_then(|touch| {
                if touch.session == write.session { touch.other } else { Some((touch.time, touch.session)) }
            });
            if others.is_some_and(|(time, _)| time > since) {
                conflict = conflict.or(Some(key));
                if self.keys.len() < MOST_KEYS || self.keys.contains_key(&key) {
                    *self.keys.entry(key).or_default() += self.chance;
                }
                if self.hot.count(key) {
                    wanted.push(key);
                }
            }
            self.recent.insert(key, Touch { time: write.time, session: write.session, other: others });
        }
        self.written += 1;
        self.conflicts += if conflict.is_some() { self.chance } else { 0.0 };
        wanted
    }

    /// Returns the expected number of conflicts.
    pub fn conflicts(&self) -> f64 {
        self.conflicts
    }

    /// Returns the number of transactions with a session and a time.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the keys with most conflicts.
    pub fn hottest(&self, most: usize) -> Vec<(u64, f64)> {
        let mut keys: Vec<_> = self.keys.iter().map(|(key, count)| (*key, *count)).collect();
        keys.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        keys.truncate(most);
        keys
    }

    /// Forgets the older half of the touches once they are older than any snapshot.
    fn turn_over(&mut self, duration: i64) {
        let window = self.latency + duration.max(1_000_000);
        if self.began == i64::MIN {
            self.began = self.now;
        }
        if self.now - self.began > window || self.recent.len() > MOST_RECENT {
            swap(&mut self.recent, &mut self.older);
            self.recent.clear();
            self.began = self.now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conflicts(latency: i64, writes: &[(i64, u64, &[u64])]) -> f64 {
        let mut prediction = Prediction::new(2, latency);
        for (time, session, items) in writes {
            prediction.add(&Write { time: *time, duration: 0, session: *session, items });
        }
        prediction.conflicts()
    }

    #[test]
    fn r2_another_session_within_the_latency_conflicts() {
        assert!((conflicts(10, &[(100, 1, &[7]), (105, 2, &[7]), (106, 2, &[8])]) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn r2_the_same_session_and_older_transactions_do_not_conflict() {
        assert!(conflicts(10, &[(100, 1, &[7]), (105, 1, &[7])]) < 1e-9);
        assert!(conflicts(10, &[(100, 1, &[7]), (111, 2, &[7])]) < 1e-9);
    }

    #[test]
    fn r2_the_last_other_session_is_remembered() {
        assert!((conflicts(10, &[(100, 1, &[7]), (101, 2, &[7]), (102, 2, &[7])]) - 1.0).abs() < 1e-9);
    }
}
