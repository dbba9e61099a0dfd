//! Changes in statement format that are passed over, because an apply does not need them (rule R27).

use paraply_core::gtid::GtidSet;

use crate::error::Fault;
use crate::event::query::QueryEvent;
use crate::read::piece::Place;
use crate::read::skip_list::SkipList;
use crate::rows::filter::TableFilter;
use crate::transaction::{Identity, Transaction};

/// Transactions and databases whose changes in statement format are passed over; by default none.
#[derive(Debug, Clone, Default)]
pub struct PassedOver {
    /// Every transaction: for a look at a log that is not applied.
    pub everything: bool,
    /// Transactions that the target holds.
    pub executed: GtidSet,
    /// The same for transactions without GTID: those that begin before this place.
    pub after: Option<Place>,
    /// Transactions that are left out by name.
    pub skipped: SkipList,
    /// Tables that are applied.
    pub tables: TableFilter,
}

impl PassedOver {
    /// Returns true if a transaction is not applied, so that its content does not matter.
    pub(crate) fn holds(&self, transaction: &Transaction) -> bool {
        match &transaction.identity {
            Identity::Gtid(gtid) => {
                self.everything || self.executed.contains(gtid) || self.skipped.names(&transaction.identity)
            }
            Identity::Anonymous => self.holds_place(Place { file: transaction.file, offset: transaction.offset }),
        }
    }

    /// Returns true if an event at this place is not of a transaction that is applied.
    pub(crate) fn holds_place(&self, place: Place) -> bool {
        self.everything || self.after.is_some_and(|after| place < after)
    }

    /// Returns true if the filter leaves out every database that the statement used, triggers and functions included.
    ///
    /// Only MySQL logs these databases, and only up to a limit; without them the answer is no.
    pub(crate) fn leaves_out(&self, query: &QueryEvent<'_>) -> Result<bool, Fault> {
        if self.tables.is_empty() {
            return Ok(false);
        }
        let databases = query.updated_databases()?;
        Ok(!databases.is_empty() && databases.iter().all(|name| self.tables.leaves_out(name)))
    }
}
