//! Positions in the log of the server that wrote the events, as a relay log keeps them.

use std::sync::Arc;

use paraply_binlog::error::Fault;
use paraply_binlog::event::{EventHeader, flags, types};

/// A file and an offset as replicas name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::serve) struct LogPosition {
    pub(in crate::serve) file: Arc<str>,
    pub(in crate::serve) position: u64,
}

impl LogPosition {
    /// Reads the body of a rotate event.
    pub(in crate::serve) fn of_rotate(body: &[u8]) -> Result<Self, Fault> {
        let (position, file) =
            body.split_first_chunk().ok_or_else(|| Fault::damaged("a rotate event is too short for a position"))?;
        let file = std::str::from_utf8(file).map_err(|_| Fault::damaged("a rotate event names no file"))?;
        Ok(Self { file: file.into(), position: u64::from_le_bytes(*position) })
    }

    /// Moves after an event of a relay log, whose header holds the lower half of the position.
    pub(in crate::serve) fn move_after(&mut self, header: &EventHeader) {
        if header.log_pos == 0 || header.has(flags::ARTIFICIAL) {
            return;
        }
        let position = self.position & !u64::from(u32::MAX) | u64::from(header.log_pos);
        self.position = if position < self.position { position + (1 << 32) } else { position };
    }
}

/// Returns true if the receiver wrote an event into the relay log on its own.
pub(in crate::serve) fn is_of_receiver(header: &EventHeader) -> bool {
    header.has(flags::RELAY_LOG)
}

/// Returns true for a rotate event that only names the position of what follows.
pub(in crate::serve) fn is_made_up(header: &EventHeader) -> bool {
    header.type_code == types::ROTATE && (header.log_pos == 0 || header.has(flags::ARTIFICIAL))
}
