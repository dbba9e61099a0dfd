//! The examples of WL#8440, by their names.  They switch R6 off, which the worklog does not have.

use super::{member, numbers, remote, set};
use crate::certifier::{Certifier, Numbers, Options};

fn certifier() -> Certifier {
    Certifier::new(Options { first_remote_alone: false, ..Options::default() })
}

#[test]
fn ex2_a_transaction_that_saw_the_other_passes_but_may_not_run_beside_it() {
    let mut certifier = certifier();
    assert_eq!(numbers(&member(&mut certifier, &[1], "$:1", 2)), (1, 2));
    assert_eq!(numbers(&member(&mut certifier, &[1, 2], "$:1-2", 3)), (2, 3));
}

#[test]
fn ex3_write_sets_give_the_dependency_graph() {
    let mut certifier = certifier();
    let history: [&[u64]; 8] = [&[1], &[2], &[1, 3], &[4], &[5], &[5, 6], &[7], &[8]];
    let numbers: Vec<_> = history.iter().map(|items| remote(&mut certifier, items)).collect();
    assert_eq!(numbers, [(1, 2), (1, 3), (2, 4), (1, 5), (1, 6), (6, 7), (1, 8), (1, 9)]);
}

#[test]
fn ex4_without_a_write_set_it_runs_alone() {
    let mut certifier = certifier();
    let history: [&[u64]; 5] = [&[], &[1], &[2], &[], &[1]];
    let numbers: Vec<_> = history.iter().map(|items| remote(&mut certifier, items)).collect();
    assert_eq!(numbers, [(1, 2), (2, 3), (2, 4), (4, 5), (5, 6)]);
}

#[test]
fn ex5_without_a_new_window_a_collected_row_would_be_forgotten() {
    let mut certifier = certifier();
    remote(&mut certifier, &[1]);
    remote(&mut certifier, &[2]);
    certifier.collect_garbage(&set("$:1"));
    assert_ne!(remote(&mut certifier, &[1]), (1, 4));
}

#[test]
fn ex6_a_collection_opens_a_new_window() {
    let mut certifier = certifier();
    assert_eq!(remote(&mut certifier, &[1]), (1, 2));
    assert_eq!(remote(&mut certifier, &[2]), (1, 3));
    assert!(certifier.collect_garbage(&set("$:1")));
    assert_eq!(remote(&mut certifier, &[1]), (3, 4));
    assert_eq!(remote(&mut certifier, &[4]), (3, 5));
}

#[test]
fn ex7_a_view_change_runs_alone_and_changes_nothing() {
    let mut certifier = certifier();
    assert_eq!(remote(&mut certifier, &[1]), (1, 2));
    assert_eq!(remote(&mut certifier, &[2]), (1, 3));
    assert_eq!(certifier.view_change(), Numbers::ALONE);
    assert_eq!(remote(&mut certifier, &[3]), (1, 4));
}
