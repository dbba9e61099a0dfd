//! Stop points of a replay: before a time, at or before a transaction, or before a position.

use paraply_core::gtid::{Gtid, GtidSet};

use crate::event::{Event, types};
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
    /// Before the first transaction that does not begin before this position: a file's base name, and the offset. In a
    /// relay log that is still written it is a position of the source's log.
    pub position: Option<(String, u64)>,
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

/// The start of a transaction in the log that the stop's position refers to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Begin {
    /// Base name of the file.
    pub file: String,
    /// Offset.
    pub offset: u64,
}

impl StopPoint {
    /// Returns the stop if a transaction is the stop point; its `included` is true if the transaction is still applied.
    ///
    /// `begin` is its start in the log that a position refers to.
    pub fn meets(&self, transaction: &Transaction, begin: &Begin) -> Option<StopPlace> {
        let gtid = match &transaction.identity {
            Identity::Gtid(gtid) => Some(gtid),
            Identity::Anonymous => None,
        };
        let is = |wanted: &Option<Gtid>| wanted.is_some() && wanted.as_ref() == gtid;
        let late = self.time.zip(transaction.committed_at).is_some_and(|(stop, time)| time >= stop);
        let reached = self.position.as_ref().is_some_and(|(file, offset)| begin.is_at_or_after(file, *offset));
        let beyond = late || is(&self.before) || reached;
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

impl Begin {
    /// Notes where in the source's log a transaction begins, which a relay log's events state; `is_open` is true inside
    /// of one.
    pub(crate) fn note(&mut self, event: &Event<'_>, is_open: bool) {
        if event.header.type_code == types::ROTATE {
            if let Some(name) = event.body().get(8..) {
                self.file = String::from_utf8_lossy(name).into_owned();
            }
        } else if !is_open {
            self.offset = u64::from(event.header.log_pos).saturating_sub(u64::from(event.header.event_size));
        }
    }

    /// Returns true if the place is not before this position; files of one name are ordered by the number at its end.
    fn is_at_or_after(&self, file: &str, offset: u64) -> bool {
        if self.file == file {
            return self.offset >= offset;
        }
        match (split_number(&self.file), split_number(file)) {
            (Some((stem, number)), Some((wanted, limit))) => stem == wanted && number > limit,
            _ => false,
        }
    }
}

/// Returns a log file's base name without its number, and the number.
fn split_number(name: &str) -> Option<(&str, u64)> {
    let (stem, number) = name.rsplit_once('.')?;
    Some((stem, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::Begin;

    #[test]
    fn files_are_ordered_by_their_numbers() {
        let begin = Begin { file: "binlog.000010".to_owned(), offset: 200 };
        assert!(begin.is_at_or_after("binlog.000010", 200) && begin.is_at_or_after("binlog.000009", 500));
        assert!(!begin.is_at_or_after("binlog.000010", 201) && !begin.is_at_or_after("binlog.000011", 4));
        assert!(!begin.is_at_or_after("relay.000009", 4) && !begin.is_at_or_after("saved", 4));
    }
}
