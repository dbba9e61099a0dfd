//! Totals of a log, and its load over time, in bounded memory.

use std::collections::HashSet;

use super::recomputed::Entry;
use crate::certifier::Seeds;

/// Most spans of time; when there are more, each two become one.
const MOST_SPANS: usize = 512;
/// Number of sessions that are counted.
const MOST_SESSIONS: usize = 1 << 18;
const SECOND: i64 = 1_000_000;

/// Transactions, rows and bytes of a span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Transactions.
    pub transactions: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes in the log.
    pub bytes: u64,
}

impl Load {
    fn add(&mut self, other: Self) {
        self.transactions += other.transactions;
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

/// Totals of the transactions so far.
#[derive(Debug, Default)]
pub struct Totals {
    /// Everything.
    pub load: Load,
    /// Transactions that run alone.
    pub barriers: u64,
    /// Earliest and latest commit time, microseconds since 1970.
    pub times: Option<(i64, i64)>,
    /// True if no commit time has a part of a second.
    pub whole_seconds: bool,
    sessions: HashSet<u64, Seeds>,
    spans: Vec<Load>,
    /// Start of the first span, and length of each, microseconds.
    begin: i64,
    length: i64,
}

impl Totals {
    /// Adds a transaction with its commit time.
    pub fn add(&mut self, entry: &Entry<'_>, time: Option<i64>) {
        let load = Load { transactions: 1, rows: entry.rows, bytes: entry.bytes };
        self.load.add(load);
        self.barriers += u64::from(entry.barrier.is_some());
        if let Some(session) = entry.session.filter(|_| self.sessions.len() < MOST_SESSIONS) {
            self.sessions.insert(session);
        }
        if let Some(time) = time {
            self.add_time(load, time);
        }
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    /// Returns the start of the first span, the length of each in microseconds, and the load of each.
    pub fn spans(&self) -> (i64, i64, &[Load]) {
        (self.begin, self.length, &self.spans)
    }

    fn add_time(&mut self, load: Load, time: i64) {
        match &mut self.times {
            None => {
                self.times = Some((time, time));
                self.whole_seconds = true;
                (self.begin, self.length) = (time.div_euclid(SECOND) * SECOND, SECOND);
            }
            Some((earliest, latest)) => {
                *earliest = time.min(*earliest);
                *latest = time.max(*latest);
            }
        }
        self.whole_seconds &= time % SECOND == 0;
        // A time before the first one, of another server's clock, counts for the first span.
        let mut place = ((time - self.begin) / self.length).max(0) as usize;
        while place >= MOST_SPANS {
            let pairs = self.spans.chunks(2).map(|pair| {
                let mut sum = Load::default();
                for load in pair {
                    sum.add(*load);
                }
                sum
            });
            self.spans = pairs.collect();
            self.length *= 2;
            place /= 2;
        }
        if self.spans.len() <= place {
            self.spans.resize(place + 1, Load::default());
        }
        if let Some(span) = self.spans.get_mut(place) {
            span.add(load);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_become_longer_and_keep_their_sum() {
        let mut totals = Totals::default();
        for second in 0..5000 {
            totals.add(&Entry { rows: 2, session: Some(second % 7), ..Entry::default() }, Some(second as i64 * SECOND));
        }
        let (begin, length, spans) = totals.spans();
        assert_eq!((begin, length, spans.len()), (0, 16 * SECOND, 313));
        assert_eq!(spans.iter().map(|load| load.rows).sum::<u64>(), totals.load.rows);
        assert_eq!((totals.sessions(), totals.whole_seconds), (7, true));
        totals.add(&Entry::default(), Some(i64::from(u32::MAX) * 1000 + 1));
        assert!(!totals.whole_seconds);
    }
}
