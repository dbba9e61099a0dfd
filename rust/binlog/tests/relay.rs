//! The relay log: appended transactions are read, torn tails are cut at every byte, files rotate and are purged,
//! readers follow.

mod by_hand;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use by_hand::{Log, STOP};
use paraply_binlog::read::file::events;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::{Identity, Transaction};
use paraply_binlog::write::relay::{Follower, RelayError, RelayWriter, WriterOptions};
use proptest::prelude::*;

/// A folder of its own that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("paraply-relay-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }

    fn open(&self, max_bytes: u64) -> RelayWriter {
        RelayWriter::open(&self.0, WriterOptions { max_bytes, ..WriterOptions::default() }).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const LARGE: u64 = 1 << 30;

/// Returns the events of a log, one by one, as a source would send them.
fn cut_up(log: &Log) -> Vec<Vec<u8>> {
    let mut rest = &log.bytes[4..];
    let mut found = Vec::new();
    while !rest.is_empty() {
        let size = u32::from_le_bytes(rest[9..13].try_into().unwrap()) as usize;
        found.push(rest[..size].to_vec());
        rest = &rest[size..];
    }
    found
}

/// Returns a source's log: its format, and `count` transactions from `first` on.
fn source(first: u64, count: u64) -> Log {
    (first..first + count).fold(Log::new(true), |log, number| log.gtid(number).query("BEGIN").rows(0).xid())
}

fn append(writer: &mut RelayWriter, log: &Log) {
    for event in cut_up(log) {
        writer.append(&event, log.checksums).unwrap();
    }
    writer.publish().unwrap();
}

fn numbers(transactions: &[Transaction]) -> Vec<u64> {
    let number = |transaction: &Transaction| match &transaction.identity {
        Identity::Gtid(gtid) => gtid.number,
        Identity::Anonymous => 0,
    };
    transactions.iter().map(number).collect()
}

/// Returns everything that is published now.
fn read_now(writer: &RelayWriter) -> Vec<u64> {
    let mut reader = LogReader::follow(Follower::new(Arc::clone(writer.shared())), ReaderOptions::default());
    let mut read = Vec::new();
    while let Some(batch) = reader.next_batch(7, 1 << 20).unwrap() {
        read.extend(numbers(&batch));
    }
    assert!(!reader.is_over());
    read
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with("index"))
        .collect();
    names.sort();
    names
}

#[test]
fn what_is_appended_is_read_and_still_there_when_the_log_is_opened_again() {
    let folder = Folder::new();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 5));
    assert_eq!(read_now(&writer), [1, 2, 3, 4, 5]);
    assert_eq!(writer.received().gtids.to_string(), "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:1-5");
    drop(writer);
    let mut writer = folder.open(LARGE);
    assert!(writer.cut().is_none());
    assert_eq!(writer.received().gtids.count(), 5);
    append(&mut writer, &source(6, 2));
    assert_eq!(read_now(&writer), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(files(&folder.0), ["relay-bin.000001"], "the same format is not written twice");
}

#[test]
fn r28_nothing_of_an_unfinished_transaction_is_read_and_a_lost_connection_takes_it_back() {
    let folder = Folder::new();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 2));
    append(&mut writer, &Log::new(true).gtid(3).query("BEGIN").rows(0));
    assert_eq!(read_now(&writer), [1, 2]);
    assert!(matches!(writer.flush(), Err(RelayError::InsideTransaction { .. })));
    writer.interrupted().unwrap();
    append(&mut writer, &source(3, 2));
    assert_eq!(read_now(&writer), [1, 2, 3, 4]);
}

#[test]
fn a_source_that_died_inside_a_transaction_leaves_nothing_of_it() {
    let folder = Folder::new();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 1).gtid(2).query("BEGIN").rows(0).event(STOP, 0, &[]).gtid(3).query("BEGIN").xid());
    append(&mut writer, &Log::new(true).gtid(4).query("BEGIN").rows(0).gtid(5).query("BEGIN").rows(0).xid());
    assert_eq!(read_now(&writer), [1, 3, 5]);
}

#[test]
fn a_torn_tail_is_cut_at_every_byte() {
    let folder = Folder::new();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 3));
    drop(writer);
    let path = folder.0.join("relay-bin.000001");
    let whole = std::fs::read(&path).unwrap();
    let ends: Vec<u64> = {
        let mut writer = folder.open(LARGE);
        let mut reader = LogReader::follow(Follower::new(Arc::clone(writer.shared())), ReaderOptions::default());
        let batch = reader.next_batch(9, LARGE).unwrap().unwrap();
        writer.close().unwrap();
        batch.iter().map(|transaction| transaction.end_offset).collect()
    };
    let head = whole.len() - (ends[2] - ends[1]) as usize * 3;
    for length in head..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let mut writer = folder.open(LARGE);
        let kept = ends.iter().filter(|end| **end <= length as u64).count() as u64;
        assert_eq!(writer.received().gtids.count(), kept, "cut at {length}");
        let expected_end = ends.get((kept as usize).wrapping_sub(1)).map_or(head as u64, |end| *end);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), expected_end, "cut at {length}");
        assert_eq!(writer.cut().is_some(), length as u64 != expected_end, "cut at {length}");
        append(&mut writer, &source(kept + 1, 4 - kept));
        assert_eq!(read_now(&writer), [1, 2, 3, 4], "cut at {length}");
    }
}

#[test]
fn a_file_whose_head_is_torn_is_begun_anew() {
    let folder = Folder::new();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 2));
    writer.flush().unwrap();
    drop(writer);
    let path = folder.0.join("relay-bin.000002");
    let whole = std::fs::read(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let mut writer = folder.open(LARGE);
        assert_eq!(writer.received().gtids.count(), 2, "cut at {length}");
        append(&mut writer, &source(3, 1));
        assert_eq!(read_now(&writer), [1, 2, 3], "cut at {length}");
        writer.flush().unwrap();
        drop(writer);
        std::fs::remove_dir_all(&folder.0).unwrap();
        let mut writer = folder.open(LARGE);
        append(&mut writer, &source(1, 2));
        writer.flush().unwrap();
    }
}

#[test]
fn a_first_file_that_a_crash_left_unnamed_is_begun_anew() {
    let folder = Folder::new();
    drop(folder.open(LARGE));
    // As if killed between creating the file and naming it in the index.
    std::fs::write(folder.0.join("relay-bin.000001"), b"\xfebin").unwrap();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 1));
    assert_eq!(read_now(&writer), [1]);
}

/// Leaves two files as a kill does before the second one is named in the index; returns the first one's content.
fn killed_while_the_second_file_is_begun(folder: &Folder) -> Vec<u8> {
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 2));
    let index = folder.0.join("relay-bin.index");
    let before = std::fs::read(&index).unwrap();
    writer.flush().unwrap();
    std::fs::write(&index, before).unwrap();
    std::fs::read(folder.0.join("relay-bin.000001")).unwrap()
}

#[test]
fn a_next_file_that_a_crash_left_unnamed_stays_the_same_file() {
    let folder = Folder::new();
    let first = killed_while_the_second_file_is_begun(&folder);
    let path = folder.0.join("relay-bin.000002");
    let mut opened = std::fs::File::open(&path).unwrap(); // as another process may have
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(3, 2));
    assert_eq!(read_now(&writer), [1, 2, 3, 4]);
    let mut seen = Vec::new();
    std::io::Read::read_to_end(&mut opened, &mut seen).unwrap();
    assert_eq!(seen, std::fs::read(&path).unwrap());
    assert_eq!(std::fs::read(folder.0.join("relay-bin.000001")).unwrap(), first);
}

#[test]
fn nothing_follows_the_name_of_the_next_file() {
    let folder = Folder::new();
    let first = killed_while_the_second_file_is_begun(&folder);
    std::fs::remove_file(folder.0.join("relay-bin.000002")).unwrap();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(3, 2));
    assert_eq!(read_now(&writer), [1, 2, 3, 4]);
    assert_eq!(std::fs::read(folder.0.join("relay-bin.000001")).unwrap(), first);
    assert_eq!(files(&folder.0), ["relay-bin.000001", "relay-bin.000002"]);
}

#[test]
fn files_rotate_by_size_and_applied_ones_go() {
    let folder = Folder::new();
    let mut writer = folder.open(2000);
    append(&mut writer, &source(1, 40));
    assert!(files(&folder.0).len() > 3);
    let expected: Vec<u64> = (1..=40).collect();
    assert_eq!(read_now(&writer), expected);
    let mut follower = LogReader::follow(Follower::new(Arc::clone(writer.shared())), ReaderOptions::default());
    let first = follower.next_batch(1, 1).unwrap().unwrap();
    assert_eq!(numbers(&first), [1]);
    let gone = writer.purger().purge_before(3).unwrap();
    assert_eq!(gone.len(), 2);
    assert!(!folder.0.join("relay-bin.000002").exists());
    let index = std::fs::read_to_string(folder.0.join("relay-bin.index")).unwrap();
    assert!(index.starts_with("./relay-bin.000003\n"), "{index}");
    drop(writer);
    let writer = folder.open(2000);
    assert_eq!(writer.received().gtids.count(), 40, "what came before stands in the files that are left");
    assert!(writer.purger().purge_before(1000).unwrap().len() > 1);
    assert_eq!(files(&folder.0).len(), 1, "the last file stays");
}

#[test]
fn every_event_of_the_files_has_a_checksum_that_holds() {
    let folder = Folder::new();
    let mut writer = folder.open(1500);
    let mut log = source(1, 10);
    append(&mut writer, &log);
    // A source without checksums: the relay log has them nevertheless.
    log = (11..21).fold(Log::new(false), |log, number| log.gtid(number).query("BEGIN").rows(0).xid());
    append(&mut writer, &log);
    let mut count = 0;
    for name in files(&folder.0) {
        for event in events(&folder.0.join(name)).unwrap() {
            event.unwrap();
            count += 1;
        }
    }
    assert!(count > 20 * 5);
    assert_eq!(read_now(&writer).len(), 20);
}

#[test]
fn the_place_in_the_source_s_log_is_found_again() {
    let folder = Folder::new();
    let mut writer = folder.open(1500);
    let rotate = |file: &str, position: u64| {
        let mut body = position.to_le_bytes().to_vec();
        body.extend(file.as_bytes());
        let log = Log { bytes: vec![0; 4], checksums: true, relay: true, version: "8.0.36" }.event(4, 0x20, &body);
        cut_up(&log).remove(0)
    };
    writer.append(&rotate("source.000007", 4), true).unwrap();
    let log = source(1, 30);
    append(&mut writer, &log);
    let expected = ("source.000007".to_owned(), log.bytes.len() as u64);
    let place = |writer: &RelayWriter| {
        let received = writer.received();
        (received.source_file.to_string(), received.source_position)
    };
    assert_eq!(place(&writer), expected);
    drop(writer);
    let mut writer = folder.open(1500);
    assert_eq!(place(&writer), expected);
    let size = std::fs::metadata(folder.0.join(files(&folder.0).pop().unwrap())).unwrap().len();
    writer.append(&rotate("source.000007", log.bytes.len() as u64), true).unwrap();
    writer.publish().unwrap();
    let after = std::fs::metadata(folder.0.join(files(&folder.0).pop().unwrap())).unwrap().len();
    assert_eq!(after, size, "a connection that goes on where the last one ended leaves nothing in the log");
    writer.append(&rotate("source.000008", 4), true).unwrap();
    assert_eq!(place(&writer), ("source.000008".to_owned(), 4));
}

#[test]
fn r29_what_came_another_way_shows_at_once_and_stands_in_the_next_file() {
    let folder = Folder::new();
    let mut writer = folder.open(LARGE);
    writer.hold(&"aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:1-7".parse().unwrap());
    assert_eq!(writer.shared().received().gtids.count(), 7, "the source is asked for the rest");
    append(&mut writer, &source(8, 2));
    drop(writer);
    assert_eq!(folder.open(LARGE).received().gtids.count(), 9);
}

#[test]
fn damaged_events_are_refused_and_leave_the_log_as_it_was() {
    let folder = Folder::new();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 2));
    let mut event = cut_up(&source(3, 1)).remove(1);
    event[25] ^= 1;
    assert!(matches!(writer.append(&event, true), Err(RelayError::Log(_))));
    assert!(matches!(writer.append(&event[..20], true), Err(RelayError::Log(_))));
    append(&mut writer, &source(3, 1));
    assert_eq!(read_now(&writer), [1, 2, 3]);
}

#[test]
fn readers_that_follow_see_everything_once_and_end_with_the_log() {
    const COUNT: u64 = 3000;
    let folder = Folder::new();
    let mut writer = folder.open(20_000);
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let mut reader = LogReader::follow(Follower::new(Arc::clone(writer.shared())), ReaderOptions::default());
            thread::spawn(move || {
                let mut read = Vec::new();
                loop {
                    match reader.next_batch(64, 1 << 20).unwrap() {
                        Some(batch) => read.extend(numbers(&batch)),
                        None if reader.is_over() => return read,
                        None => reader.wait(Duration::from_secs(5)),
                    }
                }
            })
        })
        .collect();
    append(&mut writer, &Log::new(true));
    let events: Vec<Vec<Vec<u8>>> = (1..=COUNT).map(|number| cut_up(&source(number, 1))).collect();
    for (index, transaction) in events.iter().enumerate() {
        for event in &transaction[1..] {
            writer.append(event, true).unwrap();
        }
        writer.publish().unwrap();
        if index % 500 == 0 {
            thread::sleep(Duration::from_millis(2));
        }
    }
    writer.close().unwrap();
    let expected: Vec<u64> = (1..=COUNT).collect();
    for reader in readers {
        assert_eq!(reader.join().unwrap(), expected);
    }
}

#[test]
fn a_folder_that_contradicts_its_index_is_refused() {
    let folder = Folder::new();
    let mut writer = folder.open(LARGE);
    append(&mut writer, &source(1, 1));
    writer.flush().unwrap();
    drop(writer);
    let open = || RelayWriter::open(&folder.0, WriterOptions::default());
    std::fs::remove_file(folder.0.join("relay-bin.000001")).unwrap();
    assert!(matches!(open(), Err(RelayError::Inconsistent { .. })));
    std::fs::remove_file(folder.0.join("relay-bin.index")).unwrap();
    assert!(matches!(open(), Err(RelayError::Inconsistent { .. })), "files without an index are somebody else's");
}

#[derive(Debug, Clone)]
enum Act {
    Append(u64),
    Unfinished,
    Interrupt,
    Flush,
    Purge(u64),
    Crash { torn: usize },
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (1_u64..20).prop_map(Act::Append),
        1 => Just(Act::Unfinished),
        1 => Just(Act::Interrupt),
        1 => Just(Act::Flush),
        1 => (1_u64..6).prop_map(Act::Purge),
        2 => (0_usize..400).prop_map(|torn| Act::Crash { torn }),
    ];
    proptest::collection::vec(act, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// After any history the log holds every transaction that was not purged once and in order, as its received set
    /// states.
    #[test]
    fn no_history_loses_or_repeats_a_transaction(history in acts(), max_bytes in 600_u64..6000) {
        let folder = Folder::new();
        let mut writer = folder.open(max_bytes);
        append(&mut writer, &Log::new(true));
        for act in history {
            // The source sends next what the log states as not received.
            let next = writer.received().gtids.count() + 1;
            match act {
                Act::Append(count) => append(&mut writer, &source(next, count)),
                Act::Unfinished => append(&mut writer, &Log::new(true).gtid(next).query("BEGIN").rows(0)),
                Act::Interrupt => writer.interrupted().unwrap(),
                Act::Flush => drop(writer.flush()),
                Act::Purge(number) => drop(writer.purger().purge_before(number).unwrap()),
                Act::Crash { torn } => {
                    drop(writer);
                    let last = files(&folder.0).pop().unwrap();
                    let path = folder.0.join(last);
                    let bytes = std::fs::read(&path).unwrap();
                    std::fs::write(&path, &bytes[..bytes.len().saturating_sub(torn)]).unwrap();
                    writer = folder.open(max_bytes);
                    if files(&folder.0).is_empty() {
                        append(&mut writer, &Log::new(true));
                    }
                }
            }
        }
        writer.interrupted().unwrap();
        let read = read_now(&writer);
        let received = writer.received().gtids.count();
        if let Some(first) = read.first() {
            prop_assert_eq!(&read, &(*first..=received).collect::<Vec<_>>());
        }
        drop(writer);
        prop_assert_eq!(folder.open(max_bytes).received().gtids.count(), received);
    }
}
