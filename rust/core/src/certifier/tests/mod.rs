//! The rules by name, the worklog's examples, and a comparison with a naive certifier.

mod examples;
mod reference;
mod rules;

use super::{Candidate, Certifier, GtidFrom, Kind, Outcome};
use crate::gtid::{Gtid, GtidSet};

const UUID: &str = "00000000-0000-0000-0000-000000000001";

/// Returns a set; `$` stands for the group's UUID.
fn set(text: &str) -> GtidSet {
    text.replace('$', UUID).parse().expect("a GTID set")
}

/// Returns a GTID of the group.
fn gtid(number: u64) -> Gtid {
    format!("{UUID}:{number}").parse().expect("a GTID")
}

/// Returns the numbers of a transaction that passed as a remote one.
fn numbers(outcome: &Outcome) -> (i64, i64) {
    match outcome {
        Outcome::Certified { numbers: Some(numbers), .. } => (numbers.last_committed, numbers.sequence_number),
        other => panic!("not certified as a remote transaction: {other:?}"),
    }
}

/// Certifies a remote transaction without a snapshot and gives its numbers.
fn remote(certifier: &mut Certifier, items: &[u64]) -> (i64, i64) {
    numbers(&certifier.certify(&Candidate { items, ..Candidate::default() }))
}

/// Certifies a remote transaction of a group.
fn member(certifier: &mut Certifier, items: &[u64], snapshot: &str, number: u64) -> Outcome {
    let (snapshot, own) = (set(snapshot), gtid(number));
    let gtid = GtidFrom::Own(&own);
    certifier.certify(&Candidate { items, snapshot: Some(&snapshot), gtid, ..Candidate::default() })
}

/// Certifies a local transaction without a snapshot.
fn local(certifier: &mut Certifier, items: &[u64]) -> Outcome {
    certifier.certify(&Candidate { items, local: true, ..Candidate::default() })
}

/// Certifies a barrier that has rows.
fn barrier(certifier: &mut Certifier, items: &[u64]) -> (i64, i64) {
    numbers(&certifier.certify(&Candidate { items, kind: Kind::Barrier, ..Candidate::default() }))
}
