//! A relay log on a disk that fails: what its writer reports, and what readers find then and after it was opened again.

mod by_hand;
mod faulty_disk;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use by_hand::Log;
use faulty_disk::{Disk, Tail};
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::Identity;
use paraply_binlog::write::relay::{Follower, RelayError, RelayWriter, WriterOptions};
use proptest::prelude::*;

const COUNT: u64 = 12;
/// Size at which a file is followed by the next one, after some three transactions.
const SMALL: u64 = 900;

/// A folder on a disk that fails; it is gone at the end.
struct Place {
    folder: PathBuf,
    disk: Disk,
}

impl Place {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("paraply-faults-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        Self { folder: std::env::temp_dir().join(name), disk: Disk::default() }
    }

    fn open(&self) -> Result<RelayWriter, RelayError> {
        let options = WriterOptions { max_bytes: SMALL, ..WriterOptions::default() };
        RelayWriter::open_on(Arc::new(self.disk.clone()), &self.folder, options)
    }

    /// Opens the log on a disk that works again, receives the rest, and checks that everything is there once.
    ///
    /// Returns the number of transactions that were there before.
    fn receive_the_rest(&self) -> u64 {
        let mut writer = self.open().unwrap();
        let found = received(&writer);
        assert_eq!(read(&writer).0, (1..=found).collect::<Vec<_>>());
        for number in found + 1..=COUNT {
            append(&mut writer, number).unwrap();
        }
        writer.close().unwrap();
        assert_eq!(read(&writer), ((1..=COUNT).collect(), true));
        found
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Appends one transaction as a source sends it, after the format with which a connection begins.
fn append(writer: &mut RelayWriter, number: u64) -> Result<(), RelayError> {
    append_log(writer, &Log::new(true).gtid(number).query("BEGIN").rows(0).xid())
}

fn append_log(writer: &mut RelayWriter, log: &Log) -> Result<(), RelayError> {
    let mut rest = &log.bytes[4..];
    while !rest.is_empty() {
        let size = u32::from_le_bytes(rest[9..13].try_into().unwrap()) as usize;
        writer.append(&rest[..size], true)?;
        rest = &rest[size..];
    }
    writer.publish()
}

fn received(writer: &RelayWriter) -> u64 {
    writer.received().gtids.count()
}

/// Returns the published transactions, and true if nothing more will come.
fn read(writer: &RelayWriter) -> (Vec<u64>, bool) {
    let mut reader = LogReader::follow(Follower::new(Arc::clone(writer.shared())), ReaderOptions::default());
    let mut found = Vec::new();
    while let Some(batch) = reader.next_batch(5, 1 << 20).unwrap() {
        found.extend(batch.iter().map(|transaction| match &transaction.identity {
            Identity::Gtid(gtid) => gtid.number,
            Identity::Anonymous => 0,
        }));
    }
    (found, reader.is_over())
}

fn is_write(error: &RelayError, kind: io::ErrorKind) -> bool {
    matches!(error, RelayError::Write { source, .. } if source.kind() == kind)
}

#[test]
fn writes_that_end_early_lose_nothing() {
    for most in [1, 7, 100] {
        let place = Place::new();
        place.disk.write_at_most(most);
        assert_eq!(place.receive_the_rest(), 0);
        assert_eq!(place.receive_the_rest(), COUNT);
    }
}

#[test]
fn r28_a_full_disk_ends_the_log_after_whole_transactions_and_it_goes_on_from_there() {
    let mut ends = [false; COUNT as usize + 1];
    for room in (0..).step_by(7) {
        let place = Place::new();
        place.disk.leave_room(Some(room));
        let (error, published) = match place.open() {
            Err(error) => (error, 0),
            Ok(mut writer) => {
                let Some(error) = (1..=COUNT).find_map(|number| append(&mut writer, number).err()) else { break };
                let (published, _) = read(&writer);
                assert_eq!(published, (1..=published.len() as u64).collect::<Vec<_>>(), "room for {room}");
                let _ = writer.close();
                assert_eq!(read(&writer), (published.clone(), true), "room for {room}");
                assert!(matches!(append(&mut writer, COUNT), Err(RelayError::Closed { .. })), "room for {room}");
                (error, published.len())
            }
        };
        assert!(is_write(&error, io::ErrorKind::StorageFull), "room for {room}: {error}");
        assert!(error.to_string().contains("free disk space"), "{error}");
        assert!(error.file().starts_with(place.folder.to_str().unwrap()), "{error}");
        place.disk.leave_room(None);
        let found = place.receive_the_rest();
        assert!(found >= published as u64, "room for {room}: {published} were published, {found} are left");
        ends[found as usize] = true;
    }
    assert_eq!(ends[..COUNT as usize], [true; COUNT as usize], "the disk was full before each transaction");
}

#[test]
fn a_disk_that_does_not_sync_ends_the_log() {
    let place = Place::new();
    let mut writer = place.open().unwrap();
    append(&mut writer, 1).unwrap();
    place.disk.refuse_sync(true);
    let error = writer.sync().unwrap_err();
    assert!(is_write(&error, io::ErrorKind::Other), "{error}");
    assert!(error.file().ends_with("relay-bin.000001"), "{error}");
    assert!(matches!(append(&mut writer, 2), Err(RelayError::Closed { .. })));
    assert_eq!(read(&writer), (vec![1], true));
    place.disk.refuse_sync(false);
    assert_eq!(place.receive_the_rest(), 1);
}

#[test]
fn a_disk_that_does_not_sync_while_a_file_is_begun_leaves_a_log_that_opens() {
    for before in 1..COUNT {
        let place = Place::new();
        let mut writer = place.open().unwrap();
        for number in 1..=before {
            append(&mut writer, number).unwrap();
        }
        place.disk.refuse_sync(true);
        let Some(failed) = (before + 1..=COUNT).find(|&number| append(&mut writer, number).is_err()) else { continue };
        drop(writer);
        place.disk.refuse_sync(false);
        assert!(place.receive_the_rest() >= failed - 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn r28_a_loss_of_power_leaves_whatever_was_synced(
        steps in prop::collection::vec((any::<bool>(), any::<bool>()), COUNT as usize),
        unfinished in any::<bool>(),
        zeros in any::<bool>(),
    ) {
        let place = Place::new();
        let mut writer = place.open().unwrap();
        let mut synced = 0;
        for (number, (appends, syncs)) in (1..).zip(steps) {
            if !appends {
                break;
            }
            append(&mut writer, number).unwrap();
            if syncs {
                writer.sync().unwrap();
                synced = number;
            }
        }
        let last = received(&writer);
        if unfinished {
            append_log(&mut writer, &Log::new(true).gtid(last + 1).query("BEGIN").rows(0)).unwrap();
            writer.sync().unwrap();
            synced = last;
        }
        drop(writer);
        place.disk.lose_power(&place.folder, if zeros { Tail::Zeros } else { Tail::Missing });
        let found = place.receive_the_rest();
        prop_assert!((synced..=last).contains(&found), "{synced} were synced, {last} written, {found} are left");
    }
}
