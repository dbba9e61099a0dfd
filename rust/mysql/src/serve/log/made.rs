//! Events that a source makes for one connection.

use paraply_binlog::event::checksum::{self, CHECKSUM_LENGTH};
use paraply_binlog::event::{HEADER_LENGTH, flags, types};
use paraply_binlog::write::relay::rotate_body;

const TYPE: usize = 4;
const POSITION: std::ops::Range<usize> = 13..17;
const FLAGS: std::ops::Range<usize> = 17..19;
/// Position in a format description event of the second in which its log was begun.
const CREATED: std::ops::Range<usize> = HEADER_LENGTH + 52..HEADER_LENGTH + 56;
const HEARTBEAT_NAME: u8 = 1;
const HEARTBEAT_POSITION: u8 = 2;
const HEARTBEAT_END: u8 = 0;
/// Length-encoded integers of nine bytes begin with it.
const EIGHT_BYTES: u8 = 0xfe;

/// Returns an event of this server.
fn event(type_code: u8, flags: u16, position: u64, body: &[u8], server_id: u32, checksums: bool) -> Vec<u8> {
    let size = HEADER_LENGTH + body.len() + if checksums { CHECKSUM_LENGTH } else { 0 };
    let mut out = vec![0; TYPE];
    out.push(type_code);
    out.extend_from_slice(&server_id.to_le_bytes());
    out.extend_from_slice(&(size as u32).to_le_bytes());
    out.extend_from_slice(&(position as u32).to_le_bytes());
    out.extend_from_slice(&flags.to_le_bytes());
    out.extend_from_slice(body);
    if checksums {
        // Equal to the checksum of any event: it leaves the in-use flag out, which is not set here.
        let sum = checksum::of_format(&out);
        out.extend_from_slice(&sum.to_le_bytes());
    }
    out
}

/// Returns the rotate event by which a source names the file and the position of what follows.
pub(in crate::serve) fn rotate(file: &str, position: u64, server_id: u32, checksums: bool) -> Vec<u8> {
    event(types::ROTATE, flags::ARTIFICIAL, 0, &rotate_body(file, position), server_id, checksums)
}

/// Returns a heartbeat with the position up to which everything was sent.
pub(in crate::serve) fn heartbeat(file: &str, position: u64, v2: bool, server_id: u32, checksums: bool) -> Vec<u8> {
    if !v2 || u32::try_from(position).is_ok() {
        return event(types::HEARTBEAT, 0, position, file.as_bytes(), server_id, checksums);
    }
    // A name of a log has less than 251 characters, so that its length is one byte.
    let mut body = vec![HEARTBEAT_NAME, file.len().min(250) as u8];
    body.extend(file.bytes().take(250));
    body.extend([HEARTBEAT_POSITION, 9, EIGHT_BYTES]);
    body.extend(position.to_le_bytes());
    body.push(HEARTBEAT_END);
    event(types::HEARTBEAT_V2, 0, 0, &body, server_id, checksums)
}

/// Returns a log's format description as a source sends it: not in use, and without the marks of a relay log.
///
/// `position` is the offset after it, 0 at a start inside a file. Without `fresh` it does not show that the source was
/// just started: a replica would then drop its temporary tables.
pub(in crate::serve) fn format_description(event: &[u8], position: u64, fresh: bool, summed: bool) -> Vec<u8> {
    let mut out = event.to_vec();
    let mut put = |range: std::ops::Range<usize>, bytes: &[u8]| {
        if let Some(field) = out.get_mut(range) {
            field.copy_from_slice(bytes);
        }
    };
    let [low, high] = event.get(FLAGS).and_then(|flags| flags.try_into().ok()).unwrap_or([0; 2]);
    let kept = u16::from_le_bytes([low, high]) & !(flags::BINLOG_IN_USE | flags::ARTIFICIAL | flags::RELAY_LOG);
    put(FLAGS, &kept.to_le_bytes());
    put(POSITION, &(position as u32).to_le_bytes());
    if !fresh {
        put(CREATED, &[0; 4]);
    }
    if summed && let Some((content, stored)) = out.split_last_chunk_mut::<CHECKSUM_LENGTH>() {
        *stored = checksum::of_format(content).to_le_bytes();
    }
    out
}
