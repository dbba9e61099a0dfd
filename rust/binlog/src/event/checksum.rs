//! The CRC32 that ends an event.

use crate::error::Fault;
use crate::event::flags::BINLOG_IN_USE;

/// Bytes of a checksum.
pub const CHECKSUM_LENGTH: usize = 4;

const FLAGS_OFFSET: usize = 17;

/// Returns the bytes before the checksum, after comparing it with the computed one.
///
/// With `verify` off the checksum is cut without a check.
pub fn strip(event: &[u8], verify: bool) -> Result<&[u8], Fault> {
    let (content, stored) = split(event)?;
    if verify {
        compare(stored, crc32fast::hash(content))?;
    }
    Ok(content)
}

/// Strips the checksum of a format description event, whose in-use flag is set and cleared without a new checksum.
pub fn strip_format(event: &[u8], verify: bool) -> Result<&[u8], Fault> {
    let (content, stored) = split(event)?;
    if verify {
        compare(stored, of_format(content))?;
    }
    Ok(content)
}

/// Refuses an event with a checksum in a log that declares none: then the format description is damaged, and every
/// event after it would be misread.
pub fn expect_none(event: &[u8]) -> Result<(), Fault> {
    match split(event) {
        Ok((content, stored)) if !content.is_empty() && stored == crc32fast::hash(content) => {
            Err(Fault::damaged("the log declares no checksums, but this event has one"))
        }
        _ => Ok(()),
    }
}

/// Returns the checksum of a format description event: that of the event without its in-use flag.
pub fn of_format(content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    let (before, after) = content.split_at(FLAGS_OFFSET.min(content.len()));
    hasher.update(before);
    if let Some((&low_byte, rest)) = after.split_first() {
        hasher.update(&[low_byte & !(BINLOG_IN_USE as u8)]);
        hasher.update(rest);
    }
    hasher.finalize()
}

fn split(event: &[u8]) -> Result<(&[u8], u32), Fault> {
    let (content, stored) =
        event.split_last_chunk().ok_or_else(|| Fault::damaged("an event is shorter than its checksum"))?;
    Ok((content, u32::from_le_bytes(*stored)))
}

fn compare(stored: u32, computed: u32) -> Result<(), Fault> {
    if stored == computed {
        return Ok(());
    }
    Err(Fault::damaged(format!("the event's checksum is {stored:08x}, but its bytes give {computed:08x}")))
}
