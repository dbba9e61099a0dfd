//! Recomputation of the numbers of a source's own binary log (rule R16), and comparison with the server's.

use paraply_binlog::transaction::{Kind, Transaction};
use paraply_core::tracker::{Bounds, Change, Mode, Rules, Sessions, Source};
use paraply_core::verification::{Stamp, StampComparison};
use paraply_core::write_set::WriteSet;

use super::{Place, logged, place};

/// Recomputes and compares, transaction by transaction.
///
/// If the log does not show the commit-order parent, the server's number must lie within the bounds that it does show.
#[derive(Debug)]
pub struct TrackerVerifier {
    source: Source,
    comparison: StampComparison<Place>,
    sessions: Sessions,
    file: Option<u32>,
    last: i64,
    exact: u64,
}

impl TrackerVerifier {
    /// Creates a verifier at the beginning of a log.
    pub fn new(mode: Mode, rules: Rules, sessions: Sessions) -> Self {
        Self {
            source: Source::new(mode, rules, sessions),
            comparison: StampComparison::new(false),
            sessions,
            file: None,
            last: 0,
            exact: 0,
        }
    }

    /// Compares the next transactions of the log.
    pub fn observe(&mut self, transactions: &[Transaction], sets: &[WriteSet]) {
        for (transaction, set) in transactions.iter().zip(sets) {
            self.compare(transaction, set);
        }
    }

    /// Ends the comparison.
    pub fn finish(&mut self) {
        self.comparison.finish();
    }

    /// Returns the results so far.
    pub fn comparison(&self) -> &StampComparison<Place> {
        &self.comparison
    }

    /// Returns the number of transactions with only one possible number.
    pub fn exact(&self) -> u64 {
        self.exact
    }

    fn compare(&mut self, transaction: &Transaction, set: &WriteSet) {
        if self.file != Some(transaction.file) {
            self.file = Some(transaction.file);
            self.source.rotate();
            self.last = 0;
        }
        let logged = logged(transaction);
        let expected = self.last + 1;
        // A number that is not the next one is a difference by itself; the following ones count from it.
        let number = if logged.sequence_number > 0 { logged.sequence_number } else { expected };
        let bounds = self.source.observe(number, self.session(transaction), &change(transaction, set));
        self.exact += u64::from(bounds.exact());
        self.last = number;
        let computed = Stamp { last_committed: nearest(bounds, logged), sequence_number: expected };
        self.comparison.observe(logged, computed, transaction.committed_at, place(transaction));
    }

    /// Returns the session, if it belongs to the server that wrote the log: a replica's workers commit for others'
    /// sessions.
    fn session(&self, transaction: &Transaction) -> Option<u32> {
        let own = transaction.server_id == transaction.format.server_id;
        transaction.session.filter(|_| own && self.sessions != Sessions::Many)
    }
}

/// Returns the possible number that is nearest to the server's.
fn nearest(bounds: Bounds, logged: Stamp) -> i64 {
    if logged.sequence_number > 0 { bounds.nearest(logged.last_committed) } else { bounds.most }
}

pub(crate) fn change<'a>(transaction: &Transaction, set: &'a WriteSet) -> Change<'a> {
    let tracked = matches!(transaction.kind, Kind::Dml | Kind::XaPrepare | Kind::Empty);
    let unknown = set.barrier && !set.missing_keys && transaction.kind != Kind::Empty;
    let nothing = set.exclusive.is_empty() && !set.missing_keys && transaction.kind != Kind::Empty;
    if !tracked || unknown || nothing || set.touches_parent {
        return Change::Untracked;
    }
    Change::Rows { items: &set.exclusive, hashed: set.hashed, missing_keys: set.missing_keys }
}
