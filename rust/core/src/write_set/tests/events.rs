//! Touches of the row events of a transaction, one by one (R21: C3 within C4).

use super::tables::*;
use crate::schema::KeyPart::Column;
use crate::value::Value::Int;
use crate::write_set::*;

/// Inserts one row of each event's value.
fn by_event(values: impl IntoIterator<Item = (usize, i64)>) -> WriteSet {
    let catalog = catalog([table("t", &["id int"], &[("PRIMARY", &[Column(0)])])]);
    let mut builder = WriteSetBuilder::new(Options::default());
    let plan = builder.plan(&catalog, &name("t")).expect("it is known");
    for (event, value) in values {
        builder.begin_event(event);
        builder.add_row(&plan, &Row { before: None, after: Some(&image(&[Int(value)])), foreign_key_checks: true });
    }
    builder.finish()
}

#[test]
fn each_event_has_its_own_hashes_repeats_too() {
    let set = by_event([(1, 7), (4, 8), (5, 7)]);
    let (seven, eight) = (set.exclusive[0], set.exclusive[1]);
    let events: Vec<_> = set.events.as_ref().expect("they were asked for").iter().collect();
    assert_eq!(events, [(1, &[(seven, true)][..]), (4, &[(eight, true)][..]), (5, &[(seven, true)][..])]);
    assert_eq!(set.exclusive.len(), 2);
}

#[test]
fn what_a_huge_transaction_touches_is_not_kept_twice() {
    let many = 100_000;
    let set = by_event((0..many).map(|n| (n, n as i64)));
    assert_eq!((set.exclusive.len(), set.events), (many, None));
}
