//! Logs that are written again differ by their numbers, and by what follows from them.

mod by_hand;

use std::path::{Path, PathBuf};

use by_hand::{GTID, Log, ROTATE, collect};
use paraply_binlog::event::types;
use paraply_binlog::read::file::events;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::Transaction;
use paraply_binlog::write::restamp::Stamps;
use paraply_binlog::write::rewrite::{Copied, RewriteError, Rewriter};

const TAGGED: &str = "02 76 00 00 00 02 de 59 03 20 35 03 91 03 9d 03 22 c5 03 35 02 0d 03 04 f1 03 00 00 00 02 04 04 06 0a 6d 79 74 61 \
                      67 08 24 0a 2c 0c 7f f4 49 25 59 b5 60 06 10 99 04 12 83 12 0b";

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("rewrite-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

fn read(paths: &[PathBuf]) -> Vec<Transaction> {
    let (transactions, error) = collect(LogReader::open(paths, ReaderOptions::default()).expect("logs"));
    assert!(error.is_none(), "{error:?}");
    transactions
}

fn copied(from: &Path, folder: &Path) -> Copied {
    let size = std::fs::metadata(from).expect("the log").len();
    let to = folder.join(format!("new-{}", from.file_name().and_then(|name| name.to_str()).expect("a name")));
    Copied { from: from.to_owned(), size, to }
}

/// Writes logs again with the numbers that `number` gives to each transaction.
fn rewritten(
    logs: &[PathBuf],
    folder: &Path,
    number: impl Fn(u64, &Transaction) -> Stamps,
) -> Result<Vec<PathBuf>, RewriteError> {
    let files: Vec<Copied> = logs.iter().map(|log| copied(log, folder)).collect();
    let new = files.iter().map(|file| file.to.clone()).collect();
    let mut rewriter = Rewriter::new(files);
    for (transaction, position) in read(logs).iter().zip(1..) {
        let next = rewriter.advance(transaction.file, transaction.offset)?;
        assert_eq!(Some(next.sequence_number), transaction.sequence_number);
        assert_eq!(Some(next.last_committed), transaction.last_committed);
        rewriter.write_gtid(number(position, transaction))?;
    }
    rewriter.finish()?;
    Ok(new)
}

fn own(transaction: &Transaction) -> Stamps {
    let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).expect("a number");
    Stamps { last_committed: number(transaction.last_committed), sequence_number: number(transaction.sequence_number) }
}

fn large(position: u64) -> Stamps {
    Stamps { last_committed: position << 32, sequence_number: (position << 32) + 1 }
}

fn bytes_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

/// Compares two logs but for numbers, lengths and positions; the new one is read with its checksums compared.
fn assert_alike(old: &Path, new: &Path) {
    let (old, new): (Vec<_>, Vec<_>) = (
        events(old).expect("a log").map(|event| event.expect("an event")).collect(),
        events(new).expect("a log").map(|event| event.expect("an event")).collect(),
    );
    assert_eq!(old.len(), new.len());
    for (old, new) in old.iter().zip(&new) {
        assert_eq!(
            (old.header.timestamp, old.header.type_code, old.header.server_id, old.header.flags),
            (new.header.timestamp, new.header.type_code, new.header.server_id, new.header.flags)
        );
        if !matches!(old.header.type_code, types::GTID | types::ANONYMOUS_GTID | types::GTID_TAGGED) {
            assert_eq!(old.body(), new.body());
        }
    }
}

#[test]
fn r37_own_numbers_give_the_same_bytes() {
    let folder = folder("own");
    for name in ["mysql-9.7-types.binlog", "mysql-9.7-xa-payload.binlog", "mysql-9.7-anonymous.binlog"] {
        let log = data(name);
        let new = rewritten(std::slice::from_ref(&log), &folder, |_, transaction| own(transaction)).expect("a log");
        assert_eq!(bytes_of(&log), bytes_of(&new[0]), "{name}");
    }
    let logs = [data("mysql-9.7.000001"), data("mysql-9.7.000002")];
    let new = rewritten(&logs, &folder, |_, transaction| own(transaction)).expect("logs");
    for (old, new) in logs.iter().zip(&new) {
        assert_eq!(bytes_of(old), bytes_of(new), "{}", old.display());
    }
}

#[test]
fn r37_other_numbers_change_only_what_follows_from_them() {
    let folder = folder("other");
    let logs = [
        data("mysql-9.7.000001"),
        data("mysql-9.7.000002"),
        data("mysql-9.7-types.binlog"),
        data("mysql-9.7-xa-payload.binlog"),
        data("mysql-9.7-anonymous.binlog"),
    ];
    for log in logs {
        let old = read(std::slice::from_ref(&log));
        let new = rewritten(std::slice::from_ref(&log), &folder, |position, _| large(position)).expect("a log");
        assert_alike(&log, &new[0]);
        for ((old, new), position) in old.iter().zip(&read(&new)).zip(1..) {
            assert_eq!(own(new), large(position));
            assert_eq!((&old.identity, old.kind, old.committed_at), (&new.identity, new.kind, new.committed_at));
            assert_eq!(old.data.len(), new.data.len());
        }
    }
}

fn tagged(log: Log) -> Log {
    let hex: String = TAGGED.chars().filter(|c| !c.is_whitespace()).collect();
    let body: Vec<u8> = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    log.event(types::GTID_TAGGED, 0, &body).query("BEGIN").rows(0).xid()
}

fn written(log: &Log, folder: &Path) -> PathBuf {
    let path = folder.join("log.000001");
    std::fs::write(&path, &log.bytes).expect("a file");
    path
}

#[test]
fn r37_tagged_events_that_grow_move_what_is_after_them() {
    for checksums in [false, true] {
        let folder = folder(&format!("tagged-{checksums}"));
        let log = tagged(tagged(Log::new(checksums).transaction(1)).transaction(2)).rotate("log.000002");
        let log = written(&log, &folder);
        let new = rewritten(std::slice::from_ref(&log), &folder, |position, _| large(position)).expect("a log");
        assert_alike(&log, &new[0]);
        assert!(bytes_of(&new[0]).len() > bytes_of(&log).len());
        let stamps: Vec<Stamps> = read(&new).iter().map(own).collect();
        assert_eq!(stamps, (1..=4).map(large).collect::<Vec<_>>());
        let last = events(&new[0]).expect("a log").last().expect("an event").expect("an event");
        assert_eq!((last.header.type_code, u64::from(last.header.log_pos)), (ROTATE, bytes_of(&new[0]).len() as u64));
    }
}

#[test]
fn r37_events_of_a_relay_log_keep_the_positions_of_the_source() {
    let folder = folder("relay");
    let log = written(&tagged(tagged(Log::relay(true))).transaction(3), &folder);
    let new = rewritten(std::slice::from_ref(&log), &folder, |position, _| large(position)).expect("a log");
    assert_alike(&log, &new[0]);
    let positions = |path: &Path| -> Vec<u32> {
        events(path).expect("a log").map(|event| event.expect("an event").header.log_pos).collect()
    };
    assert_eq!(positions(&log), positions(&new[0]));
}

#[test]
fn r37_a_transaction_that_is_cut_off_and_repeated_is_refused() {
    let folder = folder("repeated");
    let log = Log::relay(true).gtid(1).query("BEGIN").rows(0).format(0x20).transaction(1).transaction(2);
    let log = written(&log, &folder);
    let error = rewritten(&[log], &folder, |position, _| large(position)).expect_err("a refusal").to_string();
    assert!(error.contains("cut off and repeated later"), "{error}");
}

#[test]
fn r37_events_of_mysql_5_7_get_numbers() {
    let folder = folder("5.7");
    let event = |number: u64| {
        [&[1][..], &[0xaa; 16], &number.to_le_bytes(), &[2], &(number - 1).to_le_bytes(), &number.to_le_bytes()]
            .concat()
    };
    let log = (1..4).fold(Log::of("5.7.44-log", true), |log, number| {
        log.event(GTID, 0, &event(number)).query("BEGIN").rows(0).xid()
    });
    let log = written(&log, &folder);
    let new = rewritten(std::slice::from_ref(&log), &folder, |position, _| large(position)).expect("a log");
    assert_alike(&log, &new[0]);
    assert_eq!(read(&new).iter().map(own).collect::<Vec<_>>(), (1..4).map(large).collect::<Vec<_>>());
}

#[test]
fn r37_a_transaction_without_numbers_is_refused() {
    let folder = folder("without");
    let body = [&[1][..], &[0xaa; 16], &1_u64.to_le_bytes()].concat();
    let log = written(&Log::new(true).event(GTID, 0, &body).query("BEGIN").rows(0).xid(), &folder);
    let mut rewriter = Rewriter::new([copied(&log, &folder)]);
    let offset = read(&[log])[0].offset;
    let error = rewriter.advance(0, offset).expect_err("a refusal").to_string();
    assert!(error.contains("carries no last_committed"), "{error}");
}

#[test]
fn r37_no_file_is_replaced() {
    let folder = folder("exists");
    let copied = copied(&data("mysql-9.7.000001"), &folder);
    std::fs::write(&copied.to, "mine").expect("a file");
    let error = Rewriter::new([copied.clone()]).finish().expect_err("a refusal");
    assert!(matches!(error, RewriteError::Write { .. }), "{error}");
    assert_eq!(bytes_of(&copied.to), b"mine");
}

#[test]
fn r37_damage_is_found_while_a_log_is_copied() {
    let folder = folder("damage");
    let log = data("mysql-9.7-types.binlog");
    let mut bytes = bytes_of(&log);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    let damaged = folder.join("damaged");
    std::fs::write(&damaged, bytes).expect("a file");
    let mut rewriter = Rewriter::new([copied(&damaged, &folder)]);
    let error = read(&[log]).iter().try_for_each(|transaction| {
        rewriter.advance(0, transaction.offset)?;
        rewriter.write_gtid(own(transaction))
    });
    assert!(matches!(error, Err(RewriteError::Log(_))), "{error:?}");
}
