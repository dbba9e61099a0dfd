//! The index file, which lists the files of a relay log, oldest first, one path a line as servers write it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::write::relay::error::RelayError;

/// The files of one relay log in one folder.
#[derive(Debug)]
pub(crate) struct Index {
    folder: PathBuf,
    stem: String,
    numbers: Vec<u64>,
}

impl Index {
    /// Reads the index, or begins one; files that it does not name are leftovers of a crash and removed.
    pub(crate) fn open(folder: &Path, stem: &str) -> Result<Self, RelayError> {
        fs::create_dir_all(folder).map_err(|error| RelayError::write(folder, error))?;
        let mut index = Self { folder: folder.to_owned(), stem: stem.to_owned(), numbers: Vec::new() };
        let path = index.path();
        let found = index.numbers_in_folder()?;
        match fs::read_to_string(&path) {
            Ok(text) => index.numbers = index.parse(&text)?,
            // Written before the first file, so that a file that a crash leaves unnamed is recognized as a leftover.
            Err(error) if error.kind() == io::ErrorKind::NotFound && found.is_empty() => index.replace(Vec::new())?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let message = format!("the folder has files of a relay log, but no {stem}.index; name another folder");
                return Err(RelayError::inconsistent(folder, message));
            }
            Err(error) => return Err(RelayError::write(&path, error)),
        }
        for number in found {
            if !index.numbers.contains(&number) {
                let leftover = index.file_path(number);
                fs::remove_file(&leftover).map_err(|error| RelayError::write(&leftover, error))?;
            }
        }
        Ok(index)
    }

    /// Returns the numbers of the files, oldest first.
    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
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
            let mut file = File::create(&temporary)?;
            file.write_all(lines.concat().as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, &path)?;
            File::open(&self.folder)?.sync_all()
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
            if !self.file_path(number).is_file() {
                let message = format!("{name} is not there; name another folder, and what it held is received again");
                return Err(RelayError::inconsistent(&self.path(), message));
            }
            numbers.push(number);
        }
        Ok(numbers)
    }

    fn numbers_in_folder(&self) -> Result<Vec<u64>, RelayError> {
        let failed = |error| RelayError::write(&self.folder, error);
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            numbers.extend(name.to_str().and_then(|name| self.number_of(name)));
        }
        Ok(numbers)
    }
}
