//! The index file, which lists the files of a relay log, oldest first, one path a line as servers write it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::write::relay::error::RelayError;
use crate::write::relay::files::LogFiles;

/// The files of one relay log in one folder.
#[derive(Debug)]
pub(crate) struct Index {
    files: Arc<dyn LogFiles>,
    folder: PathBuf,
    stem: String,
    numbers: Vec<u64>,
}

impl Index {
    /// Reads the index, or begins one.
    ///
    /// Of files that it does not name, the next one was begun before a crash: it is named now, because another process may
    /// have read its head. All others are leftovers, and removed.
    pub(crate) fn open(files: Arc<dyn LogFiles>, folder: &Path, stem: &str) -> Result<Self, RelayError> {
        files.create_folder(folder).map_err(|error| RelayError::write(folder, error))?;
        let mut index = Self { files, folder: folder.to_owned(), stem: stem.to_owned(), numbers: Vec::new() };
        let path = index.path();
        let found = index.numbers_in_folder()?;
        match index.files.read_text(&path) {
            Ok(text) => index.numbers = index.parse(&text)?,
            // Written before the first file, so that a file that a crash leaves unnamed is recognized as a leftover.
            Err(error) if error.kind() == io::ErrorKind::NotFound && found.is_empty() => index.replace(Vec::new())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let message = format!("the folder has files of a relay log, but no {stem}.index; name another folder");
                return Err(RelayError::inconsistent(folder, message));
            }
            Err(error) => return Err(RelayError::write(&path, error)),
        }
        let begun = index.numbers.last().map_or(1, |last| last + 1);
        if found.contains(&begun) {
            index.replace(index.numbers.iter().copied().chain([begun]).collect())?;
        }
        for number in found {
            if !index.numbers.contains(&number) {
                let leftover = index.file_path(number);
                index.files.remove(&leftover).map_err(|error| RelayError::write(&leftover, error))?;
            }
        }
        Ok(index)
    }

    /// Reads the index of a log that another process may be writing; changes nothing.
    pub(crate) fn read(files: Arc<dyn LogFiles>, folder: &Path, stem: &str) -> Result<Self, RelayError> {
        let mut index = Self { files, folder: folder.to_owned(), stem: stem.to_owned(), numbers: Vec::new() };
        index.read_again()?;
        Ok(index)
    }

    /// Adds a file after the others, without those that another process has removed meanwhile.
    pub(crate) fn append(&mut self, number: u64) -> Result<(), RelayError> {
        let lock = self.lock()?;
        self.read_again()?;
        let numbers = self.numbers.iter().copied().chain([number]).collect();
        let written = self.replace(numbers);
        drop(lock);
        written
    }

    /// Removes the files whose numbers are below `number`, never the last one; returns their numbers. The files
    /// themselves are left to the caller.
    pub(crate) fn remove_before(&mut self, number: u64) -> Result<Vec<u64>, RelayError> {
        let lock = self.lock()?;
        self.read_again()?;
        let last = self.numbers.last().copied().unwrap_or(0);
        let (gone, kept): (Vec<u64>, Vec<u64>) = self.numbers.iter().partition(|&&file| file < number.min(last));
        let written = if gone.is_empty() { Ok(()) } else { self.replace(kept) };
        drop(lock);
        written.map(|()| gone)
    }

    /// Locks the folder between the process that writes the log and one that removes files, until the lock is dropped.
    fn lock(&self) -> Result<Option<File>, RelayError> {
        self.files.lock_folder(&self.folder).map_err(|error| RelayError::write(&self.folder, error))
    }

    fn read_again(&mut self) -> Result<(), RelayError> {
        let path = self.path();
        let text = self.files.read_text(&path).map_err(|error| RelayError::write(&path, error))?;
        self.numbers = self.parse(&text)?;
        Ok(())
    }

    /// Returns the numbers of the files, oldest first.
    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Returns the access to the files.
    pub(crate) fn files(&self) -> Arc<dyn LogFiles> {
        Arc::clone(&self.files)
    }

    /// Returns the path of a file.
    pub(crate) fn file_path(&self, number: u64) -> PathBuf {
        self.folder.join(self.file_name(number))
    }

    /// Returns the name of a file without its folder.
    pub(crate) fn file_name(&self, number: u64) -> String {
        format!("{}.{number:06}", self.stem)
    }

    /// Writes another set of files; it is on disk when this function returns.
    pub(crate) fn replace(&mut self, numbers: Vec<u64>) -> Result<(), RelayError> {
        let (path, temporary) = (self.path(), self.folder.join(format!("{}.index_new", self.stem)));
        let lines: Vec<String> = numbers.iter().map(|number| format!("./{}\n", self.file_name(*number))).collect();
        let write = || {
            let mut file = self.files.create(&temporary)?;
            file.write_all(lines.concat().as_bytes())?;
            file.sync_all()?;
            self.files.rename(&temporary, &path)?;
            self.files.sync_folder(&self.folder)
        };
        write().map_err(|error| RelayError::write(&path, error))?;
        self.numbers = numbers;
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.folder.join(format!("{}.index", self.stem))
    }

    fn number_of(&self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(&self.stem)?.strip_prefix('.')?;
        if digits.len() < 6 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        digits.parse().ok()
    }

    fn parse(&self, text: &str) -> Result<Vec<u64>, RelayError> {
        let mut numbers = Vec::new();
        for line in text.lines() {
            let name = line.rsplit('/').next().unwrap_or(line);
            let known = self.number_of(name).filter(|number| numbers.last().is_none_or(|last| last < number));
            let Some(number) = known else {
                let message = format!("the line {line:?} names no file of this relay log after the previous one");
                return Err(RelayError::inconsistent(&self.path(), message));
            };
            if self.files.size(&self.file_path(number)).is_err() {
                let message = format!("{name} is not there; name another folder, and what it held is received again");
                return Err(RelayError::inconsistent(&self.path(), message));
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn numbers_in_folder(&self) -> Result<Vec<u64>, RelayError> {
        let names = self.files.list(&self.folder).map_err(|error| RelayError::write(&self.folder, error))?;
        Ok(names.iter().filter_map(|name| self.number_of(name.to_str()?)).collect())
    }
}
