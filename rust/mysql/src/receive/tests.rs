//! Receiving from a source in memory.

use std::collections::VecDeque;
use std::path::PathBuf;

use super::*;
use crate::replica::Arrived;
use paraply_binlog::event::flags;
use paraply_binlog::write::relay::{Head, WriterOptions, compose_event, rotate_body};

const LOG: &[u8] = include_bytes!("../../../binlog/tests/data/mysql-9.7.000001");
const MAGIC: usize = 4;

/// A folder that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("paraply-receive-{}-{name}", std::process::id())))
    }

    fn writer(&self) -> Mutex<RelayWriter> {
        Mutex::new(RelayWriter::open(&self.0, WriterOptions::default()).unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Next act of a source.
enum Act {
    Event {
        bytes: Vec<u8>,
        wants_acknowledgement: bool,
    },
    /// The connection breaks.
    Breaks,
}

/// A source in memory, of which so many events have arrived at once.
struct Memory<'a> {
    acts: VecDeque<Act>,
    event: Vec<u8>,
    at_once: usize,
    taken: usize,
    acknowledged: &'a mut Vec<u64>,
}

impl<'a> Memory<'a> {
    fn new(acts: Vec<Act>, at_once: usize, acknowledged: &'a mut Vec<u64>) -> Self {
        Self { acts: acts.into(), event: Vec::new(), at_once, taken: 0, acknowledged }
    }
}

impl SourceEvents for Memory<'_> {
    fn next(&mut self) -> Result<Option<Arrived<'_>>, Error> {
        self.taken += 1;
        match self.acts.pop_front() {
            Some(Act::Event { bytes, wants_acknowledgement }) => {
                self.event = bytes;
                Ok(Some(Arrived { event: &self.event, wants_acknowledgement }))
            }
            Some(Act::Breaks) => Err(Error::Lost("the connection broke".to_owned())),
            None => Ok(None),
        }
    }

    fn has_more(&self) -> bool {
        !self.taken.is_multiple_of(self.at_once)
    }

    fn acknowledge(&mut self, _file: &str, position: u64) -> Result<(), Error> {
        self.acknowledged.push(position);
        Ok(())
    }
}

/// Returns the events of the log, after the one that names its file; the source waits for the ends of transactions.
fn events() -> Vec<Act> {
    let mut first = Vec::new();
    let head = Head { type_code: types::ROTATE, flags: flags::ARTIFICIAL, timestamp: 0, server_id: 1, offset: None };
    compose_event(&mut first, head, &rotate_body("binlog.000001", MAGIC as u64), true);
    let mut acts = vec![Act::Event { bytes: first, wants_acknowledgement: false }];
    let mut rest = &LOG[MAGIC..];
    while let Ok(header) = EventHeader::parse(rest) {
        let (event, after) = rest.split_at(header.event_size as usize);
        acts.push(Act::Event { bytes: event.to_vec(), wants_acknowledgement: header.type_code == types::XID });
        rest = after;
    }
    acts
}

fn received(writer: &Mutex<RelayWriter>) -> u64 {
    locked(writer).received().transactions
}

#[test]
fn whatever_arrives_together_is_acknowledged_together() {
    let mut told = Vec::new();
    for (at_once, name) in [(1, "singly"), (1000, "together")] {
        let folder = Folder::new(name);
        let writer = folder.writer();
        let mut acknowledged = Vec::new();
        let signals = Signals::default();
        let ended = receive_from(Memory::new(events(), at_once, &mut acknowledged), true, &writer, &signals);
        assert!(matches!(ended, Err(ReceiveError::Source(Error::Lost(_)))), "{ended:?}");
        assert!(acknowledged.is_sorted());
        assert_eq!(signals.acknowledgements.load(Ordering::Relaxed), acknowledged.len() as u64);
        told.push(acknowledged);
    }
    assert!(told[0].len() > 1);
    assert!(told[1].is_empty(), "more was always there");
}

#[test]
fn r28_a_connection_that_breaks_anywhere_leaves_whole_transactions() {
    let folder = Folder::new("whole");
    let writer = folder.writer();
    let _ = receive_from(Memory::new(events(), 1, &mut Vec::new()), false, &writer, &Signals::default());
    let all = received(&writer);
    let mut found = Vec::new();
    for count in 1..=events().len() {
        let folder = Folder::new("broken");
        let writer = folder.writer();
        let acts = events().into_iter().take(count).chain([Act::Breaks]).collect();
        let ended = receive_from(Memory::new(acts, 1, &mut Vec::new()), false, &writer, &Signals::default());
        assert!(matches!(ended, Err(ReceiveError::Source(Error::Lost(_)))));
        assert!(!locked(&writer).is_inside(), "after {count} events");
        found.push(received(&writer));
    }
    found.dedup();
    assert_eq!(found, (0..=all).collect::<Vec<_>>(), "each number of transactions is left by some break");
}

#[test]
fn a_receiver_that_is_to_stop_takes_nothing_more() {
    let folder = Folder::new("stop");
    let (writer, signals) = (folder.writer(), Signals::default());
    signals.stop.store(true, Ordering::SeqCst);
    receive_from(Memory::new(events(), 1, &mut Vec::new()), false, &writer, &signals).unwrap();
    assert_eq!(received(&writer), 0);
}
