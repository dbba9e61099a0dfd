//! Numbers for a batch of transactions that have all passed already, as those of a relay log have.

use std::hint::black_box;

use super::certify::{AHEAD, Certifier};
use super::{Kind, Numbers};

/// Offsets that do not fit the items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("offsets of transaction {transaction} of the batch descend or lie beyond its {items} items")]
pub struct OffsetsError {
    /// The transaction's index in the batch.
    pub transaction: usize,
    /// Number of items in the batch.
    pub items: usize,
}

impl Certifier {
    /// Stamps remote transactions without looking for conflicts and without GTIDs, and appends their numbers to `out`.
    ///
    /// Transaction `i` has the items from `offsets[i]` to `offsets[i + 1]`, as in an Arrow list, and the kind
    /// `kinds[i]`, or [`Kind::Rows`] where `kinds` is too short. The numbers are the same as those of
    /// [`certify`](Self::certify) one by one. Nothing is stamped after the transaction that an error names.
    pub fn stamp_batch(
        &mut self,
        offsets: &[usize],
        items: &[u64],
        kinds: &[Kind],
        out: &mut Vec<Numbers>,
    ) -> Result<(), OffsetsError> {
        out.reserve(offsets.len());
        let mut fetched = 0;
        for (transaction, (from, to)) in offsets.iter().zip(offsets.iter().skip(1)).enumerate() {
            let own = items.get(*from..*to).ok_or(OffsetsError { transaction, items: items.len() })?;
            // The loads of the next items are under way while these are certified.
            let ahead = items.len().min(to.saturating_add(AHEAD)).max(fetched);
            let coming = items.get(fetched..ahead).unwrap_or_default();
            black_box(coming.iter().fold(0, |seen, item| seen ^ self.table.touch(*item)));
            fetched = ahead;
            self.sweep_on(own.len());
            out.push(self.stamp_one(own, kinds.get(transaction).copied().unwrap_or_default()));
        }
        Ok(())
    }
}
