//! The scan for XA transactions agrees with a full read (rule R35).

use std::path::PathBuf;

use paraply_binlog::read::piece::Place;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::read::xa_scan::xa_transactions;
use paraply_binlog::transaction::{Identity, Kind, Transaction};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Returns the XA transactions that a full read finds before the end or an error.
fn xa_of(paths: &[PathBuf]) -> Vec<Transaction> {
    let mut reader = LogReader::open(paths, ReaderOptions::default()).expect("logs");
    let read = std::iter::from_fn(|| reader.next_transaction()?.ok());
    read.filter(|transaction| matches!(transaction.kind, Kind::XaPrepare | Kind::XaEnd)).collect()
}

#[test]
fn r35_the_scan_finds_each_part_of_each_xa_transaction() {
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
        let (found, expected) = (xa_transactions(&paths), xa_of(&paths));
        assert_eq!(found.len(), expected.len(), "{names:?}: one phase is no XA");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.offset, Some(&found.xid)), (expected.offset, expected.xid.as_ref()), "{names:?}");
            let Identity::Gtid(gtid) = &expected.identity else { panic!("the fixtures have GTIDs") };
            assert_eq!(found.gtid.as_ref(), Some(gtid));
            assert_eq!(found.ends, expected.kind == Kind::XaEnd);
            assert_eq!(found.end.file, expected.file);
            found_in_all += 1;
        }
    }
    assert!(found_in_all >= 8, "the fixtures hold XA transactions: {found_in_all}");
}

#[test]
fn r35_without_gtids_each_part_has_its_place() {
    let bytes = std::fs::read(data("mysql-9.7.000001")).expect("a log");
    let path = std::env::temp_dir().join(format!("paraply-xa-{}.000001", std::process::id()));
    std::fs::write(&path, without_gtids(&bytes)).expect("a temporary file");
    let paths = [path.clone()];
    let (found, expected) = (xa_transactions(&paths), xa_of(&paths));
    assert!(!expected.is_empty());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!((found.offset, &found.gtid), (expected.offset, &None));
        assert_eq!(found.end, Place { file: 0, offset: expected.end_offset });
    }
    std::fs::remove_file(path).expect("removed");
}

/// Returns the log with its GTID events turned into anonymous ones, checksums made anew.
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
            // A tagged GTID has no anonymous counterpart: the log ends before it.
            log.truncate(at);
        }
        at += size;
    }
    log
}

#[test]
fn the_scan_knows_the_tables_of_each_xa_transaction() {
    for name in ["mysql-9.7.000001", "mysql-9.7-xa-payload.binlog", "mariadb-10.11.000001"] {
        for found in xa_transactions(&[data(name)]) {
            let tables: Vec<_> = found.tables.iter().map(ToString::to_string).collect();
            assert_eq!(tables.is_empty(), found.ends, "{name} {}: {tables:?}", found.xid);
            let expected = if name.contains("payload") { "lead_xa.t" } else { "d.t" };
            assert!(tables.iter().all(|table| table == expected), "{name}: {tables:?}");
        }
    }
}
