//! Removing applied files.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::write::relay::error::RelayError;
use crate::write::relay::index::Index;
use crate::write::relay::shared::Shared;

/// Removes applied files. It is separate from the writer, so that neither waits for the other except while a file is
/// begun.
#[derive(Debug, Clone)]
pub struct Purger {
    index: Arc<Mutex<Index>>,
    shared: Arc<Shared>,
}

impl Purger {
    pub(crate) fn new(index: &Arc<Mutex<Index>>, shared: &Arc<Shared>) -> Self {
        Self { index: Arc::clone(index), shared: Arc::clone(shared) }
    }

    /// Removes the files whose numbers are below `number`, never the last one; returns their paths.
    pub fn purge_before(&self, number: u64) -> Result<Vec<PathBuf>, RelayError> {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let last = index.numbers().last().copied().unwrap_or(0);
        let (gone, kept): (Vec<u64>, Vec<u64>) = index.numbers().iter().partition(|&&file| file < number.min(last));
        if gone.is_empty() {
            return Ok(Vec::new());
        }
        index.replace(kept)?;
        self.shared.forget_before(number.min(last));
        let paths: Vec<PathBuf> = gone.iter().map(|&number| index.file_path(number)).collect();
        let files = index.files();
        drop(index);
        for path in &paths {
            files.remove(path).map_err(|error| RelayError::write(path, error))?;
        }
        Ok(paths)
    }
}
