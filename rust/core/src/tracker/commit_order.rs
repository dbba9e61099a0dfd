//! The commit-order parent, as far as a log shows it: the newest transaction that had committed when this one began to
//! commit.

use std::collections::HashMap;

use super::bounds::Bounds;

/// Knowledge of the sessions of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Sessions {
    /// The log names the session of each transaction.
    #[default]
    Logged,
    /// One session, or several that never overlapped.
    Single,
    /// Sessions that may all overlap: only the upper bound is known.
    Many,
}

/// Number of sessions remembered before all of them are forgotten, which only makes the bounds wider.
const MOST_SESSIONS: usize = 100_000;

/// The order of commits in one log file.
#[derive(Debug, Clone, Default)]
pub struct CommitOrder {
    sessions: Sessions,
    last: HashMap<u32, i64>,
}

impl CommitOrder {
    /// Creates the state at the beginning of a log file.
    pub fn new(sessions: Sessions) -> Self {
        Self { sessions, last: HashMap::new() }
    }

    /// Begins a new log file: parents in an older one are stamped 0.
    pub fn rotate(&mut self) {
        self.last.clear();
    }

    /// Returns the number of the session's last transaction in this file; 0 where there is none.
    pub fn last_of(&self, session: Option<u32>) -> i64 {
        session.and_then(|session| self.last.get(&session)).copied().unwrap_or(0)
    }

    /// Returns the bounds of the next transaction's commit-order parent.
    pub fn observe(&mut self, number: i64, session: Option<u32>) -> Bounds {
        let most = (number - 1).max(0);
        let least = match self.sessions {
            Sessions::Single => most,
            Sessions::Many => 0,
            Sessions::Logged => self.last_of(session).min(most),
        };
        if let Some(session) = session {
            if self.last.len() >= MOST_SESSIONS {
                self.last.clear();
            }
            self.last.insert(session, number);
        }
        Bounds { least, most }
    }
}
