//! Changes in statement format that an apply does not need: passed over, by reader and scan alike (rule R27).

use std::path::PathBuf;

use paraply_binlog::read::passed_over::PassedOver;
use paraply_binlog::read::piece::Place;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::read::xa_scan::look_ahead;
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::transaction::{Kind, Transaction};

/// Holds one transaction: INSERT INTO d.t in statement format.
fn log() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/mysql-9.7.000003")
}

/// Reads the log; none where the statement is refused.
fn read(passed_over: &PassedOver) -> Option<Vec<Transaction>> {
    let reader = LogReader::open(&[log()], ReaderOptions::default()).expect("the log opens");
    let mut reader = reader.filtered(passed_over.tables.clone()).passing_over(passed_over.clone());
    let mut transactions = Vec::new();
    while let Some(next) = reader.next_transaction() {
        transactions.push(next.ok()?);
    }
    Some(transactions)
}

fn without(databases: &[&str]) -> PassedOver {
    let exclude_databases = databases.iter().map(ToString::to_string).collect();
    PassedOver { tables: TableFilter { exclude_databases, ..TableFilter::default() }, ..PassedOver::default() }
}

/// Returns the reader's answer: `None` for a refusal, else whether the one transaction is filtered; the scan must agree.
fn answer(passed_over: &PassedOver) -> Option<bool> {
    let found = look_ahead(&[log()], passed_over).statements.len();
    let read = read(passed_over);
    assert_eq!(found == 0, read.is_some(), "the scan and the reader agree");
    let transactions = read?;
    assert_eq!(transactions.len(), 1);
    assert_eq!(transactions[0].kind, Kind::Empty);
    Some(transactions[0].filtered)
}

#[test]
fn r27_a_change_that_the_target_holds_is_passed_over() {
    let executed = "6fd610cd-e4e7-11f1-8dc3-02fc00000001:1-21".parse().expect("a set");
    let held = read(&PassedOver { executed, ..PassedOver::default() }).expect("nothing is refused");
    assert_eq!((held.len(), held[0].kind, held[0].filtered), (1, Kind::Empty, false));
    let executed = "6fd610cd-e4e7-11f1-8dc3-02fc00000001:1-20".parse().expect("a set");
    assert!(read(&PassedOver { executed, ..PassedOver::default() }).is_none(), "an apply needs it");
    let after = Some(Place { file: 0, offset: 574 });
    assert!(read(&PassedOver { after, ..PassedOver::default() }).is_none(), "it has a GTID");
    assert!(read(&PassedOver { everything: true, ..PassedOver::default() }).is_some());
}

#[test]
fn r27_a_change_is_passed_over_where_the_filter_leaves_out_all_of_its_databases() {
    assert_eq!(answer(&PassedOver::default()), None);
    assert_eq!(answer(&without(&["d"])), Some(true));
    assert_eq!(answer(&without(&["e"])), None);
    assert_eq!(answer(&without(&["D"])), None, "upper and lower case are distinct");
    let named = |name: &str| TableFilter { databases: [name.to_owned()].into(), ..TableFilter::default() };
    assert_eq!(answer(&PassedOver { tables: named("e"), ..PassedOver::default() }), Some(true));
    assert_eq!(answer(&PassedOver { tables: named("D"), ..PassedOver::default() }), None, "it may be the same name");
    let table = |key: (&str, &str)| [(key.0.to_owned(), key.1.to_owned())].into();
    let tables = TableFilter { tables: table(("d", "other")), ..TableFilter::default() };
    assert_eq!(answer(&PassedOver { tables, ..PassedOver::default() }), None, "a trigger may write to another table");
    let tables = TableFilter { exclude_tables: table(("d", "t")), ..TableFilter::default() };
    assert_eq!(answer(&PassedOver { tables, ..PassedOver::default() }), None, "a trigger may write to another table");
}
