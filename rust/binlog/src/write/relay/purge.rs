//! Removing files that are not needed any more.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::write::relay::error::RelayError;
use crate::write::relay::files::{LogFiles, SystemFiles};
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
        let gone = index.remove_before(number)?;
        if let Some(&first) = index.numbers().first() {
            self.shared.forget_before(first);
        }
        let paths: Vec<PathBuf> = gone.iter().map(|&number| index.file_path(number)).collect();
        let files = index.files();
        drop(index);
        remove(files.as_ref(), paths)
    }
}

/// Removes the files of a relay log before this one, never the last one; returns their paths. Another process may be
/// writing the log.
///
/// # Errors
/// The name is none of a relay log's files, or the index cannot be read or written.
pub fn purge_folder(folder: &Path, before: &Path) -> Result<Vec<PathBuf>, RelayError> {
    let name = before.file_name().unwrap_or_default().to_string_lossy();
    let named = name.rsplit_once('.').and_then(|(stem, digits)| digits.parse().ok().map(|number: u64| (stem, number)));
    let Some((stem, number)) = named else {
        return Err(RelayError::inconsistent(before, "it is not named as a file of a relay log"));
    };
    let mut index = Index::read(Arc::new(SystemFiles), folder, stem)?;
    let gone = index.remove_before(number)?;
    remove(index.files().as_ref(), gone.iter().map(|&number| index.file_path(number)).collect())
}

fn remove(files: &dyn LogFiles, paths: Vec<PathBuf>) -> Result<Vec<PathBuf>, RelayError> {
    for path in &paths {
        files.remove(path).map_err(|error| RelayError::write(path, error))?;
    }
    Ok(paths)
}
