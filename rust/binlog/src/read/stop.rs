//! Stop points of a replay: before a time, at or before a transaction.

use paraply_core::gtid::{Gtid, GtidSet};

use crate::transaction::{Identity, Kind, Transaction};

/// The point after which nothing is applied; the first condition that is met counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StopPoint {
    /// Before the first transaction in the log's order that was not committed earlier: microseconds since 1970, UTC.
    pub time: Option<i64>,
    /// Before this transaction.
    pub before: Option<Gtid>,
    /// After this transaction.
    pub after: Option<Gtid>,
    /// After the next view change of a group that is not among these (rule R30).
    pub view_change: Option<GtidSet>,
}

/// The transaction at which reading a log stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopPlace {
    /// The file, as an index into the reader's list.
    pub file: u32,
    /// Offset of its first event.
    pub offset: u64,
    /// Identity of the transaction.
    pub identity: Identity,
    /// Commit time on the source.
    pub committed_at: Option<i64>,
    /// True if it is the last transaction that is applied; false if it is the first that is not.
    pub included: bool,
}

impl StopPoint {
    /// Returns the stop if a transaction is the stop point; its `included` is true if the transaction is still applied.
    pub fn meets(&self, transaction: &Transaction) -> Option<StopPlace> {
        let gtid = match &transaction.identity {
            Identity::Gtid(gtid) => Some(gtid),
            Identity::Anonymous => None,
        };
        let is = |wanted: &Option<Gtid>| wanted.is_some() && wanted.as_ref() == gtid;
        let late = self.time.zip(transaction.committed_at).is_some_and(|(stop, time)| time >= stop);
        let beyond = late || is(&self.before);
        let is_new = |held: &GtidSet| !gtid.is_some_and(|gtid| held.contains(gtid));
        let view_change = transaction.kind == Kind::ViewChange && self.view_change.as_ref().is_some_and(is_new);
        (beyond || is(&self.after) || view_change).then(|| StopPlace {
            file: transaction.file,
            offset: transaction.offset,
            identity: transaction.identity.clone(),
            committed_at: transaction.committed_at,
            included: !beyond,
        })
    }
}
