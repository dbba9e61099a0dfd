//! Times that DDL statements took on the source, as far as a log shows them.

use std::collections::HashMap;

use paraply_binlog::transaction::{Kind, Transaction};

/// Number of sessions whose last commit is remembered.
const MOST_SESSIONS: usize = 1 << 16;
const SECOND_US: u64 = 1_000_000;

/// Estimate of the time of each DDL statement.
///
/// A log has it in whole seconds of the clock. It also has the time at which the session committed before: the statement
/// did not begin earlier. Without that bound a statement that a client sent again with `SET TIMESTAMP`, or that another
/// replica logged long after its source, would seem to have taken hours.
#[derive(Debug, Default)]
pub(crate) struct StatementTimes {
    last_commits: HashMap<u64, i64>,
}

impl StatementTimes {
    /// Returns the microseconds of a transaction's DDL statement, 0 if they are not known; none if it has no such statement.
    pub(crate) fn observe(&mut self, transaction: &Transaction, session: Option<u64>) -> Option<u64> {
        let statement = transaction.statements.last().map(|one| (one.timestamp, one.seconds));
        let end = transaction.committed_at.map(|committed_at| end(statement, committed_at));
        let before = session.zip(end).and_then(|(session, end)| {
            if self.last_commits.len() >= MOST_SESSIONS {
                self.last_commits.clear();
            }
            self.last_commits.insert(session, end)
        });
        if transaction.kind != Kind::Ddl {
            return None;
        }
        Some(statement.zip(end).map_or(0, |(times, end)| duration(times, before, end)))
    }
}

/// Returns the time at which a transaction ended, from the second of its last statement's start, that statement's seconds,
/// and the transaction's time in the log.
///
/// MariaDB, and MySQL before 8.0, have no time of the commit: theirs is that of the statement's start. A clock that was set
/// back makes the seconds wrap around, and is told by a sum beyond 32 bits.
fn end(statement: Option<(u32, u32)>, committed_at: i64) -> i64 {
    let finished = statement.filter(|(start, _)| i64::from(*start) * SECOND_US as i64 == committed_at);
    let finished = finished.and_then(|(start, seconds)| start.checked_add(seconds));
    finished.map_or(committed_at, |second| i64::from(second) * SECOND_US as i64)
}

/// Returns the microseconds of a statement from the second of its start and its seconds, the commit of its session before
/// it, and its own.
fn duration((start, seconds): (u32, u32), before: Option<i64>, end: i64) -> u64 {
    let start = i64::from(start) * SECOND_US as i64;
    let earliest = before.map_or(start, |before| before.max(start));
    let most = u64::try_from(end.saturating_sub(earliest)).unwrap_or(0);
    most.min(u64::from(seconds) * SECOND_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = SECOND_US as i64;

    #[test]
    fn a_statement_takes_at_most_the_time_since_the_commit_before_it() {
        let end = 100 * SECOND + 300_000;
        assert_eq!(duration((98, 2), None, end), 2_000_000);
        assert_eq!(duration((98, 2), Some(98 * SECOND + 500_000), end), 1_800_000);
        assert_eq!(duration((100, 0), None, end), 0);
        // Sent again much later, logged late by another replica, and a clock that was set.
        assert_eq!(duration((5, 95), Some(end - 20_000), end), 20_000);
        assert_eq!(duration((98, 50_000), None, end), 2_300_000);
        assert_eq!(duration((200, u32::MAX), None, end), 0);
        assert_eq!(duration((0, u32::MAX), None, i64::MIN), 0);
    }

    #[test]
    fn a_log_with_the_time_of_the_start_gives_the_end_by_the_seconds() {
        // MariaDB: the transaction has the time of the statement's start.
        assert_eq!(end(Some((100, 4)), 100 * SECOND), 104 * SECOND);
        assert_eq!(duration((100, 4), None, 104 * SECOND), 4_000_000);
        // MySQL: the transaction has the time of its commit.
        assert_eq!(end(Some((98, 2)), 100 * SECOND + 300_000), 100 * SECOND + 300_000);
        // A statement in the future of the clock, whose seconds are negative, and a transaction without a statement.
        assert_eq!(end(Some((200, u32::MAX - 99)), 200 * SECOND), 200 * SECOND);
        assert_eq!(end(None, 100 * SECOND), 100 * SECOND);
    }
}
