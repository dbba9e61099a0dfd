//! The format description event: the server that wrote the log, and the layout of its events.

use crate::error::Fault;
use crate::event::checksum::{self, CHECKSUM_LENGTH};
use crate::event::cursor::Cursor;
use crate::event::{EventHeader, HEADER_LENGTH, flags};
use crate::transaction::Format;

const SERVER_VERSION_LENGTH: usize = 50;
const ALGORITHM_OFF: u8 = 0;
const ALGORITHM_CRC32: u8 = 1;
/// More types than MySQL has, whose codes end far below; only MariaDB describes so many.
const MOST_MYSQL_TYPES: usize = 128;

impl Format {
    /// Reads a complete format description event from the file.
    ///
    /// `verify` compares its checksum where there is one.
    pub fn parse(event: &[u8], verify: bool) -> Result<Self, Fault> {
        let header = EventHeader::parse(event)?;
        let mut cursor = Cursor::new(event.get(HEADER_LENGTH..).unwrap_or_default());
        let binlog_version = cursor.u16()?;
        if binlog_version != 4 {
            return Err(Fault::not_understood(format!(
                "it is of binlog format {binlog_version}; only format 4 (MySQL 5.0 and later, MariaDB) is read; replay it with \
                 mysqlbinlog"
            )));
        }
        let server_version = version_text(cursor.take(SERVER_VERSION_LENGTH)?)?;
        let created = cursor.u32()?;
        match usize::from(cursor.u8()?) {
            HEADER_LENGTH => {}
            length if length > HEADER_LENGTH => {
                return Err(Fault::not_understood(format!(
                    "its events have headers of {length} bytes, which only a fork of MySQL 5.1 wrote; replay it with mysqlbinlog"
                )));
            }
            _ => return Err(Fault::damaged("the format description event states headers of less than 19 bytes")),
        }
        let mut post_header_lengths = cursor.rest().to_vec();
        let mariadb = server_version.contains("MariaDB") || post_header_lengths.len() > MOST_MYSQL_TYPES;
        let version = version_numbers(&server_version);
        let mut plain = event.to_vec();
        let mut has_checksums = false;
        if ends_with_algorithm(version, mariadb) {
            let end = post_header_lengths.len().checked_sub(CHECKSUM_LENGTH + 1);
            post_header_lengths.truncate(
                end.ok_or_else(|| Fault::damaged("the format description event is too short for its version"))?,
            );
            has_checksums = checksum_algorithm(event, &header, verify)?;
            plain = without_checksums(event);
        }
        refuse_previews(&server_version)?;
        Ok(Self {
            event: plain,
            server_version,
            mariadb,
            version,
            post_header_lengths,
            checksum: has_checksums,
            server_id: header.server_id,
            created,
        })
    }

    /// Returns true if the server that wrote it can write checksums, and so ends this event with an algorithm and a
    /// checksum.
    pub fn knows_checksums(&self) -> bool {
        ends_with_algorithm(self.version, self.mariadb)
    }

    /// Returns the length of the part of fixed size after the common header, for an event type; none where the log does
    /// not have it.
    pub fn post_header_length(&self, type_code: u8) -> Option<usize> {
        let index = usize::from(type_code).checked_sub(1)?;
        self.post_header_lengths.get(index).map(|&length| usize::from(length))
    }
}

/// Reads the algorithm; returns true for CRC32. Verifies the event's own checksum.
fn checksum_algorithm(event: &[u8], header: &EventHeader, verify: bool) -> Result<bool, Fault> {
    let content = checksum::strip_format(event, false)?;
    match content.last() {
        Some(&ALGORITHM_CRC32) => {
            checksum::strip_format(event, verify)?;
            Ok(true)
        }
        Some(&ALGORITHM_OFF) => {
            // A server writes this event's checksum even so; a receiver that copies the event may not.
            let copied = header.log_pos == 0 || header.has(flags::RELAY_LOG | flags::ARTIFICIAL);
            checksum::strip_format(event, verify && !copied)?;
            Ok(false)
        }
        _ => Err(Fault::not_understood(
            "the log's checksums are of an unknown kind; set binlog_checksum to CRC32 or NONE on the source",
        )),
    }
}

/// Returns the event with algorithm none and not in use, and a valid checksum.
fn without_checksums(event: &[u8]) -> Vec<u8> {
    let mut plain = event.to_vec();
    if let Some(flag_byte) = plain.get_mut(17) {
        *flag_byte &= !(flags::BINLOG_IN_USE as u8);
    }
    if let Some((content, stored)) = plain.split_last_chunk_mut::<CHECKSUM_LENGTH>() {
        if let Some(algorithm) = content.last_mut() {
            *algorithm = ALGORITHM_OFF;
        }
        *stored = checksum::of_format(content).to_le_bytes();
    }
    plain
}

fn version_text(bytes: &[u8]) -> Result<String, Fault> {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    match std::str::from_utf8(text) {
        Ok(text) if text.starts_with(|c: char| c.is_ascii_digit()) => Ok(text.to_owned()),
        _ => Err(Fault::damaged("the format description event holds no server version")),
    }
}

fn version_numbers(text: &str) -> (u8, u8, u8) {
    let mut parts = text.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

/// Returns true if the event ends with an algorithm and a checksum: servers since MySQL 5.6.1 and MariaDB 5.3.
fn ends_with_algorithm(version: (u8, u8, u8), mariadb: bool) -> bool {
    if mariadb { version >= (5, 3, 0) } else { version >= (5, 6, 1) }
}

/// Refuses previews of row logging that numbered the event types differently.
fn refuse_previews(server_version: &str) -> Result<(), Fault> {
    if server_version.contains("-a_drop") {
        return Err(Fault::not_understood(format!(
            "the log is by the preview server {server_version}, whose event types are numbered differently; replay it with \
             mysqlbinlog"
        )));
    }
    Ok(())
}
