//! Rule R16, with the stamps of a MySQL 9.7.

use super::*;

const RULES: Rules = Rules { history_size: 5, repeats_count_once: false };

fn rows(items: &[u64]) -> Change<'_> {
    Change::Rows { items, hashed: items.len() as u64, missing_keys: false }
}

fn repeated(items: &[u64], hashed: u64) -> Change<'_> {
    Change::Rows { items, hashed, missing_keys: false }
}

fn keyless(items: &[u64]) -> Change<'_> {
    Change::Rows { items, hashed: items.len() as u64, missing_keys: true }
}

/// Returns the stamps of one session.
fn stamps(rules: Rules, changes: &[Change<'_>]) -> Vec<i64> {
    let mut source = Source::new(Mode::WriteSet, rules, Sessions::Single);
    changes
        .iter()
        .zip(1..)
        .map(|(change, number)| {
            let bounds = source.observe(number, None, change);
            assert!(bounds.exact());
            bounds.most
        })
        .collect()
}

fn wide() -> Rules {
    Rules::of_version((9, 7))
}

#[test]
fn r16_ddl_is_stamped_in_commit_order_and_restarts_the_history() {
    let changes =
        [rows(&[1]), rows(&[2]), rows(&[3]), Change::Untracked, rows(&[4]), rows(&[5]), rows(&[4]), rows(&[20])];
    assert_eq!(stamps(wide(), &changes), [0, 1, 1, 3, 4, 4, 5, 4]);
}

#[test]
fn r16_tables_without_keys_are_stamped_in_commit_order_and_leave_the_history() {
    let changes = [rows(&[1]), rows(&[2]), keyless(&[]), rows(&[3]), rows(&[1]), keyless(&[9]), rows(&[4]), rows(&[9])];
    assert_eq!(stamps(wide(), &changes), [0, 1, 2, 1, 1, 5, 1, 6]);
}

#[test]
fn r16_an_empty_transaction_depends_on_the_history_s_start() {
    assert_eq!(stamps(wide(), &[rows(&[1]), rows(&[2]), rows(&[]), rows(&[3])]), [0, 1, 1, 1]);
}

#[test]
fn r16_overflow_restarts_after_the_transaction() {
    let singles: Vec<[u64; 1]> = (0..12).map(|item| [item]).collect();
    let changes: Vec<_> = singles.iter().map(|items| rows(items)).collect();
    assert_eq!(stamps(RULES, &changes), [0, 1, 1, 1, 1, 1, 6, 6, 6, 6, 6, 6]);
    let changes = [rows(&[0]), rows(&[1, 2, 3]), rows(&[4, 5]), repeated(&[1], 2), rows(&[6])];
    assert_eq!(stamps(RULES, &changes), [0, 1, 1, 3, 3]);
    assert_eq!(stamps(RULES, &[rows(&[0]), rows(&[1, 2, 3, 4, 5]), rows(&[6]), rows(&[7])]), [0, 1, 2, 2]);
}

#[test]
fn r16_repeats_count_against_the_history() {
    let changes = [rows(&[1]), rows(&[2]), rows(&[3]), rows(&[4]), repeated(&[1, 2], 4), repeated(&[1], 2), rows(&[5])];
    assert_eq!(stamps(RULES, &changes), [0, 1, 1, 1, 2, 5, 5]);
    let once = Rules { repeats_count_once: true, ..RULES };
    assert_eq!(stamps(once, &changes[..4]), [0, 1, 1, 1]);
    assert_eq!(stamps(once, &[rows(&[1]), rows(&[2]), repeated(&[1, 2], 4), rows(&[3])]), [0, 1, 2, 1]);
}

#[test]
fn r16_more_than_the_whole_history_is_no_write_set() {
    let six = [1, 2, 3, 4, 5, 6];
    assert_eq!(stamps(RULES, &[rows(&[10]), rows(&[11]), rows(&six), rows(&[7]), rows(&[8])]), [0, 1, 2, 3, 3]);
    let changes = [rows(&[10]), rows(&[11]), repeated(&[10], 6), rows(&[7]), rows(&[8])];
    assert_eq!(stamps(RULES, &changes), [0, 1, 2, 3, 3]);
}

#[test]
fn r16_a_new_file_starts_over() {
    let mut source = Source::new(Mode::WriteSet, wide(), Sessions::Single);
    source.observe(1, None, &rows(&[1]));
    source.observe(2, None, &rows(&[2]));
    source.rotate();
    let stamped: Vec<i64> = (1..4).map(|number| source.observe(number, None, &rows(&[2])).most).collect();
    assert_eq!(stamped, [0, 1, 2]);
}

#[test]
fn r16_sessions_bound_the_commit_order_parent() {
    let mut source = Source::new(Mode::WriteSet, wide(), Sessions::Logged);
    let seen = [(7, &[1_u64][..]), (7, &[2]), (8, &[3]), (7, &[1]), (8, &[2]), (9, &[5]), (8, &[2])];
    let bounds: Vec<_> = seen
        .iter()
        .zip(1..)
        .map(|((session, items), number)| {
            let bounds = source.observe(number, Some(*session), &rows(items));
            (bounds.least, bounds.most)
        })
        .collect();
    assert_eq!(bounds, [(0, 0), (1, 1), (0, 1), (1, 1), (2, 2), (0, 1), (5, 5)]);
    let mut many = Source::new(Mode::WriteSet, wide(), Sessions::Many);
    assert_eq!(many.observe(5, Some(1), &Change::Untracked), Bounds { least: 0, most: 4 });
}

#[test]
fn r16_the_other_modes() {
    let mut order = Source::new(Mode::CommitOrder, wide(), Sessions::Single);
    let stamped: Vec<i64> = (1..4).map(|number| order.observe(number, None, &rows(&[2])).most).collect();
    assert_eq!(stamped, [0, 1, 2]);
    let mut session = Source::new(Mode::WriteSetSession, wide(), Sessions::Logged);
    let seen = [(7, 1_u64), (8, 2), (7, 3), (8, 4)];
    let stamped: Vec<i64> = seen
        .iter()
        .zip(1..)
        .map(|((s, item), number)| session.observe(number, Some(*s), &rows(&[*item])).most)
        .collect();
    assert_eq!(stamped, [0, 1, 1, 2]);
}

#[test]
fn bounds_tell_the_nearest_number() {
    let bounds = Bounds { least: 3, most: 5 };
    assert_eq!([1, 4, 9].map(|number| bounds.nearest(number)), [3, 4, 5]);
}
