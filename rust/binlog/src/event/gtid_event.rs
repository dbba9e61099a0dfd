//! MySQL's events around GTIDs: plain, anonymous and tagged ones, the set at a file's start, and XIDs.

use std::fmt::Write as _;

use paraply_core::gtid::{Gtid, Origin};

use crate::error::Fault;
use crate::event::cursor::Cursor;
use crate::event::types;

pub(crate) const LOGICAL_TIMESTAMP: u8 = 2;
/// The highest bit of the seven bytes of a time: another time follows.
const ANOTHER_FOLLOWS: u64 = 1 << 55;
const LONGEST_TAG: usize = 32;
/// The last field of a tagged GTID event that is known: the commit group's ticket.
const LAST_TAGGED_FIELD: u64 = 11;

/// Consecutive transactions of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GtidRange {
    /// Origin of the transactions.
    pub origin: Origin,
    /// The first number.
    pub first: u64,
    /// The last number, included.
    pub last: u64,
}

/// Content of a GTID event, which describes the transaction after it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtidEvent {
    /// None for an anonymous transaction.
    pub gtid: Option<Gtid>,
    /// Stamped by the source or the certifier; none in MySQL 5.6.
    pub last_committed: Option<i64>,
    /// Stamped by the source or the certifier; none in MySQL 5.6.
    pub sequence_number: Option<i64>,
    /// Commit time on the original source in microseconds since 1970; none before MySQL 8.0.
    pub committed_at: Option<i64>,
    /// Bytes of the transaction with this event; none before MySQL 8.0.
    pub transaction_length: Option<u64>,
}

impl GtidEvent {
    /// Reads the body of any of MySQL's three GTID events.
    pub fn parse(type_code: u8, body: &[u8]) -> Result<Self, Fault> {
        if type_code == types::GTID_TAGGED {
            return parse_tagged(body);
        }
        let mut cursor = Cursor::new(body);
        let _flags = cursor.u8()?;
        let uuid = cursor.array()?;
        let number = cursor.u64()?;
        let mut event = Self::default();
        if type_code == types::GTID {
            event.gtid = Some(gtid(uuid, String::new(), number)?);
        }
        if cursor.is_empty() || cursor.u8()? != LOGICAL_TIMESTAMP {
            return Ok(event);
        }
        event.last_committed = Some(cursor.u64()? as i64);
        event.sequence_number = Some(cursor.u64()? as i64);
        if cursor.is_empty() {
            return Ok(event);
        }
        let immediate = cursor.unsigned(7)?;
        let committed = if immediate & ANOTHER_FOLLOWS == 0 { immediate } else { cursor.unsigned(7)? };
        event.committed_at = time(committed);
        if !cursor.is_empty() {
            event.transaction_length = Some(cursor.lenenc()?);
        }
        Ok(event)
    }
}

/// Returns the time; none for 0, which a source writes if it does not know the time.
fn time(microseconds: u64) -> Option<i64> {
    i64::try_from(microseconds & !ANOTHER_FOLLOWS).ok().filter(|&time| time != 0)
}

fn gtid(uuid: [u8; 16], tag: String, number: u64) -> Result<Gtid, Fault> {
    if number == 0 || number > i64::MAX as u64 {
        return Err(Fault::damaged(format!("{number} cannot be the number of a GTID")));
    }
    Ok(Gtid { origin: Origin::MySql { uuid, tag }, number })
}

/// Reads a tagged GTID event, which is in the format of MySQL's serialization library: numbered fields, without those
/// that have no value.
fn parse_tagged(body: &[u8]) -> Result<GtidEvent, Fault> {
    let mut cursor = Cursor::new(body);
    let newer = || Fault::not_understood("the GTID event is of a newer format; use a newer version of this program");
    if varint(&mut cursor)? != 1 {
        return Err(newer());
    }
    let size = varint(&mut cursor)?;
    if size > body.len() as u64 {
        return Err(Fault::damaged("a tagged GTID event states a size larger than its own"));
    }
    if varint(&mut cursor)? > LAST_TAGGED_FIELD {
        return Err(newer());
    }
    let mut event = GtidEvent::default();
    let (mut uuid, mut number, mut tag, mut original) = (None, 0, String::new(), None);
    while !cursor.is_empty() {
        match varint(&mut cursor)? {
            1 => uuid = Some(uuid_of_varints(&mut cursor)?),
            2 => number = signed_varint(&mut cursor)? as u64,
            3 => tag = tag_text(&mut cursor)?,
            4 => event.last_committed = Some(signed_varint(&mut cursor)?),
            5 => event.sequence_number = Some(signed_varint(&mut cursor)?),
            6 => event.committed_at = time(varint(&mut cursor)?),
            7 => original = Some(time(varint(&mut cursor)?)),
            8 => event.transaction_length = Some(varint(&mut cursor)?),
            // Flags, versions of the servers, the commit group's ticket.
            0 | 9..=LAST_TAGGED_FIELD => drop(varint(&mut cursor)?),
            // Newer fields that may be ignored; they are the last ones.
            _ => break,
        }
    }
    event.committed_at = original.unwrap_or(event.committed_at);
    let uuid = uuid.ok_or_else(|| Fault::damaged("a tagged GTID event has no UUID"))?;
    event.gtid = Some(gtid(uuid, tag, number)?);
    Ok(event)
}

fn uuid_of_varints(cursor: &mut Cursor<'_>) -> Result<[u8; 16], Fault> {
    let mut uuid = [0; 16];
    for byte in &mut uuid {
        *byte = u8::try_from(varint(cursor)?).map_err(|_| Fault::damaged("a UUID's byte is larger than 255"))?;
    }
    Ok(uuid)
}

fn tag_text(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    let length = usize::try_from(varint(cursor)?).unwrap_or(usize::MAX);
    checked_tag(cursor, length)
}

fn checked_tag(cursor: &mut Cursor<'_>, length: usize) -> Result<String, Fault> {
    let bytes = cursor.take(length)?;
    let valid = length <= LONGEST_TAG && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    if !valid {
        return Err(Fault::damaged("a GTID's tag holds what no tag can hold"));
    }
    Ok(bytes.iter().map(|&byte| char::from(byte).to_ascii_lowercase()).collect())
}

/// Reads a number whose first byte gives, by its lowest one-bits, the number of bytes after it.
pub(crate) fn varint(cursor: &mut Cursor<'_>) -> Result<u64, Fault> {
    let first = cursor.u8()?;
    let following = first.trailing_ones() as usize;
    let rest = cursor.unsigned(following)?;
    if following == 8 {
        return Ok(rest);
    }
    // The first byte gives its upper bits as the lowest ones of the number.
    let upper = u32::from(first) >> (following + 1);
    Ok(u64::from(upper) | rest.checked_shl(7 - following as u32).unwrap_or(0))
}

/// Reads a signed number: the sign is the lowest bit.
fn signed_varint(cursor: &mut Cursor<'_>) -> Result<i64, Fault> {
    let number = varint(cursor)?;
    let magnitude = (number >> 1) as i64;
    Ok(if number & 1 == 0 { magnitude } else { !magnitude })
}

/// Reads a `Previous_gtids` event: everything that was executed before this file, in the plain or the tagged format.
pub fn previous_gtids(body: &[u8]) -> Result<Vec<GtidRange>, Fault> {
    let mut cursor = Cursor::new(body);
    let head = cursor.array::<8>()?;
    let tagged = head[7] == 1;
    let count = if tagged { (u64::from_le_bytes(head) >> 8) & 0xffff_ffff_ffff } else { u64::from_le_bytes(head) };
    let mut ranges = Vec::new();
    for _ in 0..count {
        let uuid = cursor.array()?;
        let tag = if tagged { tag_text(&mut cursor)? } else { String::new() };
        let origin = Origin::MySql { uuid, tag };
        for _ in 0..cursor.u64()? {
            let (first, end) = (cursor.u64()?, cursor.u64()?);
            if first == 0 || end <= first {
                return Err(Fault::damaged("the set of previous GTIDs holds an empty interval"));
            }
            ranges.push(GtidRange { origin: origin.clone(), first, last: end - 1 });
        }
    }
    Ok(ranges)
}

/// Reads an `XA_prepare` event: true if it commits in one phase, and the XID.
pub fn xa_prepare(body: &[u8]) -> Result<(bool, String), Fault> {
    let mut cursor = Cursor::new(body);
    let one_phase = cursor.u8()? != 0;
    let format_id = cursor.u32()?;
    let transaction_length = cursor.u32()? as usize;
    let branch_length = cursor.u32()? as usize;
    Ok((one_phase, xid_text(cursor.take(transaction_length)?, cursor.take(branch_length)?, format_id)))
}

/// Returns a XID as servers write it: `X'..',X'..',n`.
pub fn xid_text(transaction: &[u8], branch: &[u8], format_id: u32) -> String {
    let mut text = String::new();
    for part in [transaction, branch] {
        text.push_str("X'");
        for byte in part {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text.push_str("',");
    }
    let _ = write!(text, "{format_id}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes as MySQL's serialization library does.
    fn encode(number: u64) -> Vec<u8> {
        let bits = 64 - number.leading_zeros() as usize;
        let following = (1..=8).find(|following| bits <= 7 * following).map_or(8, |bytes| bytes - 1);
        if following == 8 {
            return [&[0xff][..], &number.to_le_bytes()].concat();
        }
        let whole = u128::from(number) << (following + 1) | ((1 << following) - 1);
        whole.to_le_bytes()[..=following].to_vec()
    }

    #[test]
    fn numbers_of_every_width_are_read() {
        for shift in 0..64 {
            for number in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                assert_eq!(varint(&mut Cursor::new(&encode(number))), Ok(number), "{number:x}");
            }
        }
        for (bytes, number) in [([0], 0), ([2], -1), ([4], 1), ([6], -2)] {
            assert_eq!(signed_varint(&mut Cursor::new(&bytes)), Ok(number));
        }
    }

    fn tagged(fields: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let fields: Vec<u8> = fields.iter().flat_map(|(id, value)| [encode(*id), value.clone()].concat()).collect();
        [encode(1), encode(fields.len() as u64), encode(0), fields].concat()
    }

    #[test]
    fn a_tagged_gtid_has_the_fields_that_stand_in_it() {
        let uuid: Vec<u8> = (0x7a..0x8a).flat_map(encode).collect();
        let tag = [encode(3), b"Tag".to_vec()].concat();
        let fields = [
            (0, encode(1)),
            (1, uuid),
            (2, encode(14)),
            (3, tag),
            (4, encode(10)),
            (5, encode(12)),
            (6, encode(1_000_009)),
            (7, encode(1_000_002)),
            (8, encode(300)),
            (9, encode(90_704)),
            (40, vec![1, 2, 3]),
        ];
        let event = GtidEvent::parse(types::GTID_TAGGED, &tagged(&fields)).expect("an event");
        let uuid = std::array::from_fn(|index| 0x7a + index as u8);
        assert_eq!(event.gtid, Some(Gtid { origin: Origin::MySql { uuid, tag: "tag".into() }, number: 7 }));
        assert_eq!((event.last_committed, event.sequence_number), (Some(5), Some(6)));
        assert_eq!((event.committed_at, event.transaction_length), (Some(1_000_002), Some(300)));
        assert!(GtidEvent::parse(types::GTID_TAGGED, &tagged(&fields[2..])).is_err(), "no UUID");
        let newer = [encode(2), encode(0), encode(0)].concat();
        assert!(matches!(GtidEvent::parse(types::GTID_TAGGED, &newer), Err(Fault::NotUnderstood(_))));
    }

    #[test]
    fn old_gtid_events_have_fewer_fields() {
        let old = [&[0][..], &[9; 16], &3_u64.to_le_bytes()].concat();
        let event = GtidEvent::parse(types::GTID, &old).expect("an event of MySQL 5.6");
        assert_eq!((event.last_committed, event.committed_at), (None, None));
        let newer = [&old[..], &[2], &1_u64.to_le_bytes(), &2_u64.to_le_bytes()].concat();
        let event = GtidEvent::parse(types::GTID, &newer).expect("an event of MySQL 5.7");
        assert_eq!((event.last_committed, event.sequence_number, event.committed_at), (Some(1), Some(2), None));
        assert!(GtidEvent::parse(types::GTID, &newer[..30]).is_err());
    }
}
