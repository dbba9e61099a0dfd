//! The scan for XA transactions says what a full read says (rule R35).

use std::path::PathBuf;

use paraply_binlog::plan::{Passed, Place};
use paraply_binlog::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::{Identity, Kind, Transaction};
use paraply_binlog::xa_scan::first_xa;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The XA transactions that a full read finds before the end or an error.
fn xa_of(paths: &[PathBuf]) -> Vec<Transaction> {
    let mut reader = LogReader::open(paths, ReaderOptions::default()).expect("logs");
    let read = std::iter::from_fn(|| reader.next_transaction()?.ok());
    read.filter(|transaction| matches!(transaction.kind, Kind::XaPrepare | Kind::XaEnd)).collect()
}

#[test]
fn r35_the_scan_finds_each_xa_transaction_in_turn() {
    let mut found_in_all = 0;
    for names in [
        &["mysql-9.7.000001", "mysql-9.7.000002"][..],
        &["mysql-9.7-xa-payload.binlog"],
        &["mysql-9.7-anonymous.binlog"],
        &["mysql-9.7-types.binlog"],
        &["mariadb-10.11.000001"],
        &["mariadb-10.11-types.binlog"],
    ] {
        let paths: Vec<PathBuf> = names.iter().map(|name| data(name)).collect();
        let mut passed = Passed::default();
        for expected in xa_of(&paths) {
            let found = first_xa(&paths, &passed).expect("an XA transaction");
            assert_eq!((found.offset, Some(&found.xid)), (expected.offset, expected.xid.as_ref()), "{names:?}");
            let Identity::Gtid(gtid) = &expected.identity else { panic!("the fixtures have GTIDs") };
            assert_eq!(found.gtid.as_ref(), Some(gtid));
            passed.executed.add(gtid);
            found_in_all += 1;
        }
        assert_eq!(first_xa(&paths, &passed), None, "{names:?}: none is left, and one phase is no XA");
    }
    assert!(found_in_all >= 8, "the fixtures hold XA transactions: {found_in_all}");
}

#[test]
fn r35_without_gtids_the_place_decides() {
    let bytes = std::fs::read(data("mysql-9.7.000001")).expect("a log");
    let path = std::env::temp_dir().join(format!("paraply-xa-{}.000001", std::process::id()));
    std::fs::write(&path, without_gtids(&bytes)).expect("a temporary file");
    let paths = [path.clone()];
    let expected = xa_of(&paths);
    let mut passed = Passed::default();
    for transaction in &expected {
        let found = first_xa(&paths, &passed).expect("an XA transaction");
        assert_eq!((found.offset, found.gtid), (transaction.offset, None));
        passed.after = Some(Place { file: 0, offset: transaction.end_offset });
    }
    assert!(!expected.is_empty());
    assert_eq!(first_xa(&paths, &passed), None);
    std::fs::remove_file(path).expect("removed");
}

/// The log with its GTID events turned into anonymous ones, checksums made anew.
fn without_gtids(bytes: &[u8]) -> Vec<u8> {
    let mut log = bytes.to_vec();
    let mut at = 4;
    while at + 19 <= log.len() {
        let size = u32::from_le_bytes(log[at + 9..at + 13].try_into().expect("four bytes")) as usize;
        if log[at + 4] == 33 {
            log[at + 4] = 34;
            let end = at + size - 4;
            let checksum = crc32fast::hash(&log[at..end]);
            log[end..end + 4].copy_from_slice(&checksum.to_le_bytes());
        } else if log[at + 4] == 42 {
            // A tagged one has no anonymous counterpart: the log ends before it.
            log.truncate(at);
        }
        at += size;
    }
    log
}
