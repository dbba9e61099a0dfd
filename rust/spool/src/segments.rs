//! Consecutive bytes in several temporary files, of which only the last used ones take memory.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mapped::Mapped;

/// One file, or the first part of it.
#[derive(Debug, Clone)]
struct Segment {
    start: usize,
    length: usize,
    bytes: Arc<Mapped>,
}

/// Bytes in files that are only appended to and cut at their end. Copies share the files.
#[derive(Debug, Default)]
pub struct Segments {
    files: Vec<Segment>,
    length: usize,
    /// Numbers, plus one, of the two segments that were used last; the lower half is the later one.
    recent: AtomicU64,
}

impl Segments {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends bytes as a file of their own; a range that is read later must not go beyond it.
    ///
    /// # Errors
    /// The file cannot be written; nothing was appended.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mapped = Mapped::store(bytes)?;
        self.files.push(Segment { start: self.length, length: bytes.len(), bytes: Arc::new(mapped) });
        self.length += bytes.len();
        Ok(())
    }

    /// Returns the bytes of a range within one append; none for another range.
    pub fn get(&self, range: Range<usize>) -> Option<&[u8]> {
        let after = self.files.partition_point(|segment| segment.start <= range.start);
        let number = after.checked_sub(1)?;
        let segment = self.files.get(number)?;
        let own = range.start - segment.start..range.end.checked_sub(segment.start)?;
        let bytes = segment.bytes.bytes().get(..segment.length)?.get(own)?;
        self.use_segment(number);
        Some(bytes)
    }

    /// Iterates over all bytes, file by file.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().filter_map(|segment| segment.bytes.bytes().get(..segment.length))
    }

    /// Removes the bytes from a position on.
    pub fn truncate(&mut self, length: usize) {
        if length >= self.length {
            return;
        }
        self.length = length;
        self.files.retain(|segment| segment.start < length);
        if let Some(last) = self.files.last_mut() {
            last.length = length - last.start;
        }
    }

    /// Releases the memory of the segment that was not used for longest, where a third one is used.
    ///
    /// Two are kept because a reader may turn from rows to their table map and back. Other threads may use segments at
    /// the same time: at worst a segment keeps its memory a while longer, or is read from its file once more.
    fn use_segment(&self, number: usize) {
        let current = number as u64 + 1;
        let recent = self.recent.load(Ordering::Relaxed);
        let (last, before) = (recent & 0xffff_ffff, recent >> 32);
        if last == current {
            return;
        }
        self.recent.store(last << 32 | current, Ordering::Relaxed);
        if before != 0
            && before != current
            && let Some(segment) = self.files.get(before as usize - 1)
        {
            segment.bytes.release();
        }
    }
}

impl Clone for Segments {
    fn clone(&self) -> Self {
        Self { files: self.files.clone(), length: self.length, recent: AtomicU64::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Segments {
        let mut segments = Segments::default();
        for part in [&b"abc"[..], b"defgh", b"ij"] {
            segments.append(part).unwrap();
        }
        segments
    }

    #[test]
    fn ranges_within_one_append_are_found() {
        let segments = three();
        assert_eq!(segments.len(), 10);
        for _ in 0..3 {
            assert_eq!(segments.get(0..3), Some(&b"abc"[..]));
            assert_eq!(segments.get(4..7), Some(&b"efg"[..]));
            assert_eq!(segments.get(8..10), Some(&b"ij"[..]));
        }
        assert_eq!((segments.get(2..4), segments.get(9..11)), (None, None));
        assert_eq!(segments.get(Range { start: 5, end: 2 }), None);
        assert_eq!(Segments::default().get(0..0), None);
    }

    #[test]
    fn what_was_cut_off_is_replaced_and_copies_keep_it() {
        let mut segments = three();
        let copy = segments.clone();
        segments.truncate(5);
        assert_eq!((segments.len(), segments.get(3..5), segments.get(3..6)), (5, Some(&b"de"[..]), None));
        segments.append(b"xyz").unwrap();
        assert_eq!((segments.get(5..8), segments.get(3..5)), (Some(&b"xyz"[..]), Some(&b"de"[..])));
        assert_eq!(copy.get(3..8), Some(&b"defgh"[..]));
        segments.truncate(0);
        assert!(segments.is_empty() && segments.get(0..1).is_none());
    }
}
