//! Logs that real servers wrote, read to their end.
//!
//! `PARAPLY_TRUTH` names their folder, unpacked; `make test-rust` unpacks it and runs these tests where the variable is set.
//! The numbers are those that MySQL's and MariaDB's own tools give for the same files.

mod by_hand;

use std::path::PathBuf;

use by_hand::collect;
use paraply_binlog::error::LogError;
use paraply_binlog::read::file::events;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::{Identity, Kind, Transaction};

fn truth(name: &str) -> PathBuf {
    let path = PathBuf::from(std::env::var_os("PARAPLY_TRUTH").expect("PARAPLY_TRUTH")).join(name);
    assert!(path.exists(), "{name} is not in the folder that PARAPLY_TRUTH names");
    path
}

fn read(path: PathBuf) -> (Vec<Transaction>, Option<LogError>) {
    collect(LogReader::open(&[path], ReaderOptions::default()).expect("a log"))
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn transactions_and_row_events_are_those_of_the_servers_tools() {
    let logs = [
        ("group-multi-primary/member1.relay", 3_031, 18_650),
        ("group-multi-primary/member2.relay", 3_825, 24_778),
        ("group-multi-primary/member3.relay", 6_856, 43_428),
        ("group-single-primary/member3.relay", 22_578, 147_212),
        ("mysql-binlog/single-session.binlog", 5_495, 36_119),
        ("mysql-binlog/eight-sessions.binlog", 13_899, 89_913),
        ("mysql-binlog/compressed.binlog", 10_327, 67_437),
        ("mysql-binlog/minimal-image.binlog", 9_880, 65_299),
        ("mysql-binlog/partial-json.binlog", 8_805, 57_917),
        ("mariadb-binlog/plain.binlog", 15_898, 103_073),
        ("mariadb-binlog/compressed.binlog", 15_672, 101_749),
    ];
    for (name, transactions, row_events) in logs {
        let (read, error) = read(truth(name));
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(read.len(), transactions, "{name}");
        assert_eq!(read.iter().map(|t| t.events.len()).sum::<usize>(), row_events, "{name}");
        assert_eq!(read.iter().filter(|t| t.kind == Kind::Ddl).count(), if name.contains("member1") { 0 } else { 10 });
        assert!(read.iter().all(|t| matches!(t.identity, Identity::Gtid(_)) && t.committed_at.is_some()));
        assert!(read.windows(2).all(|pair| pair[0].end_offset == pair[1].offset), "{name}: no gap between two");
    }
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn r5_a_group_stamps_a_ddl_as_a_barrier() {
    let (read, _) = read(truth("group-multi-primary/member3.relay"));
    let barriers = read.iter().filter(|t| t.kind == Kind::Ddl);
    assert!(barriers.skip(1).all(|t| t.last_committed.zip(t.sequence_number).is_some_and(|(l, s)| l == s - 1)));
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn public_logs_are_read_or_refused_with_their_position() {
    let logs = [
        ("binlog_savepoint.000001", 0, Some(320)),
        ("binlog_transaction_with_GTID_TAG.000001", 1, None),
        ("binlog_truncated_event.000001", 0, Some(4)),
        ("corrupt-relay-bin.000624", 0, Some(322)),
        ("json.binlog.000001", 8, None),
        ("mariadb-bin.000001", 2, None),
        ("minimal_row_metadata.000001", 1, None),
        ("mysql-enum-string-set.000001", 5, None),
        ("mysql_type_bit.000001", 3, None),
        ("transaction_compression.000001", 1, None),
        ("update-partial-row.binlog", 1, None),
        ("ver_5_1-wl2325_s.001", 0, Some(4)),
        ("ver_trunk_row_v2.001", 6, Some(1232)),
    ];
    for (name, transactions, refused_at) in logs {
        let (read, error) = read(truth(&format!("public/{name}")));
        assert_eq!(read.len(), transactions, "{name}");
        assert_eq!(error.as_ref().map(LogError::position), refused_at, "{name}: {error:?}");
    }
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn the_events_of_a_file_are_given_one_by_one() {
    let path = truth("mysql-binlog/eight-sessions.binlog");
    let read: Result<Vec<_>, _> = events(&path).expect("a log").collect();
    let read = read.expect("no error");
    assert_eq!(read.len(), 131_602);
    assert!(
        read.iter().all(|event| event.bytes.len() + 4 == event.header.event_size as usize),
        "checksums are cut off"
    );
}
