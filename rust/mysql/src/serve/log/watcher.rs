//! Finding what is appended to the log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use paraply_binlog::read::head::{Closing, read_head};

use crate::serve::error::ServeError;
use crate::serve::log::files::{Files, LogFile};
use crate::serve::log::tail::Tail;

/// Finds what is appended to the log, and new files of a folder. One thread owns it.
#[derive(Debug)]
pub(in crate::serve) struct Watcher {
    files: Arc<Files>,
    /// The folder and the files' common stem; none where only the named files are served.
    series: Option<(PathBuf, String)>,
    /// The number in the newest file's name.
    newest: Option<u64>,
    tail: Tail,
    /// True if transactions get new numbers.
    stamped: bool,
    /// Looks since the newest file grew.
    quiet: u32,
}

/// Looks without growth after which a file that was not closed counts as complete, if there is a newer one.
const QUIET_LOOKS: u32 = 100;

impl Watcher {
    /// Opens the files, which are in order; with `follow`, later files of the last one's series are served too.
    pub(in crate::serve) fn open(
        paths: &[PathBuf],
        follow: bool,
        stamped: bool,
    ) -> Result<(Self, Arc<Files>), ServeError> {
        let files: Arc<Files> = Arc::default();
        let (last, before) =
            paths.split_last().ok_or_else(|| ServeError::Usage("there is no log to serve".to_owned()))?;
        for (number, path) in (0..).zip(before) {
            let head = read_head(path)?;
            let (size, trusted) = (head.size, head.relay_log || head.closing != Closing::Open);
            let file = Arc::new(LogFile::new(number, path, head, stamped)?);
            files.add(Arc::clone(&file));
            if trusted {
                files.publish(&file, size);
            } else {
                // Its server crashed: an unfinished transaction at its end is not sent.
                Tail::new(Arc::clone(&file)).advance(&files)?;
            }
            files.complete(&file);
        }
        let file = Arc::new(LogFile::new(before.len() as u64, last, read_head(last)?, stamped)?);
        files.add(Arc::clone(&file));
        let mut tail = Tail::new(file);
        tail.advance(&files)?;
        let (stem, newest) = split_name(last);
        let folder = last.parent().map(Path::to_owned).unwrap_or_default();
        let series = (follow && newest.is_some()).then_some((folder, stem));
        Ok((Self { files: Arc::clone(&files), series, newest, tail, stamped, quiet: 0 }, files))
    }

    /// Looks once for more; returns true if there was some.
    pub(in crate::serve) fn look(&mut self, folder_too: bool) -> bool {
        if self.files.failure().is_some() {
            return false;
        }
        match self.tail.advance(&self.files) {
            Ok(true) => {
                self.quiet = 0;
                return true;
            }
            Ok(false) => self.quiet = self.quiet.saturating_add(1),
            Err(error) => {
                self.files.fail(error);
                return false;
            }
        }
        if folder_too {
            self.files.forget_removed();
            return self.next_file();
        }
        false
    }

    /// Goes on with the next file, once it exists and the present one is known to be complete.
    fn next_file(&mut self) -> bool {
        let Some((number, path)) = self.next_path() else { return false };
        let closed = read_head(&self.tail.file().path).is_ok_and(|head| head.closing != Closing::Open);
        if !closed && self.quiet < QUIET_LOOKS && !self.tail.file().relay_log {
            return false;
        }
        // Its first events may not have been written yet. A file without a transaction may go again: after a crash, a server
        // or a receiver removes one that its index does not name.
        let Ok(head) = read_head(&path) else { return false };
        if head.first.is_none() && head.closing == Closing::Open {
            return false;
        }
        // Whatever was written before the next file was begun is seen now, or by a later look.
        match self.tail.advance(&self.files) {
            Ok(false) if !self.tail.is_at_end() => return false,
            Ok(false) => {}
            Ok(true) => return true,
            Err(error) => {
                self.files.fail(error);
                return false;
            }
        }
        let Ok(file) = LogFile::new(self.tail.file().number + 1, &path, head, self.stamped) else { return false };
        let (before, file) = (Arc::clone(self.tail.file()), Arc::new(file));
        self.files.add(Arc::clone(&file));
        self.files.complete(&before);
        (self.newest, self.tail, self.quiet) = (Some(number), Tail::new(file), 0);
        true
    }

    fn next_path(&self) -> Option<(u64, PathBuf)> {
        let (folder, stem) = self.series.as_ref()?;
        let newest = self.newest?;
        let entries = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let numbered = entries.filter_map(|path| match split_name(&path) {
            (found, Some(number)) if found == *stem && number > newest => Some((number, path)),
            _ => None,
        });
        numbered.min_by_key(|(number, _)| *number)
    }
}

/// Splits a name such as `binlog.000017`.
fn split_name(path: &Path) -> (String, Option<u64>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.rsplit_once('.') {
        Some((stem, digits)) if digits.len() >= 6 && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            (stem.to_owned(), digits.parse().ok())
        }
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::serve::tests::{Folder, append, log_head, write_log};

    #[test]
    fn a_file_that_has_no_transaction_yet_may_be_made_again() {
        let folder = Folder::new("again");
        let paths = [folder.0.join("binlog.000001"), folder.0.join("binlog.000002")];
        write_log(&paths[0], 3);
        let (mut watcher, files) = Watcher::open(&paths[..1], true, false).unwrap();
        watcher.quiet = QUIET_LOOKS;
        let mut next = log_head();
        std::fs::write(&paths[1], &next).unwrap();
        assert!(!watcher.look(true));
        std::fs::remove_file(&paths[1]).unwrap();
        append(&mut next, 4);
        std::fs::write(&paths[1], &next).unwrap();
        assert!(watcher.look(true) && watcher.look(true));
        assert_eq!(files.list()[1].published().0, next.len() as u64);
    }

    #[test]
    fn a_file_is_not_left_before_everything_of_it_was_looked_at() {
        let folder = Folder::new("unseen");
        let paths = [folder.0.join("binlog.000001"), folder.0.join("binlog.000002")];
        let mut log = write_log(&paths[0], 3);
        let (mut watcher, files) = Watcher::open(&paths[..1], true, false).unwrap();
        // As after a look at much of a large transaction: the next one is put off.
        (watcher.tail.took, watcher.quiet) = (Duration::from_secs(3600), QUIET_LOOKS);
        append(&mut log, 4);
        std::fs::write(&paths[0], &log).unwrap();
        let mut next = log_head();
        append(&mut next, 5);
        std::fs::write(&paths[1], &next).unwrap();
        assert!(!watcher.look(true));
        assert_eq!(files.list().len(), 1);
        watcher.tail.took = Duration::ZERO;
        assert!(watcher.look(true));
        watcher.quiet = QUIET_LOOKS;
        assert!(watcher.look(true));
        assert_eq!(files.list()[0].published(), (log.len() as u64, true));
        assert_eq!(files.list().len(), 2);
    }
}
