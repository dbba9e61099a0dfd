//! Selection of transactions of a log, by conditions on their headers.

use paraply_core::gtid::Gtid;

use crate::event::types::TABLE_MAP;
use crate::read::skip_list::SkipList;
use crate::rows::filter::TableFilter;
use crate::rows::image_cursor::Decoded;
use crate::rows::row_walk::RowsError;
use crate::rows::table_map::name_of;
use crate::transaction::{Identity, Kind, Transaction};

/// Conditions that a transaction must meet, all of them; an absent condition is always met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// First and last position.
    pub positions: (Option<i64>, Option<i64>),
    /// Earliest and latest commit time, both included, microseconds since 1970; transactions without a known time are
    /// then not chosen.
    pub committed: (Option<i64>, Option<i64>),
    /// Kinds, any of which is chosen.
    pub kinds: Option<Vec<Kind>>,
    /// GTIDs, any of which is chosen.
    pub gtids: Option<Vec<Gtid>>,
    /// Transactions that are named, any of which is chosen; GTIDs as sets and ranges.
    pub named: Option<SkipList>,
    /// Servers, any of which is chosen.
    pub server_ids: Option<Vec<u32>>,
    /// Tables of which it must change rows.
    pub tables: TableFilter,
}

impl Selection {
    /// Returns true if a transaction at this position is chosen.
    pub fn chooses(&self, position: i64, transaction: &Transaction) -> Result<bool, RowsError> {
        let told = within(self.positions, Some(position))
            && within(self.committed, transaction.committed_at)
            && one_of(self.kinds.as_deref(), &transaction.kind)
            && one_of(self.server_ids.as_deref(), &transaction.server_id)
            && self.names(&transaction.identity);
        if !told || self.tables.is_empty() {
            return Ok(told);
        }
        for event in transaction.events.iter().filter(|event| event.type_code == TABLE_MAP) {
            let bytes = transaction.data.get(event.range.clone()).unwrap_or_default();
            let chosen: Decoded<bool> =
                name_of(bytes, &transaction.format).map(|(_, name)| self.tables.chooses(&name.database, &name.table));
            if chosen.map_err(|malformed| RowsError::new(transaction, event, malformed))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn names(&self, identity: &Identity) -> bool {
        if self.named.as_ref().is_some_and(|named| !named.names(identity)) {
            return false;
        }
        match (&self.gtids, identity) {
            (None, _) => true,
            (Some(gtids), Identity::Gtid(gtid)) => gtids.contains(gtid),
            (Some(_), Identity::Anonymous) => false,
        }
    }
}

fn within((least, most): (Option<i64>, Option<i64>), value: Option<i64>) -> bool {
    least.is_none_or(|least| value.is_some_and(|value| value >= least))
        && most.is_none_or(|most| value.is_some_and(|value| value <= most))
}

fn one_of<T: PartialEq>(wanted: Option<&[T]>, value: &T) -> bool {
    wanted.is_none_or(|wanted| wanted.contains(value))
}

#[cfg(test)]
mod tests {
    use paraply_core::gtid::GtidSet;

    use super::*;

    #[test]
    fn a_named_set_chooses_its_transactions() {
        let set = GtidSet::new();
        let selection = Selection { named: Some(SkipList::new(set, [(0, 1, 5, 7)])), ..Selection::default() };
        let identity = |text: &str| Identity::Gtid(text.parse().expect("a GTID"));
        assert!(selection.names(&identity("0-1-5")) && selection.names(&identity("0-1-7")));
        assert!(!selection.names(&identity("0-1-8")) && !selection.names(&Identity::Anonymous));
        assert!(Selection::default().names(&Identity::Anonymous));
    }
}
