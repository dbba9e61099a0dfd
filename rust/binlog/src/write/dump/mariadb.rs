//! GTID events of MariaDB as a replica gets them from paraply.

use crate::error::Fault;
use crate::event::mariadb::{
    EXTRA_COMMIT_ALTER, EXTRA_ROLLBACK_ALTER, EXTRA_START_ALTER, FL_GROUP_COMMIT_ID, MariadbGtid,
};
use crate::event::{EventHeader, HEADER_LENGTH, types};

/// Bytes of number and domain, and of a body without optional fields; shorter ones are filled up.
const NUMBERS: usize = 12;
const BODY: usize = 19;
const COMMIT_ID: usize = 8;
const SIZE: std::ops::Range<usize> = 9..13;

/// Returns true if a transaction is the beginning of an ALTER TABLE, or its failure: the statement itself comes with
/// the ALTER's end.
///
/// `checksum` is the number of bytes at the end of each event that are no part of its body.
pub(super) fn is_unfinished_alter(events: &[u8], checksum: usize) -> Result<bool, Fault> {
    let header = EventHeader::parse(events)?;
    if header.type_code != types::MARIADB_GTID {
        return Ok(false);
    }
    let end = (header.event_size as usize).saturating_sub(checksum);
    Ok(parsed(&header, events.get(..end).ok_or_else(short)?)?.extra_flags & (EXTRA_START_ALTER | EXTRA_ROLLBACK_ALTER)
        != 0)
}

/// Returns the GTID event, without a checksum, of a transaction that is empty and has an end.
pub(super) fn empty_gtid(event: &[u8]) -> Result<Vec<u8>, Fault> {
    shortened(event, 0, NUMBERS)
}

/// Makes a GTID event, without a checksum, fit for the replica: an ALTER TABLE that began earlier becomes a whole one.
///
/// # Errors
/// The replica would pass over the transaction, because it has the replica's server id.
pub(super) fn prepare_gtid(header: &EventHeader, event: &mut Vec<u8>, replica_id: u32) -> Result<(), Fault> {
    if header.server_id == replica_id {
        return Err(Fault::not_understood(
            "the target's server has the server_id of this transaction, and its replication passes over what it wrote \
             itself: give it another one while this log is applied (SET GLOBAL server_id), or use --via sessions",
        ));
    }
    let gtid = parsed(header, event)?;
    if gtid.extra_flags & EXTRA_COMMIT_ALTER != 0 {
        let size = NUMBERS + 1 + if gtid.flags & FL_GROUP_COMMIT_ID == 0 { 0 } else { COMMIT_ID };
        *event = shortened(event, gtid.flags, size)?;
    }
    Ok(())
}

/// Returns the event with these flags and the first `size` bytes of its body only.
fn shortened(event: &[u8], flags: u8, size: usize) -> Result<Vec<u8>, Fault> {
    let mut out = event.get(..HEADER_LENGTH + size).ok_or_else(short)?.to_vec();
    out.resize(HEADER_LENGTH + BODY.max(size), 0);
    let length = out.len() as u32;
    if let Some(place) = out.get_mut(HEADER_LENGTH + NUMBERS) {
        *place = flags;
    }
    if let Some(place) = out.get_mut(SIZE) {
        place.copy_from_slice(&length.to_le_bytes());
    }
    Ok(out)
}

/// Reads an event without a checksum.
fn parsed(header: &EventHeader, event: &[u8]) -> Result<MariadbGtid, Fault> {
    MariadbGtid::parse(event.get(HEADER_LENGTH..).ok_or_else(short)?, header.server_id)
}

fn short() -> Fault {
    Fault::damaged("a GTID event is too short")
}
