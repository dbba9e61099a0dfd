//! Content of the last file of a relay log, and the end of its whole part.

use std::path::Path;
use std::sync::Arc;

use crate::error::LogError;
use crate::event::{flags, types};
use crate::read::file::EventReader;
use crate::transaction::Format;
use crate::write::relay::boundary::Step;
use crate::write::relay::error::RelayError;
use crate::write::relay::files::LogFiles;
use crate::write::relay::tracker::Tracker;

/// Bytes that were cut from the end of a relay log when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub file: String,
    /// End of its last whole transaction.
    pub position: u64,
    /// Number of bytes cut.
    pub bytes: u64,
    /// Description of the damage.
    pub reason: String,
}

/// The whole part of a relay log's last file.
pub(crate) struct Whole {
    pub(crate) format: Arc<Format>,
    pub(crate) tracker: Tracker,
    pub(crate) end: u64,
    /// True if the file names the next one: nothing is written after that.
    pub(crate) rotated: bool,
    pub(crate) cut: Option<Cut>,
}

/// Reads a file's events and cuts everything after the last whole transaction; none if not even the file's head is
/// whole.
pub(crate) fn repair(files: &dyn LogFiles, path: &Path) -> Result<Option<Whole>, RelayError> {
    let Some((mut whole, reason)) = walk(path)? else { return Ok(None) };
    let failed = |error| RelayError::write(path, error);
    let mut file = files.append(path, whole.end).map_err(failed)?;
    let size = files.size(path).map_err(failed)?;
    if size > whole.end {
        file.cut(whole.end).and_then(|()| file.sync_all()).map_err(failed)?;
        let (position, bytes) = (whole.end, size - whole.end);
        whole.cut = Some(Cut { file: path.display().to_string(), position, bytes, reason });
    }
    Ok(Some(whole))
}

fn walk(path: &Path) -> Result<Option<(Whole, String)>, RelayError> {
    let mut events = match EventReader::open(path, true) {
        Ok(events) => events,
        Err(error @ LogError::Io { .. }) => return Err(error.into()),
        Err(_) => return Ok(None),
    };
    let name = Arc::clone(events.name());
    let mut found: Option<(Arc<Format>, u64)> = None;
    let mut tracker = Tracker::default();
    let (mut head_is_whole, mut rotated) = (false, false);
    let reason = loop {
        let event = match events.next_event() {
            Ok(Some(event)) => event,
            Ok(None) => break "a transaction without its end".to_owned(),
            Err(error @ LogError::Io { .. }) => return Err(error.into()),
            Err(error) => break error.to_string(),
        };
        match tracker.accept(&event) {
            Ok(Step::Within) => continue,
            Ok(Step::Apart | Step::Ends(_)) => {}
            Ok(Step::Interrupts) => break "a transaction without its end".to_owned(),
            Err(fault) => break fault.at(&name, event.offset).to_string(),
        }
        // The head ends with the set that was received before.
        head_is_whole |= matches!(event.header.type_code, types::PREVIOUS_GTIDS | types::MARIADB_GTID_LIST);
        rotated = event.header.type_code == types::ROTATE && event.header.has(flags::RELAY_LOG);
        if head_is_whole {
            found = Some((Arc::clone(event.format), event.end_offset));
        }
    };
    tracker.reset();
    tracker.received.transactions = 0;
    Ok(found.map(|(format, end)| (Whole { format, tracker, end, rotated, cut: None }, reason)))
}
