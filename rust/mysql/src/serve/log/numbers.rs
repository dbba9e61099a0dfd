//! New numbers of the transactions that are served (rule R37). They are kept on disk, so that a long log needs no memory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use paraply_binlog::write::restamp::Stamps;

/// Bytes of a record.
const RECORD: usize = 32;
/// Records that a reader reads at once.
const READ_AT_ONCE: u64 = 1024;
/// Size of a store after which the next log file gets a new one: a store is freed with the last of its log files.
const LARGE: u64 = 64 << 20;
/// Attempts to find a free name for a store.
const MOST_NAMES: u32 = 100;

/// Numbers of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::serve) struct Numbered {
    /// Offset of its first event in the log file.
    pub(in crate::serve) offset: u64,
    pub(in crate::serve) stamps: Stamps,
    /// Bytes by which its first event is sent after its offset, because events before it have become longer.
    pub(in crate::serve) shift: i64,
}

impl Numbered {
    fn encoded(&self) -> [u8; RECORD] {
        let mut record = [0; RECORD];
        let values = [self.offset, self.stamps.last_committed, self.stamps.sequence_number, self.shift as u64];
        for (field, value) in record.chunks_exact_mut(8).zip(values) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        record
    }

    fn decoded(record: &[u8]) -> Option<Self> {
        let mut fields = record.chunks_exact(8).map(|field| field.try_into().map(u64::from_le_bytes));
        let mut next = || fields.next()?.ok();
        let (offset, last_committed, sequence_number, shift) = (next()?, next()?, next()?, next()? as i64);
        Some(Self { offset, stamps: Stamps { last_committed, sequence_number }, shift })
    }
}

/// A file without a name, to which records are appended.
#[derive(Debug)]
pub(in crate::serve) struct Store {
    file: Arc<File>,
    size: u64,
}

impl Store {
    pub(in crate::serve) fn create() -> io::Result<Self> {
        for attempt in 0..MOST_NAMES {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
            let name = format!("paraply-numbers-{}-{now:x}-{attempt}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    std::fs::remove_file(&path)?;
                    return Ok(Self { file: Arc::new(file), size: 0 });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Returns true if the next log file should have a new store.
    pub(in crate::serve) fn is_large(&self) -> bool {
        self.size > LARGE
    }

    /// Begins the records of a log file.
    pub(in crate::serve) fn begin(&self, numbers: &Numbers) {
        drop(numbers.segment.set(Segment { file: Arc::clone(&self.file), begin: self.size }));
    }

    /// Appends records of the log file that was begun last. Readers see them once they are counted.
    pub(in crate::serve) fn append(&mut self, numbers: &Numbers, records: &[Numbered]) -> io::Result<()> {
        let bytes: Vec<u8> = records.iter().flat_map(Numbered::encoded).collect();
        self.file.write_all_at(&bytes, self.size)?;
        self.size += bytes.len() as u64;
        numbers.count.fetch_add(records.len() as u64, Ordering::Release);
        Ok(())
    }
}

#[derive(Debug)]
struct Segment {
    file: Arc<File>,
    /// Offset of the first record.
    begin: u64,
}

/// Numbers of the transactions of one log file, in order.
#[derive(Debug, Default)]
pub(in crate::serve) struct Numbers {
    segment: OnceLock<Segment>,
    count: AtomicU64,
    /// Offset in the log file up to which every transaction has its numbers.
    end: AtomicU64,
    /// Shift after the last transaction that has its numbers.
    shift: AtomicU64,
}

impl Numbers {
    /// Returns the offset in the log file up to which every transaction has its numbers.
    pub(in crate::serve) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Returns the shift at that offset.
    pub(in crate::serve) fn end_shift(&self) -> i64 {
        self.shift.load(Ordering::Acquire) as i64
    }

    pub(in crate::serve) fn set_end(&self, end: u64, shift: i64) {
        self.shift.store(shift as u64, Ordering::Release);
        self.end.store(end, Ordering::Release);
    }

    pub(in crate::serve) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Returns records from this one on, as many as are read at once.
    fn read(&self, from: u64, most: u64) -> io::Result<Vec<Numbered>> {
        let Some(segment) = self.segment.get() else { return Ok(Vec::new()) };
        let count = self.count().saturating_sub(from).min(most);
        let mut bytes = vec![0; count as usize * RECORD];
        segment.file.read_exact_at(&mut bytes, segment.begin + from * RECORD as u64)?;
        Ok(bytes.chunks_exact(RECORD).filter_map(Numbered::decoded).collect())
    }

    /// Returns one record.
    pub(in crate::serve) fn get(&self, index: u64) -> io::Result<Option<Numbered>> {
        Ok(self.read(index, 1)?.first().copied())
    }

    /// Returns the index of the first record for which `is_after` is true; it is so for all later ones.
    pub(in crate::serve) fn first(&self, is_after: impl Fn(&Numbered) -> bool) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle)?.is_some_and(|record| is_after(&record)) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }
}

/// A reader of one log file's numbers, in order.
#[derive(Debug, Default)]
pub(in crate::serve) struct NumbersCursor {
    read: Vec<Numbered>,
    /// Index of the first record in `read`, and of the next one to return.
    begin: u64,
    next: u64,
}

impl NumbersCursor {
    /// Begins with the first transaction that is not before this offset.
    pub(in crate::serve) fn at(numbers: &Numbers, offset: u64) -> io::Result<Self> {
        let next = numbers.first(|record| record.offset >= offset)?;
        Ok(Self { read: Vec::new(), begin: next, next })
    }

    /// Returns the numbers of the transaction at this offset, which is the next one.
    pub(in crate::serve) fn take(&mut self, numbers: &Numbers, offset: u64) -> io::Result<Numbered> {
        if self.next >= self.begin + self.read.len() as u64 {
            self.begin = self.next;
            self.read = numbers.read(self.next, READ_AT_ONCE)?;
        }
        let record = self.read.get((self.next - self.begin) as usize).filter(|record| record.offset == offset);
        self.next += 1;
        record.copied().ok_or_else(|| io::Error::other("the transaction has no new numbers"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(index: u64) -> Numbered {
        let stamps = Stamps { last_committed: index / 2, sequence_number: index + 1 };
        Numbered { offset: 100 + index * 7, stamps, shift: -(index as i64) }
    }

    #[test]
    fn numbers_are_read_as_they_were_written_and_found_by_offset() {
        let mut store = Store::create().unwrap();
        let (before, numbers) = (Numbers::default(), Numbers::default());
        store.begin(&before);
        store.append(&before, &[record(5)]).unwrap();
        store.begin(&numbers);
        let mut cursor = NumbersCursor::at(&numbers, 0).unwrap();
        assert!(cursor.take(&numbers, record(0).offset).is_err());
        let records: Vec<_> = (0..3000).map(record).collect();
        for part in records.chunks(700) {
            store.append(&numbers, part).unwrap();
        }
        let mut cursor = NumbersCursor::at(&numbers, 0).unwrap();
        for index in 0..3000 {
            assert_eq!(cursor.take(&numbers, record(index).offset).unwrap(), record(index));
        }
        let mut cursor = NumbersCursor::at(&numbers, record(41).offset + 1).unwrap();
        assert_eq!(cursor.take(&numbers, record(42).offset).unwrap(), record(42));
        assert!(cursor.take(&numbers, 1).is_err());
        assert_eq!(numbers.get(3000).unwrap(), None);
        assert_eq!(before.get(0).unwrap(), Some(record(5)));
    }
}
