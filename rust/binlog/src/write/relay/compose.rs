//! Events that a receiver writes itself, and headers and checksums of events that it copies.

use paraply_core::gtid::{GtidSet, Origin};

use crate::error::Fault;
use crate::event::checksum::{self, CHECKSUM_LENGTH};
use crate::event::{EventHeader, HEADER_LENGTH, flags, types};
use crate::transaction::Format;

const SIZE_OFFSET: usize = 9;
const POSITION_OFFSET: usize = 13;
const FLAGS_OFFSET: usize = 17;
/// The checksum algorithm of a format description event: CRC32.
const ALGORITHM_CRC32: u8 = 1;

/// Bytes of the server's version in a format description event.
const VERSION_LENGTH: usize = 50;
/// Post-header lengths of MySQL's event types, from type 1, as MySQL 9.7 describes them.
const POST_HEADER_LENGTHS: [u8; 42] = [
    0, 13, 0, 8, 0, 0, 0, 0, 4, 0, 4, 0, 0, 0, 99, 0, 4, 26, 8, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 10, 10, 10, 42, 42, 0,
    18, 52, 0, 10, 40, 0, 0,
];

/// Header of an event that the receiver makes.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    /// One of [`types`].
    pub type_code: u8,
    /// See [`flags`].
    pub flags: u16,
    /// Seconds since 1970.
    pub timestamp: u32,
    /// The server in whose name it is written.
    pub server_id: u32,
    /// Offset of its start in the relay log; none for an event of the source's log.
    pub offset: Option<u64>,
}

/// Appends a whole event, with a checksum where the log has them.
pub fn event(out: &mut Vec<u8>, head: Head, body: &[u8], checksums: bool) {
    let start = out.len();
    let size = HEADER_LENGTH + body.len() + if checksums { CHECKSUM_LENGTH } else { 0 };
    out.extend_from_slice(&head.timestamp.to_le_bytes());
    out.push(head.type_code);
    out.extend_from_slice(&head.server_id.to_le_bytes());
    out.extend_from_slice(&(size as u32).to_le_bytes());
    let end = head.offset.map_or(0, |offset| offset + size as u64);
    out.extend_from_slice(&(end as u32).to_le_bytes());
    out.extend_from_slice(&head.flags.to_le_bytes());
    out.extend_from_slice(body);
    if checksums {
        close(out, start);
    }
}

/// Appends an event that came without a checksum.
pub fn taken_over(out: &mut Vec<u8>, plain: &[u8], checksums: bool) {
    let start = out.len();
    out.extend_from_slice(plain);
    if checksums {
        let size = (plain.len() + CHECKSUM_LENGTH) as u32;
        put(out, start + SIZE_OFFSET, &size.to_le_bytes());
        close(out, start);
    }
}

/// Returns the source's format description for a relay log, at `offset`; `first` marks the one at the start of the
/// file.
///
/// Events after it have checksums if the source's version knows them, whether the source writes them or not.
pub fn format_description(format: &Format, offset: u64, first: bool) -> Vec<u8> {
    let mut bytes = format.event.clone();
    let set = if first { flags::RELAY_LOG } else { flags::ARTIFICIAL };
    let end = if first { offset + bytes.len() as u64 } else { 0 };
    put(&mut bytes, POSITION_OFFSET, &(end as u32).to_le_bytes());
    put(&mut bytes, FLAGS_OFFSET, &set.to_le_bytes());
    if format.knows_checksums()
        && let Some((content, stored)) = bytes.split_last_chunk_mut::<CHECKSUM_LENGTH>()
    {
        if let Some(algorithm) = content.last_mut() {
            *algorithm = ALGORITHM_CRC32;
        }
        *stored = checksum::of_format(content).to_le_bytes();
    }
    bytes
}

/// Returns a format description event of MySQL 8.0 or later; none if the version's text is too long for it.
pub fn mysql_format(server_version: &str, server_id: u32, created: u32) -> Option<Vec<u8>> {
    let mut body = 4_u16.to_le_bytes().to_vec();
    let mut version = server_version.as_bytes().to_vec();
    if version.len() >= VERSION_LENGTH {
        return None;
    }
    version.resize(VERSION_LENGTH, 0);
    body.extend_from_slice(&version);
    body.extend_from_slice(&created.to_le_bytes());
    body.push(HEADER_LENGTH as u8);
    body.extend_from_slice(&POST_HEADER_LENGTHS);
    body.push(ALGORITHM_CRC32);
    let mut out = Vec::new();
    let head = Head { type_code: types::FORMAT_DESCRIPTION, flags: 0, timestamp: created, server_id, offset: Some(4) };
    event(&mut out, head, &body, true);
    Some(out)
}

/// Returns the body of a rotate event.
pub fn rotate_body(file: &str, position: u64) -> Vec<u8> {
    let mut body = position.to_le_bytes().to_vec();
    body.extend_from_slice(file.as_bytes());
    body
}

/// Returns type and body of the event with the transactions before a file.
pub fn previous_gtids(set: &GtidSet, mariadb: bool) -> (u8, Vec<u8>) {
    if mariadb {
        return (types::MARIADB_GTID_LIST, gtid_list(set));
    }
    let mut by_origin: Vec<(Origin, Vec<(u64, u64)>)> = Vec::new();
    for (origin, first, last) in set.iter() {
        match by_origin.last_mut() {
            Some((known, ranges)) if *known == origin => ranges.push((first, last)),
            _ => by_origin.push((origin, vec![(first, last)])),
        }
    }
    by_origin.retain(|(origin, _)| matches!(origin, Origin::MySql { .. }));
    let tagged = by_origin.iter().any(|(origin, _)| matches!(origin, Origin::MySql { tag, .. } if !tag.is_empty()));
    let count = by_origin.len() as u64;
    let head = if tagged { 1 << 56 | count << 8 | 1 } else { count };
    let mut body = head.to_le_bytes().to_vec();
    for (origin, ranges) in by_origin {
        let Origin::MySql { uuid, tag } = origin else { continue };
        body.extend_from_slice(&uuid);
        if tagged {
            // A tag has at most 32 characters: its length fits the number's one-byte form.
            body.push((tag.len() as u8) << 1);
            body.extend_from_slice(tag.as_bytes());
        }
        body.extend_from_slice(&(ranges.len() as u64).to_le_bytes());
        for (first, last) in ranges {
            body.extend_from_slice(&first.to_le_bytes());
            body.extend_from_slice(&(last + 1).to_le_bytes());
        }
    }
    (types::PREVIOUS_GTIDS, body)
}

fn gtid_list(set: &GtidSet) -> Vec<u8> {
    let mut last_of: Vec<(u32, u32, u64)> = Vec::new();
    for (origin, _, last) in set.iter() {
        let Origin::MariaDb { domain, server } = origin else { continue };
        match last_of.last_mut() {
            Some(known) if known.0 == domain => known.2 = last,
            _ => last_of.push((domain, server, last)),
        }
    }
    let mut body = (last_of.len() as u32).to_le_bytes().to_vec();
    for (domain, server, last) in last_of {
        body.extend_from_slice(&domain.to_le_bytes());
        body.extend_from_slice(&server.to_le_bytes());
        body.extend_from_slice(&last.to_le_bytes());
    }
    body
}

/// Returns the event without its checksum, which is compared first.
pub fn without_checksum<'a>(event: &'a [u8], header: &EventHeader) -> Result<&'a [u8], Fault> {
    if header.type_code == types::FORMAT_DESCRIPTION {
        checksum::strip_format(event, true)
    } else {
        checksum::strip(event, true)
    }
}

/// Appends the checksum of the event that begins at `start`.
fn close(out: &mut Vec<u8>, start: usize) {
    let checksum = crc32fast::hash(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&checksum.to_le_bytes());
}

fn put(out: &mut [u8], offset: usize, bytes: &[u8]) {
    if let Some(field) = out.get_mut(offset..offset + bytes.len()) {
        field.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::gtid_event;
    use crate::event::mariadb;

    #[test]
    fn what_came_before_is_read_back_as_it_was_written() {
        for text in [
            "",
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:7",
            "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:blue:2:4-9,4e11fa47-71ca-11e1-9e33-c80aa9429562:3",
        ] {
            let set: GtidSet = text.parse().unwrap();
            let (type_code, body) = previous_gtids(&set, false);
            assert_eq!(type_code, types::PREVIOUS_GTIDS);
            let mut read = GtidSet::new();
            for range in gtid_event::previous_gtids(&body).unwrap() {
                read.add_range(&range.origin, range.first, range.last);
            }
            assert_eq!(read, set, "{text}");
        }
        let set: GtidSet = "0-1-17,3-2-4".parse().unwrap();
        let mut read = GtidSet::new();
        for range in mariadb::gtid_list(&previous_gtids(&set, true).1).unwrap() {
            read.add_range(&range.origin, range.first, range.last);
        }
        assert_eq!(read.to_string(), set.to_string());
    }
}
