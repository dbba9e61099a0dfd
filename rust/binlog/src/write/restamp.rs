//! GTID events with other numbers: `last_committed` and `sequence_number` of paraply's own certification (WL#8440).

use std::ops::Range;

use crate::error::Fault;
use crate::event::cursor::Cursor;
use crate::event::gtid_event::{LOGICAL_TIMESTAMP, varint};
use crate::event::types;

/// Flags, UUID and number before the logical timestamps of an event without a tag.
const LOGICAL_TIMESTAMP_OFFSET: usize = 1 + 16 + 8;
const UUID_BYTES: usize = 16;
const FIELD_TAG: u64 = 3;
const FIELD_LAST_COMMITTED: u64 = 4;
const FIELD_SEQUENCE_NUMBER: u64 = 5;
const FIELD_LENGTH: u64 = 8;

/// The two numbers that an applier uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamps {
    /// The transaction may start once everything up to this number is committed.
    pub last_committed: u64,
    /// Its own number.
    pub sequence_number: u64,
}

/// Returns the body of a GTID event with other numbers; an event of MySQL 5.6, which has none, stays unchanged.
///
/// The event of a tagged GTID may become longer or shorter; the transaction's length that it holds is adjusted.
pub fn restamped(type_code: u8, body: &[u8], stamps: Stamps) -> Result<Vec<u8>, Fault> {
    if type_code == types::GTID_TAGGED {
        return tagged(body, stamps);
    }
    let mut out = body.to_vec();
    if out.get(LOGICAL_TIMESTAMP_OFFSET) == Some(&LOGICAL_TIMESTAMP) {
        let start = LOGICAL_TIMESTAMP_OFFSET + 1;
        let place = out.get_mut(start..start + 16).ok_or_else(|| Fault::damaged("a GTID event is too short"))?;
        for (field, number) in place.chunks_exact_mut(8).zip([stamps.last_committed, stamps.sequence_number]) {
            field.copy_from_slice(&number.to_le_bytes());
        }
    }
    Ok(out)
}

/// Positions of the values that change in a tagged event.
#[derive(Default)]
struct Fields {
    begin: usize,
    last_committed: Range<usize>,
    sequence_number: Range<usize>,
    length: Option<(Range<usize>, u64)>,
}

fn tagged(body: &[u8], stamps: Stamps) -> Result<Vec<u8>, Fault> {
    let fields = fields(body)?;
    let mut cursor = Cursor::new(body);
    let version = varint(&mut cursor)?;
    let _size = varint(&mut cursor)?;
    let last_known = varint(&mut cursor)?;
    let mut length = fields.length.as_ref().map_or(0, |(_, length)| *length);
    loop {
        let mut values = vec![
            (fields.last_committed.clone(), encoded(stamps.last_committed << 1)),
            (fields.sequence_number.clone(), encoded(stamps.sequence_number << 1)),
        ];
        if let Some((range, _)) = &fields.length {
            values.push((range.clone(), encoded(length)));
        }
        let rest = spliced(body, fields.begin, values)?;
        let out = headed(version, last_known, &rest);
        let grown = fields.length.as_ref().map_or(0, |(_, before)| *before);
        let grown = (grown + out.len() as u64).saturating_sub(body.len() as u64);
        if fields.length.is_none() || grown == length {
            return Ok(out);
        }
        length = grown;
    }
}

/// Prepends version, size of the whole, and the last field that must be understood.
fn headed(version: u64, last_known: u64, rest: &[u8]) -> Vec<u8> {
    let mut size = rest.len();
    loop {
        let head = [encoded(version), encoded(size as u64), encoded(last_known)].concat();
        if head.len() + rest.len() == size {
            return [head.as_slice(), rest].concat();
        }
        size = head.len() + rest.len();
    }
}

fn fields(body: &[u8]) -> Result<Fields, Fault> {
    let mut cursor = Cursor::new(body);
    for _ in 0..3 {
        varint(&mut cursor)?;
    }
    let place = |cursor: &Cursor<'_>| body.len() - cursor.rest().len();
    let mut found = Fields { begin: place(&cursor), ..Fields::default() };
    while !cursor.is_empty() {
        let field = varint(&mut cursor)?;
        let start = place(&cursor);
        match field {
            1 => (0..UUID_BYTES).try_for_each(|_| varint(&mut cursor).map(drop))?,
            FIELD_TAG => {
                let length = usize::try_from(varint(&mut cursor)?).unwrap_or(usize::MAX);
                cursor.take(length)?;
            }
            FIELD_LAST_COMMITTED => {
                varint(&mut cursor)?;
                found.last_committed = start..place(&cursor);
            }
            FIELD_SEQUENCE_NUMBER => {
                varint(&mut cursor)?;
                found.sequence_number = start..place(&cursor);
            }
            FIELD_LENGTH => {
                let length = varint(&mut cursor)?;
                found.length = Some((start..place(&cursor), length));
            }
            _ => drop(varint(&mut cursor)?),
        }
    }
    if found.last_committed.is_empty() || found.sequence_number.is_empty() {
        return Err(Fault::damaged("the event of a tagged GTID has no logical timestamps"));
    }
    Ok(found)
}

/// Returns the bytes after `begin` with other values at these ranges.
fn spliced(body: &[u8], begin: usize, mut values: Vec<(Range<usize>, Vec<u8>)>) -> Result<Vec<u8>, Fault> {
    values.sort_by_key(|(range, _)| range.start);
    let mut out = Vec::with_capacity(body.len() + 16);
    let mut from = begin;
    for (range, value) in values {
        let before = body.get(from..range.start).ok_or_else(|| Fault::damaged("a tagged GTID event is too short"))?;
        out.extend_from_slice(before);
        out.extend_from_slice(&value);
        from = range.end;
    }
    out.extend_from_slice(body.get(from..).unwrap_or_default());
    Ok(out)
}

/// Encodes a number as MySQL's serialization library does; the inverse of [`varint`].
fn encoded(number: u64) -> Vec<u8> {
    let bits = 64 - number.leading_zeros() as usize;
    let following = bits.saturating_sub(1) / 7;
    if following >= 8 {
        return [&[0xff][..], &number.to_le_bytes()].concat();
    }
    let whole = u128::from(number) << (following + 1) | ((1 << following) - 1);
    whole.to_le_bytes().into_iter().take(following + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::gtid_event::GtidEvent;

    /// A tagged event of MySQL 9.7.4.
    const TAGGED: &str = "02 76 00 00 00 02 de 59 03 20 35 03 91 03 9d 03 22 c5 03 35 02 0d 03 04 f1 03 00 00 00 02 04 04 06 0a \
                          6d 79 74 61 67 08 24 0a 2c 0c 7f f4 49 25 59 b5 60 06 10 99 04 12 83 12 0b";

    fn bytes(hex: &str) -> Vec<u8> {
        let hex: String = hex.chars().filter(|c| !c.is_whitespace()).collect();
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    }

    #[test]
    fn numbers_of_every_width_are_written_as_they_are_read() {
        for shift in 0..64 {
            for number in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let written = encoded(number);
                let mut cursor = Cursor::new(&written);
                assert_eq!((varint(&mut cursor), cursor.is_empty()), (Ok(number), true), "{number:x}");
            }
        }
    }

    #[test]
    fn a_tagged_event_with_its_own_numbers_is_the_same() {
        let body = bytes(TAGGED);
        let event = GtidEvent::parse(types::GTID_TAGGED, &body).unwrap();
        let stamps = Stamps {
            last_committed: event.last_committed.unwrap() as u64,
            sequence_number: event.sequence_number.unwrap() as u64,
        };
        assert_eq!(restamped(types::GTID_TAGGED, &body, stamps).unwrap(), body);
    }

    #[test]
    fn a_tagged_event_grows_with_its_numbers_and_says_so() {
        let body = bytes(TAGGED);
        let before = GtidEvent::parse(types::GTID_TAGGED, &body).unwrap();
        for sequence_number in [1, 63, 64, 5_000, 1 << 20, 1 << 40, (1 << 62) - 1] {
            let stamps = Stamps { last_committed: sequence_number - 1, sequence_number };
            let out = restamped(types::GTID_TAGGED, &body, stamps).unwrap();
            let event = GtidEvent::parse(types::GTID_TAGGED, &out).unwrap();
            assert_eq!(event.sequence_number, Some(sequence_number as i64));
            assert_eq!(event.last_committed, Some(sequence_number as i64 - 1));
            let length = before.transaction_length.unwrap() + out.len() as u64 - body.len() as u64;
            assert_eq!(event.transaction_length, Some(length));
            assert_eq!((event.gtid, event.committed_at), (before.gtid.clone(), before.committed_at));
            let mut cursor = Cursor::new(&out);
            varint(&mut cursor).unwrap();
            assert_eq!(varint(&mut cursor), Ok(out.len() as u64), "the event tells its own size");
        }
    }

    #[test]
    fn an_event_without_a_tag_keeps_its_length_and_one_of_5_6_its_bytes() {
        let mut body = vec![0; LOGICAL_TIMESTAMP_OFFSET];
        body[LOGICAL_TIMESTAMP_OFFSET - 8] = 7;
        let stamps = Stamps { last_committed: 300, sequence_number: 400 };
        assert_eq!(restamped(types::GTID, &body, stamps).unwrap(), body);
        body.push(LOGICAL_TIMESTAMP);
        assert!(restamped(types::GTID, &body, stamps).is_err());
        body.extend([0; 16]);
        let event = GtidEvent::parse(types::GTID, &restamped(types::GTID, &body, stamps).unwrap()).unwrap();
        assert_eq!((event.last_committed, event.sequence_number), (Some(300), Some(400)));
    }
}
