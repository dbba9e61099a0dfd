//! Sum of a relay log's events: the received set and the position in the source's log, at transaction boundaries.

use std::sync::Arc;

use paraply_core::gtid::GtidSet;

use crate::error::Fault;
use crate::event::{Event, flags, types};
use crate::read::head::previous_gtids;
use crate::write::relay::boundary::{Boundary, Step};
use crate::write::relay::shared::Received;

/// Follows the events of a relay log, as they are appended or read from a file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tracker {
    boundary: Boundary,
    /// State at the last transaction boundary.
    pub(crate) received: Received,
}

impl Tracker {
    /// Returns true if a transaction has begun and not yet ended.
    pub(crate) fn is_inside(&self) -> bool {
        self.boundary.is_inside()
    }

    /// Forgets the transaction that has begun.
    pub(crate) fn reset(&mut self) {
        self.boundary.reset();
    }

    /// Takes the next event.
    pub(crate) fn accept(&mut self, event: &Event<'_>) -> Result<Step, Fault> {
        let step = self.boundary.accept(event)?;
        match &step {
            Step::Ends(ended) => {
                let received = &mut self.received;
                if let Some(gtid) = &ended.gtid {
                    received.gtids.add(gtid);
                }
                received.last_gtid.clone_from(&ended.gtid);
                received.committed_at = ended.committed_at;
                received.transactions += 1;
                self.move_on(event);
            }
            Step::Apart => self.note_apart(event)?,
            Step::Interrupts if !self.boundary.is_inside() => self.note_apart(event)?,
            Step::Within | Step::Interrupts => {}
        }
        Ok(step)
    }

    /// Takes the position in the source's log from a rotate event.
    pub(crate) fn note_rotate(&mut self, body: &[u8]) -> Result<(), Fault> {
        let (position, file) =
            body.split_first_chunk().ok_or_else(|| Fault::damaged("a rotate event is too short for a position"))?;
        let file = std::str::from_utf8(file).map_err(|_| Fault::damaged("a rotate event names no file"))?;
        if *file != *self.received.source_file {
            self.received.source_file = Arc::from(file);
        }
        self.received.source_position = u64::from_le_bytes(*position);
        Ok(())
    }

    fn note_apart(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        if event.header.has(flags::RELAY_LOG) {
            if let Some(ranges) = previous_gtids(event) {
                self.received.gtids = GtidSet::new();
                for range in ranges? {
                    self.received.gtids.add_range(&range.origin, range.first, range.last);
                }
            }
            return Ok(());
        }
        if event.header.type_code == types::ROTATE {
            return self.note_rotate(event.body());
        }
        self.move_on(event);
        Ok(())
    }

    /// Updates the position; a header holds its lower half.
    fn move_on(&mut self, event: &Event<'_>) {
        if event.header.log_pos == 0 || event.header.has(flags::ARTIFICIAL) {
            return;
        }
        let before = self.received.source_position;
        let position = before & !u64::from(u32::MAX) | u64::from(event.header.log_pos);
        self.received.source_position = if position < before { position + (1 << 32) } else { position };
    }
}
