//! Transactions without their rows are the same transactions: a scan finds what a reader of the log finds.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paraply_binlog::read::file::EventReader;
use paraply_binlog::read::group::Assembler;
use paraply_binlog::read::piece::Resume;
use paraply_binlog::read::scan::{Split, scan_transactions};
use paraply_binlog::transaction::{Kind, Transaction};

fn logs() -> Vec<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("tests/data"), here.join("../../tests/data")];
    if let Some(truth) = std::env::var_os("PARAPLY_TRUTH").map(PathBuf::from) {
        folders.extend(["group-multi-primary", "mysql-binlog", "mariadb-binlog"].map(|name| truth.join(name)));
    }
    let paths = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let paths = paths.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\xfebin"))).collect()
}

fn told(path: &Path, mut assembler: Assembler) -> Vec<String> {
    let mut reader = EventReader::open(path, false).expect("a log");
    let name: Arc<str> = "log".into();
    let mut told = Vec::new();
    loop {
        match reader.next_event() {
            Ok(Some(event)) => match assembler.accept(&event, &name, 0) {
                Ok(transaction) => told.extend(transaction.map(|transaction| outline(&transaction))),
                Err(error) => {
                    told.push(error.to_string());
                    return told;
                }
            },
            Ok(None) => return told,
            Err(error) => {
                told.push(error.to_string());
                return told;
            }
        }
    }
}

fn outline(of: &Transaction) -> String {
    let statements: Vec<_> = of.statements.iter().map(|statement| (statement.offset, &statement.sql)).collect();
    format!(
        "{:?} {:?} {:?} {:?} {:?} {} {} {} {statements:?} {:?}",
        of.identity,
        of.kind,
        of.last_committed,
        of.committed_at,
        of.session,
        of.offset,
        of.end_offset,
        of.bytes,
        of.xid
    )
}

#[test]
fn all_but_the_rows_is_the_same() {
    let logs = logs();
    assert!(logs.len() >= 8, "{logs:?}");
    for path in logs {
        let whole = told(&path, Assembler::new(1 << 30));
        assert!(!whole.is_empty(), "{}", path.display());
        assert_eq!(whole, told(&path, Assembler::without_rows(1 << 30)), "{}", path.display());
    }
}

#[test]
fn a_transaction_that_is_too_large_ends_a_scan_as_it_ends_a_reading() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/mysql-9.7.000001");
    let (whole, outlines) = (told(&path, Assembler::new(60)), told(&path, Assembler::without_rows(60)));
    assert!(whole.last().is_some_and(|last| last.contains("more than 60 bytes of row events")), "{whole:?}");
    assert_eq!(whole, outlines);
}

#[test]
fn statements_that_a_scan_keeps_are_those_of_the_log() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/mysql-9.7.000001");
    let found = scan_transactions(&path, Resume::BEGIN, Split { bytes: 1 << 40, at: &[] }).expect("a log");
    assert!(found.failure.is_none());
    assert!(
        found.statements.iter().all(|(_, transaction)| transaction.kind == Kind::Ddl && transaction.data.is_empty())
    );
    let whole = told(&path, Assembler::new(1 << 30));
    let statements: Vec<_> = found.statements.iter().map(|(_, transaction)| outline(transaction)).collect();
    assert_eq!(whole.iter().filter(|text| text.contains(" Ddl ")).cloned().collect::<Vec<_>>(), statements);
    assert_eq!(found.pieces.iter().map(|piece| piece.transactions).sum::<u64>(), whole.len() as u64);
}
