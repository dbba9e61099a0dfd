//! Decryption of encrypted log files of `MySQL` (`binlog_encryption`) and `MariaDB` (`encrypt_binlog`).
//!
//! The result is the file as the server sends it to a replica: events keep their positions.

mod mariadb;
mod mysql;
mod source;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::error::LogError;

pub use self::source::Keys;
use self::source::{MAGIC, Source};

const ENCRYPTED_MAGIC: &[u8; 4] = b"\xFDbin";

/// Cipher of a file.
enum Cipher {
    MySql(Box<mysql::Stream>),
    MariaDb(Box<mariadb::Events>),
}

/// Reader of an encrypted log file, which gives its contents in plain pieces.
pub struct Decrypter {
    source: Source,
    cipher: Cipher,
    /// Plain bytes from the start of the file that were read already.
    start: Vec<u8>,
}

impl Decrypter {
    /// Opens an encrypted log.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no encrypted log, or its key is missing or does not fit.
    pub fn open(path: &Path, keys: &Keys) -> Result<Self, LogError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| LogError::io(&name, 0, error))?;
        let mut source = Source { file: BufReader::new(file), name, position: 0 };
        let magic = source.exactly(MAGIC.len())?.unwrap_or_default();
        if magic == ENCRYPTED_MAGIC {
            let (stream, start) = mysql::open(&mut source, keys)?;
            return Ok(Self { source, cipher: Cipher::MySql(Box::new(stream)), start });
        }
        if magic == MAGIC {
            let (events, start) = mariadb::open(&mut source, keys)?;
            return Ok(Self { source, cipher: Cipher::MariaDb(Box::new(events)), start });
        }
        Err(source.refused(0, "it is not an encrypted log".to_owned()))
    }

    /// Returns the next plain bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is damaged or cut off.
    pub fn next_piece(&mut self) -> Result<Option<Vec<u8>>, LogError> {
        if !self.start.is_empty() {
            return Ok(Some(std::mem::take(&mut self.start)));
        }
        match &mut self.cipher {
            Cipher::MySql(stream) => stream.next_piece(&mut self.source),
            Cipher::MariaDb(events) => events.next_piece(&mut self.source),
        }
    }
}

/// Returns true if the first bytes of a file are those of an encrypted log.
pub fn is_encrypted(start: &[u8]) -> bool {
    start.starts_with(ENCRYPTED_MAGIC) || mariadb::begins_encrypted(start)
}

#[cfg(test)]
mod tests;
