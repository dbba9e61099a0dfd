//! Each rule of certification by its number.

use super::{barrier, gtid, local, member, numbers, remote, set};
use crate::certifier::{Candidate, Certifier, GtidBlocks, GtidFrom, Numbers, Options, Outcome, Rejection};
use crate::gtid::Gtid;

fn after_first() -> Certifier {
    Certifier::new(Options { first_remote_alone: false, ..Options::default() })
}

fn rejected(outcome: Outcome) -> Rejection {
    match outcome {
        Outcome::Rejected(rejection) => rejection,
        other @ Outcome::Certified { .. } => panic!("not rejected: {other:?}"),
    }
}

#[test]
fn r1_the_first_numbers_are_1_and_2() {
    assert_eq!(remote(&mut after_first(), &[1]), (1, 2));
}

#[test]
fn r2_a_row_changed_unseen_rejects_and_uses_up_nothing() {
    let mut certifier = after_first();
    member(&mut certifier, &[1, 2], "$:1", 2);
    assert_eq!(rejected(member(&mut certifier, &[3, 2], "$:1", 3)), Rejection::Conflict { item: 2 });
    assert!(!certifier.known().contains(&gtid(3)));
    assert_eq!(numbers(&member(&mut certifier, &[3], "$:1", 3)), (1, 3));
    assert_eq!((certifier.stats().positive, certifier.stats().conflicts), (2, 1));
}

#[test]
fn r2_the_stored_version_includes_the_transactions_own_gtid_and_equal_versions_pass() {
    let mut certifier = after_first();
    member(&mut certifier, &[1], "$:1", 5);
    assert_eq!(rejected(member(&mut certifier, &[1], "$:1-4", 6)), Rejection::Conflict { item: 1 });
    assert_eq!(numbers(&member(&mut certifier, &[1], "$:1:5", 6)), (2, 3));
}

#[test]
fn r3_the_highest_number_of_its_items_counts_but_not_its_own() {
    let mut certifier = after_first();
    remote(&mut certifier, &[1]);
    remote(&mut certifier, &[2]);
    assert_eq!(remote(&mut certifier, &[1, 2, 1, 1]), (3, 4));
    assert_eq!(remote(&mut certifier, &[9, 9]), (1, 5));
}

#[test]
fn r4_a_local_transaction_uses_no_number_and_hides_its_rows_last_writer() {
    let mut certifier = after_first();
    assert_eq!(remote(&mut certifier, &[1]), (1, 2));
    assert_eq!(local(&mut certifier, &[1]), Outcome::Certified { numbers: None, gtid: None });
    assert_eq!(remote(&mut certifier, &[1]), (1, 3));
}

#[test]
fn r5_a_barrier_waits_for_all_and_all_wait_for_it() {
    let mut certifier = after_first();
    let stamps = [remote(&mut certifier, &[1]), remote(&mut certifier, &[]), remote(&mut certifier, &[2])];
    assert_eq!(stamps, [(1, 2), (2, 3), (3, 4)]);
    assert_eq!(barrier(&mut certifier, &[3]), (4, 5));
    assert_eq!(remote(&mut certifier, &[2]), (5, 6));
    assert_eq!(certifier.stats().barriers, 2);
}

#[test]
fn r6_the_first_remote_transaction_is_alone_but_its_numbers_are_used_up() {
    let mut certifier = Certifier::new(Options::default());
    local(&mut certifier, &[5]);
    assert_eq!(remote(&mut certifier, &[1]), (0, 0));
    assert_eq!(remote(&mut certifier, &[1]), (2, 3));
    assert_eq!(certifier.view_change(), Numbers::ALONE);
    assert_eq!(remote(&mut certifier, &[2]), (1, 4));
}

#[test]
fn r7_only_strict_subsets_of_the_stable_set_are_removed() {
    let mut certifier = after_first();
    member(&mut certifier, &[1], "$:1", 2);
    member(&mut certifier, &[2], "$:1-2", 3);
    assert!(certifier.collect_garbage(&set("$:1-3")));
    assert_eq!(numbers(&member(&mut certifier, &[1], "", 4)), (3, 4));
    assert_eq!(rejected(member(&mut certifier, &[2], "", 5)), Rejection::Conflict { item: 2 });
}

#[test]
fn r7_a_stable_set_that_did_not_grow_changes_nothing() {
    let mut certifier = after_first();
    assert!(!certifier.collect_garbage(&set("")));
    remote(&mut certifier, &[1]);
    assert!(certifier.collect_garbage(&set("$:1-2")));
    remote(&mut certifier, &[1]);
    assert!(!certifier.collect_garbage(&set("$:1-2")));
    assert!(!certifier.collect_garbage(&set("$:1")));
    assert_eq!(remote(&mut certifier, &[2]), (2, 4));
    assert_eq!(certifier.stats().collections, 1);
}

#[test]
fn r7_a_collection_of_5_7_burns_a_number() {
    let mut certifier = Certifier::new(Options { collection_burns_number: true, first_remote_alone: false });
    remote(&mut certifier, &[1]);
    certifier.collect_garbage(&set("$:1"));
    assert_eq!(remote(&mut certifier, &[1]), (3, 4));
}

#[test]
fn r8_a_collection_acts_at_once_and_sweeps_in_steps() {
    let mut certifier = after_first();
    for first in 0..500_u64 {
        let items: Vec<u64> = (0..100).map(|item| first * 100 + item).collect();
        member(&mut certifier, &items, "$:1", first + 2);
    }
    certifier.collect_garbage(&set("$:1-1000"));
    assert_eq!(certifier.items_held(), 50_000);
    assert_eq!(numbers(&member(&mut certifier, &[0], "", 2000)), (501, 502));
    let mut most = 0;
    loop {
        let before = certifier.items_held();
        if !certifier.sweep_step() {
            break;
        }
        most = most.max(before - certifier.items_held());
    }
    assert!(most < 500, "{most} items in one step");
    assert_eq!(certifier.items_held(), 1);
}

#[test]
fn r8_certification_itself_sweeps() {
    let mut certifier = after_first();
    let many: Vec<u64> = (0..50_000).collect();
    member(&mut certifier, &many, "$:1", 2);
    certifier.collect_garbage(&set("$:1-10"));
    for _ in 0..5_000 {
        remote(&mut certifier, &(100_000..101_000).collect::<Vec<u64>>());
    }
    assert_eq!(certifier.items_held(), 1_000);
}

#[test]
fn r9_imported_items_carry_no_number_but_still_reject() {
    let mut donor = after_first();
    member(&mut donor, &[1, 2], "$:1", 2);
    member(&mut donor, &[3], "$:1-2", 3);
    let export = donor.export();
    assert_eq!(export.versions, [(set("$:1-2"), vec![1, 2]), (set("$:1-3"), vec![3])]);
    let mut joiner = Certifier::import(Options { first_remote_alone: false, ..Options::default() }, &export);
    assert_eq!(joiner.export(), export);
    assert_eq!(rejected(member(&mut joiner, &[3], "$:1-2", 4)), Rejection::Conflict { item: 3 });
    assert_eq!(numbers(&member(&mut joiner, &[1, 3], "$:1-3", 4)), (1, 2));
    assert!(joiner.known().contains(&gtid(3)));
}

#[test]
fn r10_gtids_come_from_the_members_blocks_after_a_positive_answer() {
    let mut certifier = after_first().with_blocks(GtidBlocks::new(gtid(1).origin, 3));
    let mut ask = |items: &[u64], snapshot: &str, member| {
        let snapshot = set(snapshot);
        let gtid = GtidFrom::Block(member);
        match certifier.certify(&Candidate { items, snapshot: Some(&snapshot), gtid, ..Candidate::default() }) {
            Outcome::Certified { gtid, .. } => gtid.map(|gtid: Gtid| gtid.number),
            Outcome::Rejected(_) => None,
        }
    };
    assert_eq!(ask(&[1], "", 1), Some(1));
    assert_eq!(ask(&[2], "", 2), Some(4));
    assert_eq!(ask(&[1], "", 1), None);
    assert_eq!([ask(&[3], "", 1), ask(&[4], "", 1), ask(&[5], "", 1)], [Some(2), Some(3), Some(7)]);
    assert_eq!(ask(&[2], "$:4", 2), Some(5));
}

#[test]
fn r10_blocks_pass_over_known_numbers_and_can_be_taken_back() {
    let mut blocks = GtidBlocks::new(gtid(1).origin, 5);
    let mut known = set("$:2-3:8");
    let mut next = |blocks: &mut GtidBlocks, member| {
        let gtid = blocks.assign(member, &known).expect("numbers are left");
        known.add(&gtid);
        gtid.number
    };
    assert_eq!([next(&mut blocks, 1), next(&mut blocks, 1), next(&mut blocks, 2)], [1, 4, 9]);
    blocks.release();
    assert_eq!([next(&mut blocks, 2), next(&mut blocks, 1)], [5, 10]);
}

#[test]
fn r10_an_own_gtid_is_rejected_only_if_both_known_and_committed() {
    let mut certifier = after_first();
    member(&mut certifier, &[1], "", 7);
    assert_eq!(numbers(&member(&mut certifier, &[2], "", 7)), (1, 3));
    certifier.commit(&set("$:7-8"));
    assert_eq!(rejected(member(&mut certifier, &[3], "", 7)), Rejection::GtidUsed(gtid(7)));
    assert_eq!(numbers(&member(&mut certifier, &[3], "", 8)), (1, 4));
}
