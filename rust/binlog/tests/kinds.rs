//! Small logs of real servers that hold every kind of transaction.

mod by_hand;

use std::path::PathBuf;

use by_hand::collect;
use paraply_binlog::error::LogError;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::{Identity, Kind, Transaction};
use paraply_core::gtid::Origin;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn open(names: &[&str]) -> (Vec<Transaction>, Option<LogError>) {
    let paths: Vec<PathBuf> = names.iter().map(|name| data(name)).collect();
    collect(LogReader::open(&paths, ReaderOptions::default()).expect("logs"))
}

fn kinds(transactions: &[Transaction]) -> Vec<(Kind, usize, usize)> {
    transactions.iter().map(|t| (t.kind, t.events.len(), t.statements.len())).collect()
}

const DDL: (Kind, usize, usize) = (Kind::Ddl, 0, 1);
const DML: (Kind, usize, usize) = (Kind::Dml, 2, 0);
const CREATE_SELECT: (Kind, usize, usize) = (Kind::Ddl, 2, 1);
const XA_PREPARE: (Kind, usize, usize) = (Kind::XaPrepare, 2, 0);
const XA_END: (Kind, usize, usize) = (Kind::XaEnd, 0, 1);
const EMPTY: (Kind, usize, usize) = (Kind::Empty, 0, 0);

#[test]
fn every_kind_of_mysql_9_7() {
    let (transactions, error) = open(&["mysql-9.7.000001", "mysql-9.7.000002"]);
    assert!(error.is_none(), "{error:?}");
    let savepoint = (Kind::Dml, 4, 0);
    let expected = [
        DDL,
        DDL,
        DDL,
        CREATE_SELECT,
        savepoint,
        XA_PREPARE,
        XA_END,
        XA_PREPARE,
        XA_END,
        DML,
        DML,
        EMPTY,
        DML,
        DML,
        DML,
        DML,
        DML,
        DDL,
        DDL,
        DDL,
        DDL,
        DML,
    ];
    assert_eq!(kinds(&transactions), expected);
    let xids: Vec<_> = transactions.iter().filter_map(|t| t.xid.as_deref()).collect();
    assert_eq!(xids, ["X'6731',X'6231',7", "X'6731',X'6231',7", "X'6732',X'',1", "X'6732',X'',1"]);
    let tagged = |t: &Transaction| matches!(&t.identity, Identity::Gtid(g) if matches!(&g.origin, Origin::MySql { tag, .. } if tag == "mytag"));
    assert_eq!(transactions.iter().position(tagged), Some(10));
    let without_checks: Vec<_> = transactions.iter().map(|t| t.no_foreign_key_checks).collect();
    assert_eq!(without_checks.iter().filter(|&&off| off).count(), 1);
    assert!(without_checks[13], "{without_checks:?}");
    assert_eq!(transactions.last().map(|t| (t.file, t.last_committed, t.sequence_number)), Some((1, Some(0), Some(1))));
    assert!(transactions.iter().all(|t| t.session.is_some()));
}

#[test]
fn what_was_executed_before_a_file_is_known() {
    let paths = [data("mysql-9.7.000001"), data("mysql-9.7.000002")];
    let mut reader = LogReader::open(&paths, ReaderOptions::default()).expect("logs");
    while let Some(transaction) = reader.next_transaction() {
        transaction.expect("a transaction");
    }
    let sets: Vec<_> = reader.files().iter().map(|file| file.previous_gtids.clone().expect("a set")).collect();
    assert!(sets[0].is_empty());
    let ranges: Vec<_> = sets[1].iter().map(|range| (range.first, range.last)).collect();
    assert_eq!(ranges, [(5, 5), (1, 19), (1, 1)], "another server's, our own, the tagged one");
}

#[test]
fn every_kind_of_mysql_without_gtids() {
    let (transactions, error) = open(&["mysql-9.7-anonymous.binlog"]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(kinds(&transactions), [DML, DML, DML, CREATE_SELECT, DML]);
    assert!(transactions.iter().all(|t| t.identity == Identity::Anonymous && t.sequence_number.is_some()));
}

#[test]
fn every_kind_of_mariadb_10_11() {
    let (transactions, error) = open(&["mariadb-10.11.000001"]);
    assert!(error.is_none(), "{error:?}");
    let started_alter = EMPTY;
    let expected = [
        DDL,
        DDL,
        DDL,
        CREATE_SELECT,
        (Kind::Dml, 4, 0),
        XA_PREPARE,
        XA_END,
        XA_PREPARE,
        XA_END,
        DML,
        DML,
        DML,
        DML,
        DDL,
        DML,
        DML,
        DML,
        started_alter,
        DDL,
        DDL,
        DML,
        DML,
        DDL,
        DDL,
        DDL,
        DDL,
    ];
    assert_eq!(kinds(&transactions), expected);
    let codes: Vec<u8> = transactions[10..13].iter().map(|t| t.events[1].type_code).collect();
    assert_eq!(codes, [23, 24, 25], "compressed row events have the plain types");
    let rows = transactions[10].events.iter().map(|event| &transactions[10].data[event.range.clone()]);
    assert!(rows.flat_map(|bytes| bytes.windows(300)).any(|window| window.iter().all(|&byte| byte == b'z')));
    assert!(transactions[13].statements[0].sql.starts_with(b"CREATE TABLE zz"), "a compressed statement");
    assert_eq!(transactions[5].xid.as_deref(), Some("X'6731',X'6231',7"));
    assert!(transactions[14].no_foreign_key_checks);
}

#[test]
fn r27_statement_format_is_refused() {
    let (transactions, error) = open(&["mysql-9.7.000003"]);
    assert!(transactions.is_empty() && matches!(error, Some(LogError::NotUnderstood { .. })), "{error:?}");
}

#[test]
fn rows_behind_a_savepoint_that_was_rolled_back_to_are_gone() {
    let (transactions, error) = open(&["mariadb-10.11-savepoint.binlog"]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(kinds(&transactions), [DML, DML, DML]);
}

#[test]
fn what_is_missing_or_no_log_is_refused_at_once() {
    let open = |path: PathBuf| LogReader::open(&[data("mysql-9.7.000001"), path], ReaderOptions::default()).err();
    assert!(matches!(open(data("none")), Some(LogError::Io { .. })));
    assert!(matches!(open(data("")), Some(LogError::Io { .. })), "a folder");
    assert!(matches!(open(data("README.md")), Some(LogError::NotALog { .. })));
}
