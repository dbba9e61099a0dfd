//! Early rows of a block: rows that are applied before the whole block may be (rule R21: C3 within C4).

use paraply_binlog::transaction::Transaction;

/// Number of row events below which a block is applied at once: more statements would cost more than the wait.
const FEW: usize = 16;
/// Least share of the block's rows, as its inverse, for early rows that do not join the next ones.
const LEAST_SHARE: u64 = 4;

/// Block that each row event of a block waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockWaves {
    /// For each event of all transactions, in order: the newest older block that it waits for, 0 for none.
    waits: Vec<u64>,
    /// Index of each transaction's first event.
    begins: Vec<usize>,
    /// Block that each row event waits for, and the event's bytes.
    rows: Vec<(u64, u64)>,
    starts: Vec<u64>,
}

impl BlockWaves {
    /// Adds the block's next transaction, with the block that each of its row events waits for, by index. Events
    /// without an entry wait for the newest of these blocks.
    pub(crate) fn add(&mut self, transaction: &Transaction, waits: &[(usize, u64)]) {
        let begin = self.waits.len();
        let most = waits.iter().map(|(_, wait)| *wait).max().unwrap_or_default();
        self.begins.push(begin);
        self.waits.resize(begin + transaction.events.len(), most);
        for (place, wait) in waits {
            if let (Some(slot), Some(event)) = (self.waits.get_mut(begin + place), transaction.events.get(*place)) {
                *slot = *wait;
                self.rows.push((*wait, event.range.len() as u64));
            }
        }
    }

    /// Returns the number of transactions added.
    pub(crate) fn transactions(&self) -> usize {
        self.begins.len()
    }

    /// Finds the early rows, once all transactions are added.
    pub(crate) fn close(&mut self) {
        let mut rows = std::mem::take(&mut self.rows);
        let last = self.waits.iter().copied().max().unwrap_or_default();
        rows.sort_unstable();
        if rows.len() < FEW || rows.first().is_none_or(|(wait, _)| *wait == last) {
            return;
        }
        let mut left: u64 = rows.iter().map(|(_, bytes)| bytes).sum();
        let share = left.div_ceil(LEAST_SHARE);
        let mut held = 0;
        for step in rows.chunk_by(|one, other| one.0 == other.0) {
            let bytes: u64 = step.iter().map(|(_, bytes)| bytes).sum();
            (held, left) = (held + bytes, left - bytes);
            if held >= share && left >= share {
                self.starts.extend(step.first().map(|(wait, _)| wait));
                held = 0;
            }
        }
        if !self.starts.is_empty() {
            self.starts.push(last);
        }
    }

    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Returns the newest older block that a row event waits for; 0 for none.
    pub(crate) fn waits_for(&self, transaction: usize, event: usize) -> u64 {
        let begin = self.begins.get(transaction).copied().unwrap_or_default();
        self.waits.get(begin + event).copied().unwrap_or_default()
    }
}
