//! Boundaries of transactions, found event by event and without keeping any.

use paraply_core::gtid::Gtid;

use crate::error::Fault;
use crate::event::gtid_event::{self, GtidEvent};
use crate::event::mariadb::{FL_PREPARED_XA, MariadbGtid};
use crate::event::query::QueryEvent;
use crate::event::text::TextKind;
use crate::event::{Event, flags, types};

/// Position of an event relative to the transactions around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Between two transactions.
    Apart,
    /// Inside a transaction that continues after it.
    Within,
    /// At the end of a transaction: its last event.
    Ends(Ended),
    /// Between two transactions, of which the first was begun and will have no end.
    Interrupts,
}

/// Identity of a transaction that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// None where the log has no GTIDs.
    pub gtid: Option<Gtid>,
    /// Commit time on its original source, microseconds since 1970, UTC; whole seconds where the log has no better.
    pub committed_at: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Outside,
    /// A GTID was read; the statement after it shows if there is more.
    Announced,
    /// BEGIN was read, or MariaDB's GTID, which is one.
    Begun,
    /// An XA transaction was begun, which XA PREPARE ends.
    Xa,
}

/// Follows the events of one log.
#[derive(Debug, Clone, Default)]
pub struct Boundary {
    state: State,
    open: Option<Ended>,
}

impl Boundary {
    /// Returns true if a transaction has begun and not yet ended.
    pub fn is_inside(&self) -> bool {
        self.state != State::Outside
    }

    /// Forgets the transaction that has begun.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Takes the next event; a fault means that it is damaged.
    pub fn accept(&mut self, event: &Event<'_>) -> Result<Step, Fault> {
        let type_code = event.header.type_code;
        match type_code {
            types::GTID | types::ANONYMOUS_GTID | types::GTID_TAGGED => {
                let gtid = GtidEvent::parse(type_code, event.body())?;
                Ok(self.begin(State::Announced, event, gtid.gtid, gtid.committed_at))
            }
            types::MARIADB_GTID if event.format.mariadb => {
                let gtid = MariadbGtid::parse(event.body(), event.header.server_id)?;
                let state = match () {
                    () if gtid.is_standalone() => State::Announced,
                    () if gtid.flags & FL_PREPARED_XA != 0 => State::Xa,
                    () => State::Begun,
                };
                Ok(self.begin(state, event, Some(gtid.gtid), None))
            }
            types::QUERY => self.query(event),
            types::MARIADB_QUERY_COMPRESSED if event.format.mariadb => self.query(event),
            types::XID | types::TRANSACTION_PAYLOAD => Ok(self.end(event)),
            types::XA_PREPARE => {
                gtid_event::xa_prepare(event.body())?;
                Ok(self.end(event))
            }
            types::FORMAT_DESCRIPTION | types::ROTATE | types::STOP => {
                let interrupts = self.is_inside() && !event.header.has(flags::RELAY_LOG);
                self.reset();
                Ok(if interrupts { Step::Interrupts } else { Step::Apart })
            }
            _ if self.is_inside() => Ok(Step::Within),
            _ => Ok(Step::Apart),
        }
    }

    fn begin(&mut self, state: State, event: &Event<'_>, gtid: Option<Gtid>, committed_at: Option<i64>) -> Step {
        // An open transaction has lost its end; what follows is whole again.
        let interrupts = self.is_inside();
        self.state = state;
        self.open = Some(Ended { gtid, committed_at: committed_at.unwrap_or_else(|| second_of(event)) });
        if interrupts { Step::Interrupts } else { Step::Within }
    }

    fn query(&mut self, event: &Event<'_>) -> Result<Step, Fault> {
        let kind = QueryEvent::parse(event.header.type_code, event.body(), event.format)?.kind()?;
        if kind == TextKind::Nothing {
            return Ok(if self.is_inside() { Step::Within } else { Step::Apart });
        }
        let begins = matches!(kind, TextKind::Begin | TextKind::XaStart | TextKind::Ddl { opens_transaction: true });
        if begins {
            // A transaction of a log without GTIDs starts with its first statement.
            self.open.get_or_insert_with(|| Ended { gtid: None, committed_at: second_of(event) });
            self.state = if kind == TextKind::XaStart { State::Xa } else { State::Begun };
            return Ok(Step::Within);
        }
        let inside = matches!(self.state, State::Begun | State::Xa);
        let ends = match kind {
            TextKind::Commit | TextKind::Rollback | TextKind::XaFinish { .. } => true,
            TextKind::Savepoint(_) | TextKind::ReleaseSavepoint | TextKind::RollbackTo(_) | TextKind::XaEnd => false,
            _ => !inside,
        };
        Ok(if ends { self.end(event) } else { Step::Within })
    }

    fn end(&mut self, event: &Event<'_>) -> Step {
        self.state = State::Outside;
        let apart = || Ended { gtid: None, committed_at: second_of(event) };
        Step::Ends(self.open.take().unwrap_or_else(apart))
    }
}

fn second_of(event: &Event<'_>) -> i64 {
    i64::from(event.header.timestamp) * 1_000_000
}
