//! Recomputation of the numbers of a group member's relay log (rules R1 to R7), and comparison with the server's. For a
//! source's own binary log see [`tracked`], for the least numbers that are safe [`dependencies`].

pub mod dependencies;
pub mod tracked;

use std::collections::VecDeque;

use paraply_binlog::transaction::{Identity, Kind, Transaction};
use paraply_core::certifier::{Candidate, Certifier, Kind as Certified, Numbers, Options, Outcome};
use paraply_core::gtid::Gtid;
use paraply_core::verification::{Stamp, StampComparison};
use paraply_core::write_set::WriteSet;

use crate::trace::is_barrier;

/// Position and GTID of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its GTID.
    pub gtid: Option<Gtid>,
    /// Index of the file in the reader's list.
    pub file: u32,
    /// Offset in that file.
    pub offset: u64,
}

/// Numbers of one transaction in a member's own log, where the order comes from another member's log.
#[derive(Debug, Clone)]
struct OwnStamp {
    identity: Identity,
    logged: Stamp,
    place: Place,
}

/// The verified log and the log that gives the order contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The next transactions of the two logs are not the same one.
    #[error(
        "the log has {found} where the order log has {expected}; is --local-server-id right, and do both logs come from one run?"
    )]
    Differs {
        /// The next transaction of the verified log.
        found: String,
        /// The next remote transaction of the order log.
        expected: String,
    },
}

/// Recomputes and compares, transaction by transaction.
#[derive(Debug)]
pub struct StampVerifier {
    options: Options,
    certifier: Certifier,
    comparison: StampComparison<Place>,
    local_server_id: Option<u32>,
    own: VecDeque<OwnStamp>,
    infer_collections: bool,
    after_view_change: bool,
    seen: u64,
}

impl StampVerifier {
    /// Creates a verifier; `local_server_id` names the member whose log is verified in the order of another member's.
    pub fn new(infer_collections: bool, burn_on_collection: bool, local_server_id: Option<u32>) -> Self {
        let options = Options { collection_burns_number: burn_on_collection, ..Options::default() };
        Self {
            options,
            certifier: Certifier::new(options),
            comparison: StampComparison::new(infer_collections),
            local_server_id,
            own: VecDeque::new(),
            infer_collections,
            after_view_change: false,
            seen: 0,
        }
    }

    /// Adds the numbers of the member's own log, ahead of [`StampVerifier::observe`] of the order.
    pub fn add_stamps(&mut self, transactions: &[Transaction]) {
        self.own.extend(transactions.iter().map(|transaction| OwnStamp {
            identity: transaction.identity.clone(),
            logged: logged(transaction),
            place: place(transaction),
        }));
    }

    /// Returns the number of the member's own transactions that wait to be compared.
    pub fn stamps_ahead(&self) -> usize {
        self.own.len()
    }

    /// Certifies and compares the next transactions in the order of certification.
    pub fn observe(&mut self, transactions: &[Transaction], sets: &[WriteSet]) -> Result<(), OrderError> {
        for (transaction, set) in transactions.iter().zip(sets) {
            match self.local_server_id {
                Some(server_id) if transaction.server_id == server_id => self.certify_local(transaction, set),
                Some(_) => self.compare_with_own(transaction, set)?,
                None => self.compare(transaction, set, logged(transaction), place(transaction)),
            }
        }
        Ok(())
    }

    /// Ends the comparison.
    pub fn finish(&mut self) {
        self.comparison.finish();
    }

    /// Returns the results so far.
    pub fn comparison(&self) -> &StampComparison<Place> {
        &self.comparison
    }

    fn certify_local(&mut self, transaction: &Transaction, set: &WriteSet) {
        self.certify(transaction, set, true);
    }

    fn compare_with_own(&mut self, transaction: &Transaction, set: &WriteSet) -> Result<(), OrderError> {
        let Some(own) = self.own.pop_front() else { return Ok(()) };
        if own.identity != transaction.identity {
            let (found, expected) = (name(&own.identity), name(&transaction.identity));
            return Err(OrderError::Differs { found, expected });
        }
        self.compare(transaction, set, own.logged, own.place);
        Ok(())
    }

    fn compare(&mut self, transaction: &Transaction, set: &WriteSet, logged: Stamp, place: Place) {
        if transaction.kind == Kind::ViewChange {
            self.after_view_change = true;
            self.comparison.observe(logged, stamp(self.certifier.view_change()), transaction.committed_at, place);
            return;
        }
        self.follow_restart(logged);
        self.follow_burned_number(logged);
        self.seen += 1;
        let Some(numbers) = self.certify(transaction, set, false) else { return };
        self.comparison.observe(logged, stamp(numbers), transaction.committed_at, place);
    }

    /// Follows a restart of the member: its first remote transaction runs alone (rule R6), or, on servers that log view
    /// changes, follows one with the first numbers of all (rule R1).
    fn follow_restart(&mut self, logged: Stamp) {
        let after_view_change = std::mem::take(&mut self.after_view_change);
        let first_numbers = after_view_change && logged.sequence_number == FIRST_NUMBER;
        if first_numbers || (logged == ALONE && self.seen > 0) {
            let options = Options { first_remote_alone: !first_numbers, ..self.options };
            self.certifier = Certifier::new(options);
            self.comparison.restart();
        }
    }

    /// Follows a collection that uses up a number (rule R7, MySQL 5.7): the gap shows it.
    fn follow_burned_number(&mut self, logged: Stamp) {
        let burned = self.certifier.next_number();
        if self.infer_collections && self.options.collection_burns_number && logged.sequence_number == burned + 1 {
            self.certifier.open_window();
            self.comparison.note_collection(burned - 1);
        }
    }

    fn certify(&mut self, transaction: &Transaction, set: &WriteSet, local: bool) -> Option<Numbers> {
        let barrier = is_barrier(transaction, set);
        let kind = if barrier { Certified::Barrier } else { Certified::Rows };
        let candidate = Candidate { items: &set.exclusive, local, kind, ..Candidate::default() };
        match self.certifier.certify(&candidate) {
            Outcome::Certified { numbers, .. } => numbers,
            Outcome::Rejected(_) => None,
        }
    }
}

const ALONE: Stamp = Stamp { last_committed: 0, sequence_number: 0 };
const FIRST_NUMBER: i64 = 2;

fn stamp(numbers: Numbers) -> Stamp {
    Stamp { last_committed: numbers.last_committed, sequence_number: numbers.sequence_number }
}

fn logged(transaction: &Transaction) -> Stamp {
    Stamp {
        last_committed: transaction.last_committed.unwrap_or(-1),
        sequence_number: transaction.sequence_number.unwrap_or(-1),
    }
}

fn place(transaction: &Transaction) -> Place {
    let gtid = match &transaction.identity {
        Identity::Gtid(gtid) => Some(gtid.clone()),
        Identity::Anonymous => None,
    };
    Place { gtid, file: transaction.file, offset: transaction.offset }
}

fn name(identity: &Identity) -> String {
    match identity {
        Identity::Gtid(gtid) => gtid.to_string(),
        Identity::Anonymous => "an anonymous transaction".to_owned(),
    }
}
