//! The file that is decrypted, and its keys.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};

use crate::error::LogError;

/// Keys by their name: the key id of `MySQL`'s keyring, or the number of `MariaDB`'s key file.
pub type Keys = BTreeMap<String, Vec<u8>>;

/// Bytes of a piece, at least; an event is never split.
pub(super) const PIECE: usize = 1 << 20;
pub(super) const MAGIC: &[u8; 4] = b"\xFEbin";

/// A file with the position up to which it was read.
pub(super) struct Source {
    pub(super) file: BufReader<File>,
    pub(super) name: String,
    pub(super) position: u64,
}

impl Source {
    /// Reads exactly so many bytes; `None` at the end of the file.
    pub(super) fn exactly(&mut self, size: usize) -> Result<Option<Vec<u8>>, LogError> {
        let bytes = self.up_to(size)?;
        match bytes.len() {
            0 => Ok(None),
            length if length < size => Err(self.truncated()),
            _ => Ok(Some(bytes)),
        }
    }

    /// Reads at most so many bytes; none at the end of the file.
    pub(super) fn up_to(&mut self, size: usize) -> Result<Vec<u8>, LogError> {
        let mut bytes = Vec::new();
        let read = self.file.by_ref().take(size as u64).read_to_end(&mut bytes);
        read.map_err(|error| LogError::io(&self.name, self.position, error))?;
        self.position += bytes.len() as u64;
        Ok(bytes)
    }

    pub(super) fn truncated(&self) -> LogError {
        let message = "the file ends inside an event or inside its encryption header".to_owned();
        LogError::Truncated { file: self.name.clone(), position: self.position, message }
    }

    pub(super) fn refused(&self, position: u64, message: String) -> LogError {
        LogError::NotUnderstood { file: self.name.clone(), position, message }
    }

    pub(super) fn damaged(&self, position: u64, message: String) -> LogError {
        LogError::Damaged { file: self.name.clone(), position, message }
    }
}
