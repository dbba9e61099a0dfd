//! Reading a log file block by block.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Bytes of the log that are read at once; a larger event is read in pieces of this size.
const BLOCK: usize = 1 << 20;

/// One block of a file, read with a descriptor of its own.
#[derive(Debug)]
pub(in crate::serve) struct BlockReader {
    file: File,
    block: Vec<u8>,
    block_at: u64,
}

impl BlockReader {
    pub(in crate::serve) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)?, block: Vec::new(), block_at: 0 })
    }

    /// Goes to the start of another file.
    pub(in crate::serve) fn reopen(&mut self, path: &Path) -> io::Result<()> {
        self.file = File::open(path)?;
        self.forget();
        Ok(())
    }

    /// Forgets the block.
    pub(in crate::serve) fn forget(&mut self) {
        self.block.clear();
    }

    /// Returns the bytes of the block from an offset of the file on.
    pub(in crate::serve) fn ahead(&self, offset: u64) -> &[u8] {
        let at = offset.checked_sub(self.block_at).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.block.get(at..)).unwrap_or_default()
    }

    /// Returns true if the block holds as much from an offset on as it can, up to an end.
    pub(in crate::serve) fn is_full(&self, offset: u64, end: u64) -> bool {
        self.ahead(offset).len() as u64 >= end.saturating_sub(offset).min(BLOCK as u64)
    }

    /// Lends the block, so that an event in it can be sent; returns also the place of the event.
    ///
    /// [`give_back`](Self::give_back) ends the loan.
    pub(in crate::serve) fn lend(&mut self, offset: u64, size: usize) -> (Vec<u8>, Range<usize>) {
        let at = offset.saturating_sub(self.block_at) as usize;
        (std::mem::take(&mut self.block), at..at + size)
    }

    pub(in crate::serve) fn give_back(&mut self, block: Vec<u8>) {
        self.block = block;
    }

    /// Reads the block that begins at an offset.
    pub(in crate::serve) fn fill(&mut self, offset: u64, end: u64) -> io::Result<()> {
        let length = end.saturating_sub(offset).min(BLOCK as u64) as usize;
        self.block.resize(length, 0);
        self.block_at = offset;
        self.file.read_exact_at(&mut self.block, offset)
    }

    /// Passes the bytes of a part of the file on, piece by piece. The block is forgotten.
    pub(in crate::serve) fn pieces<E: From<io::Error>>(
        &mut self,
        offset: u64,
        size: usize,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.block.resize(BLOCK, 0);
        self.block_at = u64::MAX;
        let mut done = 0;
        while done < size {
            let length = (size - done).min(BLOCK);
            let piece = self.block.get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(piece, offset + done as u64)?;
            each(piece)?;
            done += length;
        }
        Ok(())
    }
}
