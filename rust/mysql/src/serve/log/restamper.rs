//! The events of a log with new numbers (rule R37), as `stamp` writes them into a file.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use paraply_binlog::error::Fault;
use paraply_binlog::event::checksum::CHECKSUM_LENGTH;
use paraply_binlog::event::{EventHeader, HEADER_LENGTH};
use paraply_binlog::write::restamp::restamped;

use crate::serve::log::files::LogFile;
use crate::serve::log::numbers::NumbersCursor;

const SIZE: std::ops::Range<usize> = 9..13;
const POSITION: std::ops::Range<usize> = 13..17;

/// Changes the events of one log file: the numbers, and the lengths, positions and checksums that follow from them.
#[derive(Debug)]
pub(in crate::serve) struct Restamper {
    log: Arc<LogFile>,
    cursor: NumbersCursor,
    /// Bytes of a checksum in the file.
    checksum: usize,
    shift: i64,
}

impl Restamper {
    /// Begins at an offset of the file, where the events are sent `shift` bytes later than they are in it; returns none
    /// for a file whose transactions keep their numbers.
    pub(in crate::serve) fn begin(
        log: &Arc<LogFile>,
        offset: u64,
        shift: i64,
        checksum: usize,
    ) -> io::Result<Option<Self>> {
        let Some(numbers) = &log.numbers else { return Ok(None) };
        let cursor = NumbersCursor::at(numbers, offset)?;
        Ok(Some(Self { log: Arc::clone(log), cursor, checksum, shift }))
    }

    /// Returns the bytes by which events are sent later than they are in the file.
    pub(in crate::serve) fn shift(&self) -> i64 {
        self.shift
    }

    /// Returns the first event of the transaction at this offset with its new numbers.
    pub(in crate::serve) fn gtid(&mut self, offset: u64, event: &[u8], header: &EventHeader) -> Result<Vec<u8>, Fault> {
        let numbers = self.log.numbers.as_ref().ok_or_else(|| Fault::damaged("the transaction has no new numbers"))?;
        let record = self.cursor.take(numbers, offset).map_err(|error| Fault::not_understood(error.to_string()))?;
        self.shift = record.shift;
        let end = event.len().saturating_sub(self.checksum);
        let (head, body) =
            event.get(..end).and_then(|content| content.split_at_checked(HEADER_LENGTH)).ok_or_else(short)?;
        let mut out = head.to_vec();
        out.extend_from_slice(&restamped(header.type_code, body, record.stamps)?);
        let size = (out.len() + self.checksum) as u32;
        self.shift += i64::from(size) - event.len() as i64;
        put(&mut out, SIZE, size);
        if !self.log.relay_log && header.log_pos != 0 {
            put(&mut out, POSITION, self.moved(offset + event.len() as u64));
        }
        self.sum(&mut out);
        Ok(out)
    }

    /// Returns another event with its position.
    pub(in crate::serve) fn other<'e>(&self, offset: u64, event: &'e [u8], header: &EventHeader) -> Cow<'e, [u8]> {
        let Some(mut out) = self.head(offset, event, header) else { return Cow::Borrowed(event) };
        let end = event.len().saturating_sub(self.checksum);
        out.extend_from_slice(event.get(HEADER_LENGTH..end).unwrap_or_default());
        self.sum(&mut out);
        Cow::Owned(out)
    }

    /// Returns the new header of another event; none if its position stays.
    ///
    /// The events of a relay log state their position in the source's log, which stays.
    pub(in crate::serve) fn head(&self, offset: u64, event: &[u8], header: &EventHeader) -> Option<Vec<u8>> {
        if self.shift == 0 || self.log.relay_log || header.log_pos == 0 {
            return None;
        }
        let mut head = event.get(..HEADER_LENGTH)?.to_vec();
        put(&mut head, POSITION, self.moved(offset + u64::from(header.event_size)));
        Some(head)
    }

    fn moved(&self, end: u64) -> u32 {
        end.wrapping_add_signed(self.shift) as u32
    }

    fn sum(&self, content: &mut Vec<u8>) {
        if self.checksum == CHECKSUM_LENGTH {
            let sum = crc32fast::hash(content);
            content.extend_from_slice(&sum.to_le_bytes());
        }
    }
}

fn put(event: &mut [u8], range: std::ops::Range<usize>, value: u32) {
    if let Some(field) = event.get_mut(range) {
        field.copy_from_slice(&value.to_le_bytes());
    }
}

fn short() -> Fault {
    Fault::damaged("a GTID event is too short")
}
