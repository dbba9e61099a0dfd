//! The place from which a replica is served.

use std::path::Path;
use std::sync::Arc;

use paraply_binlog::error::LogError;
use paraply_binlog::event::types;
use paraply_binlog::read::file::EventReader;
use paraply_core::gtid::GtidSet;

use crate::serve::log::files::{Files, LogFile};
use crate::serve::log::log_position::{LogPosition, is_of_receiver};
use crate::serve::session::request::DumpRequest;
use crate::serve::wire::Refusal;

/// The first position of a log.
pub(in crate::serve) const FIRST: u64 = 4;
/// Events within which a relay log names the position of its source.
const HEAD_EVENTS: usize = 8;

/// Start of a dump.
pub(in crate::serve) struct Start {
    pub(in crate::serve) file: Arc<LogFile>,
    pub(in crate::serve) offset: u64,
    /// Bytes by which the event at this offset is sent later, because events before it have become longer.
    pub(in crate::serve) shift: i64,
    /// In a relay log, the position in the source's log; none where the file's head names it.
    pub(in crate::serve) log_position: Option<LogPosition>,
    /// In a relay log, the source's format description that is in use there.
    pub(in crate::serve) format: Option<Vec<u8>>,
    /// Transactions that are not sent.
    pub(in crate::serve) received: Option<GtidSet>,
}

/// Finds the start of a request.
pub(in crate::serve) fn find(files: &Files, request: &DumpRequest) -> Result<Start, Refusal> {
    let list = files.list();
    match &request.received {
        Some(received) => by_gtids(&list, received),
        None if request.position < FIRST => {
            Err(Refusal::log("Client requested source to start replication from position < 4"))
        }
        None if list.first().is_some_and(|file| file.relay_log) => of_relay_log(&list, request),
        None => by_position(&list, request),
    }
}

/// Begins with the newest file before which the replica has everything.
fn by_gtids(files: &[Arc<LogFile>], received: &GtidSet) -> Result<Start, Refusal> {
    let none = GtidSet::new();
    let missing = files.first().and_then(|file| file.previous.as_ref()).unwrap_or(&none).difference(received);
    if !missing.is_empty() {
        return Err(Refusal::log(format!(
            "Cannot replicate because the source purged required binary logs. Replicate the missing transactions from \
             elsewhere, or provision a new replica from backup. Consider increasing the source's binary log expiration \
             period. The GTID set sent by the replica is '{received}', and the missing transactions are '{missing}'"
        )));
    }
    let has_before =
        |file: &&Arc<LogFile>| file.previous.as_ref().is_some_and(|previous| received.contains_set(previous));
    let file = files.iter().rev().find(has_before).or(files.first()).cloned().ok_or_else(not_found)?;
    Ok(Start { file, offset: FIRST, shift: 0, log_position: None, format: None, received: Some(received.clone()) })
}

fn by_position(files: &[Arc<LogFile>], request: &DumpRequest) -> Result<Start, Refusal> {
    let named = |file: &&Arc<LogFile>| request.file.is_empty() || *file.name == *request.file;
    let file = files.iter().find(named).cloned().ok_or_else(not_found)?;
    let (end, _) = file.extent();
    let place = file.original(request.position).map_err(|error| Refusal::log(error.to_string()))?;
    if place.is_some_and(|(offset, _)| offset > end) {
        return Err(Refusal::log("Client requested source to start replication from position > file size"));
    }
    let begins = |offset: u64| offset == FIRST || offset == end || begins_event(&file.path, offset);
    let Some((offset, shift)) = place.filter(|&(offset, _)| begins(offset)) else {
        return Err(Refusal::log(format!(
            "Client requested source to start replication from a position at which no event begins; the file is '{}', the \
             position {}",
            file.name, request.position
        )));
    };
    Ok(Start { file, offset, shift, log_position: None, format: None, received: None })
}

/// Finds a position of the source's log in the relay logs that were made from it.
fn of_relay_log(files: &[Arc<LogFile>], request: &DumpRequest) -> Result<Start, Refusal> {
    let first = files.first().ok_or_else(not_found)?;
    if request.file.is_empty() {
        return Ok(Start {
            file: Arc::clone(first),
            offset: FIRST,
            shift: 0,
            log_position: None,
            format: None,
            received: None,
        });
    }
    let wanted = LogPosition { file: request.file.as_str().into(), position: request.position };
    let before = |file: &&Arc<LogFile>| {
        head_position(&file.path)
            .is_some_and(|log_position| log_position.file == wanted.file && log_position.position <= wanted.position)
    };
    let from = files.iter().rev().find(before).map_or(0, |file| file.number);
    for file in files.iter().filter(|file| file.number >= from) {
        match search(file, &wanted) {
            Ok(Some(start)) => return Ok(start),
            Ok(None) => {}
            Err(error) => return Err(Refusal::log(error.to_string())),
        }
    }
    Err(not_found())
}

fn search(file: &Arc<LogFile>, wanted: &LogPosition) -> Result<Option<Start>, LogError> {
    let mut reader = EventReader::open_sized(&file.path, Some(file.extent().0), false)?;
    let (mut log_position, mut format): (Option<LogPosition>, Option<Vec<u8>>) = (None, None);
    while let Some(event) = reader.next_event()? {
        let (header, offset) = (event.header, event.end_offset);
        if is_of_receiver(&header) {
            continue;
        }
        match header.type_code {
            types::ROTATE => log_position = LogPosition::of_rotate(event.body()).ok(),
            types::FORMAT_DESCRIPTION => format = raw_event(&file.path, event.offset).ok(),
            _ => {
                if let Some(log_position) = &mut log_position {
                    log_position.move_after(&header);
                }
            }
        }
        if format.is_some() && log_position.as_ref() == Some(wanted) {
            return Ok(Some(Start { file: Arc::clone(file), offset, shift: 0, log_position, format, received: None }));
        }
    }
    Ok(None)
}

/// Returns the position of the source's log with which a relay log begins.
fn head_position(path: &Path) -> Option<LogPosition> {
    let mut reader = EventReader::open(path, false).ok()?;
    for _ in 0..HEAD_EVENTS {
        let event = reader.next_event().ok()??;
        if event.header.type_code == types::ROTATE && !is_of_receiver(&event.header) {
            return LogPosition::of_rotate(event.body()).ok();
        }
    }
    None
}

fn begins_event(path: &Path, position: u64) -> bool {
    let Ok(mut reader) = EventReader::open_sized(path, Some(position), false) else { return false };
    loop {
        match reader.next_event() {
            Ok(Some(_)) => {}
            Ok(None) => return reader.offset() == position,
            Err(_) => return false,
        }
    }
}

/// Reads one event as it is in the file, with its checksum.
pub(in crate::serve) fn raw_event(path: &Path, offset: u64) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt as _;

    let file = std::fs::File::open(path)?;
    let mut size = [0; 4];
    file.read_exact_at(&mut size, offset + 9)?;
    // A format description has at most 256 lengths of event types.
    let mut event = vec![0; (u32::from_le_bytes(size) as usize).min(1 << 10)];
    file.read_exact_at(&mut event, offset)?;
    Ok(event)
}

fn not_found() -> Refusal {
    Refusal::log("Could not find first log file name in binary log index file")
}
