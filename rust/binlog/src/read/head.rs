//! Content of a log file that is known without reading it all: its first events, and the event that closes it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use paraply_core::gtid::{Gtid, GtidSet};

use crate::error::LogError;
use crate::event::gtid_event::{self, GtidEvent, GtidRange};
use crate::event::mariadb::{self, MariadbGtid};
use crate::event::{Event, EventHeader, HEADER_LENGTH, flags, types};
use crate::read::file::EventReader;
use crate::transaction::Format;

/// Number of events within which a transaction must have begun, or the file has none.
const MOST_HEAD_EVENTS: usize = 64;
/// Bytes at a file's end that hold the event that closes it: header, position, the longest file name, checksum.
const TAIL: u64 = 19 + 8 + 512 + 4;

/// The beginning of a file's first transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstTransaction {
    /// None where the log has no GTIDs.
    pub gtid: Option<Gtid>,
    /// Commit time on its original source, microseconds since 1970, UTC.
    pub committed_at: i64,
}

/// End of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Closing {
    /// A rotate event with the name of the next file.
    Next(String),
    /// A stop event: the server was shut down.
    Stopped,
    /// Neither: the file is still written, its server crashed, or it is a relay log.
    Open,
}

/// The head and the tail of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileHead {
    /// The first format description.
    pub format: Arc<Format>,
    /// Time when the file was begun, seconds since 1970.
    pub begun: u32,
    /// True if it is a relay log, as far as its head shows.
    pub relay_log: bool,
    /// Set that was executed before this file; none where the file does not have it.
    pub previous_gtids: Option<GtidSet>,
    /// The first transaction; none where there is none, or it is damaged.
    pub first: Option<FirstTransaction>,
    /// End of the file.
    pub closing: Closing,
    /// Size of the file in bytes.
    pub size: u64,
}

/// Reads the head and the tail of a file, whatever its size.
///
/// Damage after the format description is ignored; reading the file reports it.
pub fn read_head(path: &Path) -> Result<FileHead, LogError> {
    let name = path.display().to_string();
    let mut reader = EventReader::open(path, false)?;
    let none = || LogError::Truncated { file: name.clone(), position: 4, message: "the log has no event".to_owned() };
    let first = reader.next_event()?.ok_or_else(none)?;
    let mut head = FileHead {
        format: Arc::clone(first.format),
        begun: first.header.timestamp,
        relay_log: false,
        previous_gtids: None,
        first: None,
        closing: Closing::Open,
        size: 0,
    };
    for _ in 0..MOST_HEAD_EVENTS {
        let Ok(Some(event)) = reader.next_event() else { break };
        if let Some(ranges) = previous_gtids(&event) {
            head.previous_gtids = ranges.ok().map(|ranges| set_of(&ranges));
        }
        if let Some(first) = transaction_start(&event) {
            head.first = Some(first);
            break;
        }
    }
    head.relay_log = reader.is_relay_log();
    let (size, tail) = read_tail(path).map_err(|error| LogError::io(&name, 0, error))?;
    head.size = size;
    if !head.relay_log {
        head.closing = closing(&tail, size, head.format.checksum);
    }
    Ok(head)
}

/// Returns the GTIDs of all transactions of a file. Walks over all events and decodes only those that begin a
/// transaction.
///
/// Stops without an error where the file is damaged; reading the file reports the damage.
pub fn gtids_of(path: &Path) -> Result<GtidSet, LogError> {
    let mut reader = EventReader::open(path, false)?;
    let mut set = GtidSet::new();
    while let Ok(Some(event)) = reader.next_event() {
        if let Some(gtid) = gtid_of(&event) {
            set.add(&gtid);
        }
    }
    Ok(set)
}

fn set_of(ranges: &[GtidRange]) -> GtidSet {
    let mut set = GtidSet::new();
    for range in ranges {
        set.add_range(&range.origin, range.first, range.last);
    }
    set
}

/// Returns the transactions before a file, as the file states them.
pub(crate) fn previous_gtids(event: &Event<'_>) -> Option<Result<Vec<GtidRange>, crate::error::Fault>> {
    match event.header.type_code {
        types::PREVIOUS_GTIDS => Some(gtid_event::previous_gtids(event.body())),
        types::MARIADB_GTID_LIST if event.format.mariadb => Some(mariadb::gtid_list(event.body())),
        _ => None,
    }
}

/// Returns the next file's name, if the event is the Rotate that closes a binlog.
pub(crate) fn next_file(event: &Event<'_>) -> Option<String> {
    let closes = event.header.type_code == types::ROTATE && !event.relay_log && !event.header.has(flags::ARTIFICIAL);
    let name = event.body().get(8..).filter(|_| closes)?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Returns the GTID that an event gives to its transaction.
pub fn gtid_of(event: &Event<'_>) -> Option<Gtid> {
    match event.header.type_code {
        types::GTID | types::GTID_TAGGED => GtidEvent::parse(event.header.type_code, event.body()).ok()?.gtid,
        types::MARIADB_GTID if event.format.mariadb => {
            Some(MariadbGtid::parse(event.body(), event.header.server_id).ok()?.gtid)
        }
        _ => None,
    }
}

fn transaction_start(event: &Event<'_>) -> Option<FirstTransaction> {
    let begins = matches!(
        event.header.type_code,
        types::GTID | types::GTID_TAGGED | types::ANONYMOUS_GTID | types::QUERY | types::MARIADB_QUERY_COMPRESSED
    ) || (event.header.type_code == types::MARIADB_GTID && event.format.mariadb);
    begins.then(|| {
        let known = match event.header.type_code {
            code @ (types::GTID | types::GTID_TAGGED | types::ANONYMOUS_GTID) => {
                GtidEvent::parse(code, event.body()).ok().and_then(|gtid| gtid.committed_at)
            }
            _ => None,
        };
        let second = i64::from(event.header.timestamp) * 1_000_000;
        FirstTransaction { gtid: gtid_of(event), committed_at: known.unwrap_or(second) }
    })
}

fn read_tail(path: &Path) -> std::io::Result<(u64, Vec<u8>)> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    Ok((size, tail))
}

/// Finds the event that ends with the file: its type, its size and its end position must fit.
fn closing(tail: &[u8], size: u64, checksum: bool) -> Closing {
    let trailer = if checksum { 4 } else { 0 };
    for length in HEADER_LENGTH + trailer..=tail.len() {
        let Some(bytes) = tail.get(tail.len() - length..) else { break };
        let Ok(header) = EventHeader::parse(bytes) else { break };
        if header.event_size as usize != length || header.log_pos != size as u32 || header.has(flags::ARTIFICIAL) {
            continue;
        }
        match header.type_code {
            types::STOP if length == HEADER_LENGTH + trailer => return Closing::Stopped,
            types::ROTATE => {
                let name = bytes.get(HEADER_LENGTH + 8..length - trailer).unwrap_or_default();
                return Closing::Next(String::from_utf8_lossy(name).into_owned());
            }
            _ => {}
        }
    }
    Closing::Open
}
