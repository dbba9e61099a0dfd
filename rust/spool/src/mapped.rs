//! The content of one temporary file, mapped into memory.

#![expect(unsafe_code, reason = "a mapping of a file cannot be made without; this module is all that does")]

use std::env::temp_dir;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process;
use std::ptr::null_mut;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// Advice for pages that are not needed any more, which the next reader gets from the file again.
#[cfg(target_os = "linux")]
const NOT_NEEDED: Advice = Advice::LinuxDontNeed;
#[cfg(not(target_os = "linux"))]
const NOT_NEEDED: Advice = Advice::DontNeed;

/// Bytes in a temporary file without a name, which exists as long as this value.
pub struct Mapped {
    start: *mut u8,
    length: usize,
}

// SAFETY: the bytes are never changed, and the mapping belongs to this value alone.
unsafe impl Send for Mapped {}
// SAFETY: as above; `release` only drops pages, which the next reader gets from the file again.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Writes bytes to a new file in the folder for temporary files (`TMPDIR`).
    ///
    /// # Errors
    /// The file cannot be made or written, for example because the disk is full.
    pub fn store(bytes: &[u8]) -> io::Result<Self> {
        Self::store_in(&temp_dir(), bytes)
    }

    /// Writes bytes to a new file in a folder.
    ///
    /// # Errors
    /// As for [`Mapped::store`].
    pub fn store_in(folder: &Path, bytes: &[u8]) -> io::Result<Self> {
        if bytes.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "nothing to store"));
        }
        let mut file = unnamed_file(folder)?;
        file.write_all(bytes)?;
        // SAFETY: a new mapping at an address that the system chooses. The file is as long as the mapping, and nothing
        // can shorten or change it: it has no name, and its descriptor is closed at the end of this function.
        let start = unsafe { mmap(null_mut(), bytes.len(), ProtFlags::READ, MapFlags::SHARED, &file, 0) }?;
        Ok(Self { start: start.cast(), length: bytes.len() })
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping has this length, is readable as long as `self`, and its content never changes.
        unsafe { slice::from_raw_parts(self.start, self.length) }
    }

    /// Gives the memory back that the bytes take in this process; who reads them next gets them from the file.
    pub fn release(&self) {
        // SAFETY: for a shared mapping of a file the advice changes no content, so slices of it stay valid.
        let released = unsafe { madvise(self.start.cast(), self.length, NOT_NEEDED) };
        // Memory that is not given back is all that an error can mean.
        released.unwrap_or_default();
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this start and length, and no slice of it outlives `self`.
        let removed = unsafe { munmap(self.start.cast(), self.length) };
        removed.unwrap_or_default();
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped").field("length", &self.length).finish_non_exhaustive()
    }
}

#[cfg(not(target_os = "linux"))]
use briefly_named_file as unnamed_file;

/// Opens a new file without a name.
#[cfg(target_os = "linux")]
fn unnamed_file(folder: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};

    let (flags, mode) = (OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    match rustix::fs::open(folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => Ok(File::from(file)),
        // Not every file system makes files without a name, such as NFS, and overlayfs before Linux 6.3.
        Err(_) => briefly_named_file(folder),
    }
}

/// Makes a file under a name that nothing else has, and removes the name.
fn briefly_named_file(folder: &Path) -> io::Result<File> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = folder.join(format!(".paraply-{}-{number}-{:016x}", process::id(), RandomState::new().hash_one(number)));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_bytes_are_the_same_before_and_after_their_memory_is_released() {
        let bytes: Vec<u8> = (0..3 * 4096 + 5).map(|n| (n % 251) as u8).collect();
        let mapped = Mapped::store(&bytes).unwrap();
        let slice = mapped.bytes();
        assert_eq!(slice, bytes);
        mapped.release();
        assert_eq!(slice, bytes);
    }

    #[test]
    fn a_file_whose_name_is_removed_at_once_does_as_well() {
        let folder = temp_dir().join(format!("paraply-spool-{}", process::id()));
        fs::create_dir(&folder).unwrap();
        let mut file = briefly_named_file(&folder).unwrap();
        file.write_all(b"rows").unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error() {
        assert!(Mapped::store_in(Path::new("/proc/self"), b"x").is_err());
        assert!(Mapped::store_in(Path::new("/no/such/folder"), b"x").is_err());
        assert!(Mapped::store(b"").is_err());
    }
}
