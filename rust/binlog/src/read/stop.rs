//! Where a replay stops: before a time, at or before a transaction.

use paraply_core::gtid::{Gtid, GtidSet};

use crate::transaction::{Identity, Kind, Transaction};

/// The point behind which nothing is applied; whatever comes first counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StopPoint {
    /// Before the first transaction in the log's order that was not committed earlier: microseconds since 1970, UTC.
    pub time: Option<i64>,
    /// Before this transaction.
    pub before: Option<Gtid>,
    /// Behind this transaction.
    pub after: Option<Gtid>,
    /// Behind the next view change of a group that is not among these (rule R30).
    pub view_change: Option<GtidSet>,
}

/// The transaction at which a log was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopPlace {
    /// The file, as an index into the reader's list.
    pub file: u32,
    /// Offset of its first event.
    pub offset: u64,
    /// Who it is.
    pub identity: Identity,
    /// When the source committed it.
    pub committed_at: Option<i64>,
    /// Whether it is the last one that is applied; otherwise the first that is not.
    pub included: bool,
}

impl StopPoint {
    /// Whether a transaction is the stop; `included` tells whether it is still applied.
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
