//! The bytes of a transaction's events: in memory, or in temporary files if they are many.

use std::io;
use std::ops::{Index, Range};

use crate::segments::Segments;
use crate::{most_in_memory, piece_bytes};

/// Bytes of a transaction's events, appended event by event; a range that is read lies within one event.
///
/// The bytes of a large transaction ([`most_in_memory`]) go to temporary files, and are read from there like memory.
/// If no file can be written, they stay in memory.
#[derive(Debug, Clone, Default)]
pub struct Data {
    /// The bytes that are in memory: all of them, or those after the files'.
    bytes: Vec<u8>,
    large: Option<Box<Large>>,
}

/// Further parts of the bytes of a large transaction.
#[derive(Debug, Clone, Default)]
struct Large {
    segments: Segments,
    /// Offsets in the memory, between events, at which it is cut when it goes to files.
    cuts: Vec<usize>,
    /// True if a file could not be written.
    failed: bool,
}

impl Data {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.in_files() + self.bytes.len()
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes that are in files.
    pub fn in_files(&self) -> usize {
        self.large.as_ref().map_or(0, |large| large.segments.len())
    }

    /// Reserves memory for more bytes.
    pub fn reserve(&mut self, more: usize) {
        self.bytes.reserve(more);
    }

    /// Returns the bytes of a range; none if it is not within one event.
    #[inline]
    pub fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        let Some(large) = &self.large else { return self.bytes.get(range) };
        let in_files = large.segments.len();
        if range.start < in_files {
            return large.segments.get(range);
        }
        self.bytes.get(range.start - in_files..range.end.checked_sub(in_files)?)
    }

    /// Appends an event, and returns its range.
    pub fn append(&mut self, event: &[u8]) -> Range<usize> {
        self.begin_event();
        let start = self.len();
        self.bytes.extend_from_slice(event);
        start..self.len()
    }

    /// Appends an event that a function writes to the end of the memory.
    ///
    /// # Errors
    /// The function's; some bytes may have been appended.
    pub fn append_with<E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Range<usize>, E> {
        self.begin_event();
        let start = self.len();
        write(&mut self.bytes)?;
        Ok(start..self.len())
    }

    /// Changes the bytes of an event, which may get another range for that.
    pub fn change(&mut self, range: &mut Range<usize>, change: impl FnOnce(&mut [u8])) {
        if range.start < self.in_files() {
            let event = self.get(range.clone()).unwrap_or_default().to_vec();
            *range = self.append(&event);
        }
        let in_files = self.in_files();
        let own = range.start.saturating_sub(in_files)..range.end.saturating_sub(in_files);
        change(self.bytes.get_mut(own).unwrap_or_default());
    }

    /// Removes the bytes from a position on, which lies between two events.
    pub fn truncate(&mut self, length: usize) {
        let in_files = self.in_files();
        self.bytes.truncate(length.saturating_sub(in_files));
        if let Some(large) = &mut self.large {
            large.segments.truncate(length);
            large.cuts.retain(|cut| *cut <= self.bytes.len());
        }
    }

    /// Removes all bytes.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Iterates over all bytes, in parts.
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let in_files = self.large.iter().flat_map(|large| large.segments.parts());
        in_files.chain([self.bytes.as_slice()])
    }

    /// Moves bytes to files if there are too many of them. The memory then ends with a whole event.
    #[inline]
    fn begin_event(&mut self) {
        if self.bytes.len() >= piece_bytes() {
            self.begin_event_after_many();
        }
    }

    fn begin_event_after_many(&mut self) {
        let large = self.large.get_or_insert_default();
        if large.failed {
            return;
        }
        let (length, piece) = (self.bytes.len(), piece_bytes());
        if length - large.cuts.last().copied().unwrap_or_default() >= piece {
            large.cuts.push(length);
        }
        if length < most_in_memory() && large.segments.is_empty() {
            return;
        }
        let ends = std::mem::take(&mut large.cuts);
        match move_to_files(&mut large.segments, &self.bytes, ends) {
            Ok(()) => self.bytes = Vec::new(),
            Err((kept, _)) => {
                large.failed = true;
                self.bytes.drain(..kept);
            }
        }
    }
}

/// Appends memory to files up to its end, cut at some offsets; an error has the number of bytes that were written.
fn move_to_files(segments: &mut Segments, bytes: &[u8], cuts: Vec<usize>) -> Result<(), (usize, io::Error)> {
    let mut start = 0;
    for end in cuts.into_iter().chain([bytes.len()]) {
        segments.append(bytes.get(start..end).unwrap_or_default()).map_err(|error| (start, error))?;
        start = end;
    }
    Ok(())
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.parts().flatten().eq(other.parts().flatten())
    }
}

impl Eq for Data {}

impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, large: None }
    }
}

impl Index<Range<usize>> for Data {
    type Output = [u8];

    /// Returns the bytes of a range, which must lie within one event.
    fn index(&self, range: Range<usize>) -> &[u8] {
        self.get(range).expect("the range lies within one event")
    }
}
