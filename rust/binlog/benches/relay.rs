//! A relay log's writer and reader: each alone, together, and together under one lock that both and the status take, as
//! servers had it.
//!
//! Rates are counted over the same interval, in rounds that alternate; the medians are printed. The loss of two busy
//! cores (clock, caches, memory) is measured by a writer and a reader with separate logs that share nothing.

#[path = "../tests/by_hand/mod.rs"]
mod by_hand;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use by_hand::Log;
use paraply_binlog::read::file::EventReader;
use paraply_binlog::read::group::Assembler;
use paraply_binlog::read::reader::GrowingLog as _;
use paraply_binlog::write::relay::{Follower, RelayWriter, Shared, WriterOptions};

const TRANSACTIONS: u64 = 100_000;
const ROWS: u64 = 6;
const ROUNDS: usize = 5;
const POLL: Duration = Duration::from_millis(1);

/// Participants of a round.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "who takes part and in what is five independent choices")]
struct Cast {
    name: &'static str,
    writes: bool,
    reads: bool,
    polls: bool,
    one_lock: bool,
    apart: bool,
}

const CASTS: [Cast; 8] = [
    Cast { name: "receiver alone", writes: true, reads: false, polls: false, one_lock: false, apart: false },
    Cast { name: "applier alone", writes: false, reads: true, polls: false, one_lock: false, apart: false },
    Cast { name: "both", writes: true, reads: true, polls: false, one_lock: false, apart: false },
    Cast {
        name: "both, each on a log of its own",
        writes: true,
        reads: true,
        polls: false,
        one_lock: false,
        apart: true,
    },
    Cast {
        name: "both, status 1,000 times a second",
        writes: true,
        reads: true,
        polls: true,
        one_lock: false,
        apart: false,
    },
    Cast {
        name: "receiver, status 1,000 times a second",
        writes: true,
        reads: false,
        polls: true,
        one_lock: false,
        apart: false,
    },
    Cast { name: "both, one lock", writes: true, reads: true, polls: false, one_lock: true, apart: false },
    Cast {
        name: "both, one lock, status 1,000 times a second",
        writes: true,
        reads: true,
        polls: true,
        one_lock: true,
        apart: false,
    },
];

type OneLock = Option<Arc<Mutex<()>>>;

fn main() {
    let events = source_events();
    let mut rates: Vec<(Vec<f64>, Vec<f64>)> = vec![(Vec::new(), Vec::new()); CASTS.len()];
    for _ in 0..ROUNDS {
        for (cast, rates) in CASTS.iter().zip(&mut rates) {
            let (written, read) = round(*cast, &events);
            rates.0.push(written);
            rates.1.push(read);
        }
    }
    println!("{:<45} {:>22} {:>22}", "", "received, transactions/s", "read, transactions/s");
    for (cast, (written, read)) in CASTS.iter().zip(&mut rates) {
        let shown =
            |wanted: bool, rates: &mut Vec<f64>| if wanted { format!("{:.0}", median(rates)) } else { String::new() };
        println!("{:<45} {:>24} {:>20}", cast.name, shown(cast.writes, written), shown(cast.reads, read));
    }
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Returns the events of each transaction, without checksums.
fn source_events() -> Vec<Vec<Vec<u8>>> {
    (1..=TRANSACTIONS)
        .map(|number| {
            let log =
                Log { bytes: Vec::new(), checksums: false, relay: true, version: "8.0.36" }.gtid(number).query("BEGIN");
            cut_up(&(0..ROWS).fold(log, |log, _| log.rows(0)).xid().bytes)
        })
        .collect()
}

fn cut_up(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let size = u32::from_le_bytes([rest[9], rest[10], rest[11], rest[12]]) as usize;
        found.push(rest[..size].to_vec());
        rest = &rest[size..];
    }
    found
}

/// Runs one round; returns transactions a second of the writer and of the reader.
fn round(cast: Cast, events: &[Vec<Vec<u8>>]) -> (f64, f64) {
    let (folder, other_folder) = (Folder::new(), Folder::new());
    let mut writer = begun(&folder, events);
    let other = cast.apart.then(|| begun(&other_folder, events));
    let lock: OneLock = cast.one_lock.then(Arc::default);
    let shared = Arc::clone(other.as_ref().unwrap_or(&writer).shared());
    let ended = Arc::new(AtomicBool::new(false));
    let read = Arc::new(AtomicU64::new(0));
    let mut helpers = Vec::new();
    if cast.reads {
        let (shared, ended, read, lock) = (Arc::clone(&shared), Arc::clone(&ended), Arc::clone(&read), lock.clone());
        helpers.push(thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                read_through(&shared, &ended, &read, &lock);
            }
        }));
    }
    if cast.polls {
        let (shared, ended, lock) = (Arc::clone(&shared), Arc::clone(&ended), lock.clone());
        helpers.push(thread::spawn(move || poll(&shared, &ended, &lock)));
    }
    let began = Instant::now();
    if cast.writes {
        write(&mut writer, events, lock.as_deref());
    } else {
        thread::sleep(Duration::from_millis(800));
    }
    let seconds = began.elapsed().as_secs_f64();
    let count = read.load(Ordering::Relaxed);
    ended.store(true, Ordering::Relaxed);
    for helper in helpers {
        helper.join().expect("a helper ended by itself");
    }
    (events.len() as f64 / seconds, count as f64 / seconds)
}

/// Creates a log for the reader, which starts again at the end, so that it always has enough.
fn begun(folder: &Folder, events: &[Vec<Vec<u8>>]) -> RelayWriter {
    let options = WriterOptions { max_bytes: 1 << 40, ..WriterOptions::default() };
    let mut writer = RelayWriter::open(&folder.0, options).expect("the folder is new");
    let format = Log::new(true).bytes.split_off(4);
    writer.append(&format, false).expect("a format description");
    write(&mut writer, &events[..events.len() / 4], None);
    writer
}

/// Appends and publishes. A lock is taken twice an event: for the event and for the receiver's position.
fn write(writer: &mut RelayWriter, events: &[Vec<Vec<u8>>], lock: Option<&Mutex<()>>) {
    for transaction in events {
        for event in transaction {
            let guard = lock.map(|lock| lock.lock().expect("nobody panics"));
            writer.append(event, false).expect("a whole event");
            if !writer.is_inside() {
                writer.publish().expect("there is room");
            }
            drop(guard);
            drop(lock.map(|lock| lock.lock().expect("nobody panics")));
        }
    }
}

/// Reads and decodes what is published now, once. A lock is taken for each event.
fn read_through(shared: &Arc<Shared>, ended: &AtomicBool, read: &AtomicU64, lock: &OneLock) {
    let mut follower = Follower::new(Arc::clone(shared));
    let Ok(Some((name, source))) = follower.next_file() else { return };
    let mut reader = EventReader::new(Arc::clone(&name), source, true).expect("a log");
    let mut assembler = Assembler::new(1 << 30);
    while !ended.load(Ordering::Relaxed) {
        let guard = lock.as_ref().map(|lock| lock.lock().expect("nobody panics"));
        let Ok(Some(event)) = reader.next_event() else { return };
        drop(guard);
        if assembler.accept(&event, &name, 0).expect("whole transactions").is_some() {
            read.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn poll(shared: &Shared, ended: &AtomicBool, lock: &OneLock) {
    while !ended.load(Ordering::Relaxed) {
        let guard = lock.as_ref().map(|lock| lock.lock().expect("nobody panics"));
        std::hint::black_box(shared.received().gtids.to_string());
        drop(guard);
        thread::sleep(POLL);
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("paraply-relay-bench-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
