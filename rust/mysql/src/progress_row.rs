//! A session's row of `paraply.progress` as a row event, which precedes a transaction's own.
//!
//! One `BINLOG` then is the whole transaction: under autocommit a server commits it with its progress or not at all,
//! without a begin and a commit, and without a statement to be parsed and answered for the progress. The row is found
//! by its key, of which the epoch is the last part: where another apply has raised it there is no such row, and the
//! statement fails.

use paraply_binlog::event::types;

const DATABASE: &[u8] = b"paraply";
const TABLE: &[u8] = b"progress";
/// channel VARCHAR(64), slot INT, epoch BIGINT, executed LONGTEXT, file VARCHAR(512), position BIGINT, ordinal BIGINT.
const TYPES: [u8; 7] = [15, 3, 8, 252, 15, 8, 8];
/// Bytes of the first VARCHAR (four each), of the LONGTEXT's length, and of the second VARCHAR.
const METADATA: [u8; 5] = [0, 1, 4, 0, 8];
/// `file` and `position` may be NULL.
const NULLABLE: u8 = 0b011_0000;
/// The key: channel, slot, epoch.
const BEFORE: u8 = 0b000_0111;
/// All other columns.
const AFTER: u8 = 0b111_1000;
/// Bytes of both events without the texts, at most.
const MOST_FIXED: usize = 160;

/// The row of a session after the transaction that it is written with.
#[derive(Debug, Clone, Copy)]
pub struct ProgressRow<'a> {
    /// The channel's name.
    pub channel: &'a str,
    /// The session's number in the channel.
    pub slot: u32,
    /// The expected epoch.
    pub epoch: u64,
    /// GTIDs as text.
    pub executed: &'a str,
    /// The log file of the last transaction.
    pub file: &'a str,
    /// The offset after the last transaction.
    pub position: u64,
    /// The transaction's number in the source.
    pub ordinal: u64,
}

impl ProgressRow<'_> {
    /// Returns the table map, without its id.
    pub(super) fn table_map() -> Vec<u8> {
        let mut body = vec![1, 0];
        for name in [DATABASE, TABLE] {
            body.push(name.len() as u8);
            body.extend_from_slice(name);
            body.push(0);
        }
        body.push(TYPES.len() as u8);
        body.extend_from_slice(&TYPES);
        body.push(METADATA.len() as u8);
        body.extend_from_slice(&METADATA);
        body.push(NULLABLE);
        body
    }

    /// Returns the row event with these flags, without its table's id.
    pub(super) fn rows(&self, type_code: u8, flags: [u8; 2]) -> Vec<u8> {
        let mut body = flags.to_vec();
        if type_code == types::UPDATE_ROWS {
            body.extend_from_slice(&2_u16.to_le_bytes()); // the length of the extra data, which it counts itself
        }
        body.extend_from_slice(&[TYPES.len() as u8, BEFORE, AFTER, 0]);
        text(&mut body, self.channel);
        body.extend_from_slice(&self.slot.to_le_bytes());
        body.extend_from_slice(&self.epoch.to_le_bytes());
        body.push(0);
        body.extend_from_slice(&(self.executed.len() as u32).to_le_bytes());
        body.extend_from_slice(self.executed.as_bytes());
        text(&mut body, self.file);
        body.extend_from_slice(&self.position.to_le_bytes());
        body.extend_from_slice(&self.ordinal.to_le_bytes());
        body
    }

    /// Returns the greatest number of bytes that it takes in a statement.
    pub(super) fn byte_length(&self) -> usize {
        (MOST_FIXED + self.channel.len() + self.executed.len() + self.file.len()).div_ceil(3) * 4
    }
}

/// Returns the type of its row event for events of another type: a log has either version, and a server may know only
/// one of them.
pub(super) fn type_beside(type_code: u8) -> u8 {
    use types::{
        MARIADB_DELETE_ROWS_COMPRESSED, MARIADB_WRITE_ROWS_COMPRESSED, UPDATE_ROWS, UPDATE_ROWS_V1, WRITE_ROWS,
    };
    match type_code {
        WRITE_ROWS..=42 | MARIADB_WRITE_ROWS_COMPRESSED..=MARIADB_DELETE_ROWS_COMPRESSED => UPDATE_ROWS,
        _ => UPDATE_ROWS_V1,
    }
}

/// Appends a VARCHAR that may have more than 255 bytes.
fn text(body: &mut Vec<u8>, value: &str) {
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value.as_bytes());
}
