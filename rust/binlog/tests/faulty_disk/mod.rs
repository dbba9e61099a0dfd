//! A disk that fails as real ones do: writes that end early, no space left, and loss of what was not synced.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use paraply_binlog::write::relay::{LogFile, LogFiles, SystemFiles};

/// The content that a loss of power leaves where a file's size was on disk and its last bytes were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The file ends where it was synced last.
    Missing,
    /// The file has its latest size, and zeros in place of the bytes.
    Zeros,
}

/// One folder on a disk. What programs see is in the real folder; what is on disk is kept beside it.
#[derive(Debug, Clone, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Names as programs see them, and the number of the file behind each.
    names: HashMap<PathBuf, u64>,
    /// Names on disk.
    synced_names: HashMap<PathBuf, u64>,
    /// Content on disk.
    synced: HashMap<u64, Vec<u8>>,
    files: u64,
    room: Option<usize>,
    most_at_once: Option<usize>,
    refuses_sync: bool,
}

impl Disk {
    /// Leaves room for so many bytes; None for any number.
    pub fn leave_room(&self, bytes: Option<usize>) {
        self.state().room = bytes;
    }

    /// Lets each write take only so many bytes.
    pub fn write_at_most(&self, bytes: usize) {
        self.state().most_at_once = Some(bytes);
    }

    /// Lets each sync fail, or succeed again.
    pub fn refuse_sync(&self, refuses: bool) {
        self.state().refuses_sync = refuses;
    }

    /// Loses power: the folder then holds what was synced.
    pub fn lose_power(&self, folder: &Path, tail: Tail) {
        let mut state = self.state();
        let mut sizes = HashMap::new();
        for (path, file) in &state.names {
            sizes.insert(*file, fs::metadata(path).unwrap().len() as usize);
        }
        fs::remove_dir_all(folder).unwrap();
        fs::create_dir_all(folder).unwrap();
        for (path, file) in &state.synced_names {
            let mut content = state.synced.get(file).cloned().unwrap_or_default();
            if let Some(&size) = sizes.get(file).filter(|&&size| tail == Tail::Zeros && size > content.len()) {
                content.resize(size, 0);
            }
            fs::write(path, content).unwrap();
        }
        let State { names, synced_names, .. } = &mut *state;
        names.clone_from(synced_names);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn file(&self, path: &Path, file: File) -> Box<dyn LogFile> {
        let mut state = self.state();
        state.files += 1;
        let new = state.files;
        let number = *state.names.entry(path.to_owned()).or_insert(new);
        Box::new(OnDisk { disk: self.clone(), number, path: path.to_owned(), file })
    }
}

impl LogFiles for Disk {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        SystemFiles.create_folder(folder)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        SystemFiles.list(folder)
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.refuses_sync {
            return Err(io::Error::other("input/output error"));
        }
        let State { names, synced_names, .. } = &mut *state;
        synced_names.clone_from(names);
        Ok(())
    }

    fn size(&self, path: &Path) -> io::Result<u64> {
        SystemFiles.size(path)
    }

    fn read_text(&self, path: &Path) -> io::Result<String> {
        SystemFiles.read_text(path)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn LogFile>> {
        Ok(self.file(path, File::create(path)?))
    }

    fn append(&self, path: &Path, end: u64) -> io::Result<Box<dyn LogFile>> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.seek(SeekFrom::Start(end))?;
        Ok(self.file(path, file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        SystemFiles.rename(from, to)?;
        let mut state = self.state();
        if let Some(file) = state.names.remove(from) {
            state.names.insert(to.to_owned(), file);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        SystemFiles.remove(path)?;
        self.state().names.remove(path);
        Ok(())
    }
}

/// An open file of the disk.
#[derive(Debug)]
struct OnDisk {
    disk: Disk,
    number: u64,
    path: PathBuf,
    file: File,
}

impl Write for OnDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let most = state.most_at_once.unwrap_or(usize::MAX).min(state.room.unwrap_or(usize::MAX)).min(bytes.len());
        if most == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = self.file.write(&bytes[..most])?;
        if let Some(room) = &mut state.room {
            *room -= written;
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl LogFile for OnDisk {
    fn sync_data(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn sync_all(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        if state.refuses_sync {
            return Err(io::Error::other("input/output error"));
        }
        state.synced.insert(self.number, fs::read(&self.path)?);
        Ok(())
    }

    fn cut(&mut self, end: u64) -> io::Result<()> {
        self.file.cut(end)
    }
}
