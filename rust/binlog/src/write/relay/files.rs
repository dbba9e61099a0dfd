//! Access of a relay log's writer to its files: the operating system's, or in a test one that fails as disks do.
//!
//! Readers open the files by themselves: they only see what the writer has published.

use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::Path;

/// A file that is written from a position on.
pub trait LogFile: Write + Debug + Send {
    /// Writes the content to disk, and the size where it has changed.
    fn sync_data(&self) -> io::Result<()>;

    /// Writes the content and all properties to disk.
    fn sync_all(&self) -> io::Result<()>;

    /// Removes everything after `end`; writing continues there.
    fn cut(&mut self, end: u64) -> io::Result<()>;
}

/// The operations on files and their folder that a relay log needs.
pub trait LogFiles: Debug + Send + Sync {
    /// Creates a folder and those above it; does nothing if it exists.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Returns the names in a folder, in any order.
    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Writes a folder's names to disk.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Returns the size of a regular file.
    fn size(&self, path: &Path) -> io::Result<u64>;

    /// Returns the content of a text file.
    fn read_text(&self, path: &Path) -> io::Result<String>;

    /// Creates a file, or empties it.
    fn create(&self, path: &Path) -> io::Result<Box<dyn LogFile>>;

    /// Opens a file, to be written from `end` on.
    fn append(&self, path: &Path, end: u64) -> io::Result<Box<dyn LogFile>>;

    /// Gives a file another name, in place of the file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Locks a folder against other processes until the result is dropped; none where no other process sees it.
    fn lock_folder(&self, _folder: &Path) -> io::Result<Option<File>> {
        Ok(None)
    }
}

/// The files of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

impl LogFile for File {
    fn sync_data(&self) -> io::Result<()> {
        Self::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        Self::sync_all(self)
    }

    fn cut(&mut self, end: u64) -> io::Result<()> {
        self.set_len(end)?;
        self.seek(SeekFrom::Start(end)).map(drop)
    }
}

impl LogFiles for SystemFiles {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn size(&self, path: &Path) -> io::Result<u64> {
        let data = fs::metadata(path)?;
        if data.is_file() { Ok(data.len()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn read_text(&self, path: &Path) -> io::Result<String> {
        fs::read_to_string(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn LogFile>> {
        Ok(Box::new(File::create(path)?))
    }

    fn append(&self, path: &Path, end: u64) -> io::Result<Box<dyn LogFile>> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.seek(SeekFrom::Start(end))?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn lock_folder(&self, folder: &Path) -> io::Result<Option<File>> {
        let folder = File::open(folder)?;
        rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive)?;
        Ok(Some(folder))
    }
}
