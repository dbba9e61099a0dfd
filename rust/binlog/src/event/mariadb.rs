//! Events of MariaDB only: GTIDs, GTID lists and compressed bodies.

use std::io::Read;

use flate2::read::ZlibDecoder;
use paraply_core::gtid::{Gtid, Origin};

use crate::error::Fault;
use crate::event::cursor::Cursor;
use crate::event::gtid_event::{GtidRange, xid_text};
use crate::event::{HEADER_LENGTH, types};
use crate::transaction::Format;

/// The transaction is one event (a DDL) and has no end event.
pub const FL_STANDALONE: u8 = 1;
/// A group-commit number follows.
pub const FL_GROUP_COMMIT_ID: u8 = 2;
/// XA PREPARE.
pub const FL_PREPARED_XA: u8 = 64;
/// XA COMMIT or XA ROLLBACK.
pub const FL_COMPLETED_XA: u8 = 128;

/// A second storage engine took part.
const EXTRA_MULTI_ENGINE: u8 = 1;
/// An ALTER TABLE that only starts here.
pub const EXTRA_START_ALTER: u8 = 2;
/// The end of an ALTER TABLE that started earlier.
pub const EXTRA_COMMIT_ALTER: u8 = 4;
/// The failure of an ALTER TABLE that started earlier.
pub const EXTRA_ROLLBACK_ALTER: u8 = 8;
/// The session's number follows.
const EXTRA_THREAD_ID: u8 = 16;

const COMPRESSED_MARK: u8 = 0x80;
/// Larger than any event that a server can hold uncompressed.
const MAX_UNCOMPRESSED: u64 = 1 << 30;

/// MariaDB's GTID event, which begins a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MariadbGtid {
    /// Domain, server and number.
    pub gtid: Gtid,
    /// `FL_*`.
    pub flags: u8,
    /// `FL_EXTRA_*`.
    pub extra_flags: u8,
    /// Transactions of one group commit on the source have the same.
    pub commit_id: Option<u64>,
    /// The XID of XA transactions.
    pub xid: Option<String>,
    /// The session on the source.
    pub thread_id: Option<u32>,
}

impl MariadbGtid {
    /// Reads the body; the server is in the header.
    pub fn parse(body: &[u8], server_id: u32) -> Result<Self, Fault> {
        let mut cursor = Cursor::new(body);
        let number = cursor.u64()?;
        let domain = cursor.u32()?;
        let flags = cursor.u8()?;
        let commit_id = if flags & FL_GROUP_COMMIT_ID == 0 { None } else { Some(cursor.u64()?) };
        let xid = if flags & (FL_PREPARED_XA | FL_COMPLETED_XA) == 0 { None } else { Some(xid(&mut cursor)?) };
        let extra_flags = if cursor.is_empty() { 0 } else { cursor.u8()? };
        if extra_flags & EXTRA_MULTI_ENGINE != 0 {
            cursor.u8()?;
        }
        if extra_flags & (EXTRA_COMMIT_ALTER | EXTRA_ROLLBACK_ALTER) != 0 {
            cursor.u64()?;
        }
        let thread_id = if extra_flags & EXTRA_THREAD_ID == 0 { None } else { Some(cursor.u32()?) };
        let gtid = Gtid { origin: Origin::MariaDb { domain, server: server_id }, number };
        Ok(Self { gtid, flags, extra_flags, commit_id, xid, thread_id })
    }

    /// Returns true if the transaction is the one statement after the GTID.
    pub fn is_standalone(&self) -> bool {
        self.flags & FL_STANDALONE != 0
    }
}

fn xid(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    let format_id = cursor.u32()?;
    let transaction_length = usize::from(cursor.u8()?);
    let branch_length = usize::from(cursor.u8()?);
    Ok(xid_text(cursor.take(transaction_length)?, cursor.take(branch_length)?, format_id))
}

/// Reads a GTID list event: the last transaction of every domain and server before this file.
pub fn gtid_list(body: &[u8]) -> Result<Vec<GtidRange>, Fault> {
    let mut cursor = Cursor::new(body);
    // The highest four bits are flags.
    let count = cursor.u32()? & 0x0fff_ffff;
    let mut ranges = Vec::new();
    for _ in 0..count {
        let origin = Origin::MariaDb { domain: cursor.u32()?, server: cursor.u32()? };
        let last = cursor.u64()?;
        ranges.push(GtidRange { origin, first: 1, last });
    }
    Ok(ranges)
}

/// Returns the plain type of a compressed row event.
pub fn plain_rows_type(type_code: u8) -> Option<u8> {
    match type_code {
        types::MARIADB_WRITE_ROWS_COMPRESSED_V1 => Some(types::WRITE_ROWS_V1),
        types::MARIADB_UPDATE_ROWS_COMPRESSED_V1 => Some(types::UPDATE_ROWS_V1),
        types::MARIADB_DELETE_ROWS_COMPRESSED_V1 => Some(types::DELETE_ROWS_V1),
        types::MARIADB_WRITE_ROWS_COMPRESSED => Some(types::WRITE_ROWS),
        types::MARIADB_UPDATE_ROWS_COMPRESSED => Some(types::UPDATE_ROWS),
        types::MARIADB_DELETE_ROWS_COMPRESSED => Some(types::DELETE_ROWS),
        _ => None,
    }
}

/// Appends a compressed row event to `data` as a plain one; its type and size are the caller's to set.
pub fn append_plain_rows(event: &[u8], plain_type: u8, format: &Format, data: &mut Vec<u8>) -> Result<(), Fault> {
    let body = event.get(HEADER_LENGTH..).unwrap_or_default();
    let mut cursor = Cursor::new(body);
    let default_length = if plain_type >= types::WRITE_ROWS { 10 } else { 8 };
    let post_header = format.post_header_length(plain_type).filter(|&length| length > 0).unwrap_or(default_length);
    if post_header == 10 {
        cursor.take(8)?;
        let extra = usize::from(cursor.u16()?).saturating_sub(2);
        cursor.take(extra)?;
    } else {
        cursor.take(post_header)?;
    }
    let bitmap = cursor.lenenc_size()?.div_ceil(8);
    cursor.take(bitmap)?;
    if matches!(plain_type, types::UPDATE_ROWS_V1 | types::UPDATE_ROWS) {
        cursor.take(bitmap)?;
    }
    let head = event.len() - cursor.rest().len();
    data.extend_from_slice(event.get(..head).unwrap_or_default());
    decompress(cursor.rest(), data)
}

/// Appends the content of a compressed body: a mark with the width of the length, the length (big endian), a zlib
/// stream.
pub fn decompress(compressed: &[u8], data: &mut Vec<u8>) -> Result<(), Fault> {
    let mut cursor = Cursor::new(compressed);
    let mark = cursor.u8()?;
    let width = usize::from(mark & 0x07);
    if mark & COMPRESSED_MARK == 0 || !(1..=4).contains(&width) {
        return Err(Fault::damaged("a compressed event does not start as one"));
    }
    if mark & 0x70 != 0 {
        return Err(Fault::not_understood(
            "an event is compressed in an unknown way; set log_bin_compress=OFF on the source",
        ));
    }
    let length = cursor.take(width)?.iter().fold(0_u64, |length, &byte| length << 8 | u64::from(byte));
    if length > MAX_UNCOMPRESSED {
        return Err(Fault::damaged("a compressed event states a size larger than any event"));
    }
    let start = data.len();
    let mut plain = ZlibDecoder::new(cursor.rest()).take(length + 1);
    plain
        .read_to_end(data)
        .map_err(|error| Fault::damaged(format!("a compressed event cannot be unpacked: {error}")))?;
    if (data.len() - start) as u64 != length {
        return Err(Fault::damaged("a compressed event does not have the size that it states"));
    }
    Ok(())
}
