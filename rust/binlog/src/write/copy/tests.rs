use super::*;
use crate::write::relay::{Head, compose_event, rotate_body};

const LOGS: [&[u8]; 2] = [
    include_bytes!("../../../tests/data/mysql-9.7.000001"),
    include_bytes!("../../../tests/data/mariadb-10.11.000001"),
];
const ENOUGH: usize = 1 << 30;

fn events(log: &[u8]) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    let mut rest = &log[MAGIC.len()..];
    while !rest.is_empty() {
        let (event, after) = rest.split_at(EventHeader::parse(rest).unwrap().event_size as usize);
        events.push(event.to_vec());
        rest = after;
    }
    events
}

fn made_up_rotate(file: &str) -> Vec<u8> {
    let mut event = Vec::new();
    let head = Head { type_code: types::ROTATE, flags: flags::ARTIFICIAL, timestamp: 0, server_id: 1, offset: None };
    compose_event(&mut event, head, &rotate_body(file, 4), true);
    event
}

fn taken(copy: &mut LogCopy) -> Vec<Piece> {
    std::iter::from_fn(|| copy.take(ENOUGH)).collect()
}

#[test]
fn the_pieces_of_a_file_are_its_bytes_whatever_their_size() {
    for log in LOGS {
        for every in [1, 3, 1000] {
            let mut copy = LogCopy::begin("binlog.000001");
            copy.append(&made_up_rotate("binlog.000001")).unwrap();
            let mut pieces = Vec::new();
            for (number, event) in events(log).iter().enumerate() {
                copy.append(event).unwrap();
                if number % every == 0 {
                    pieces.extend(copy.take(1));
                }
            }
            let (following, _) = copy.request();
            copy.append(&made_up_rotate(&following)).unwrap();
            pieces.extend(taken(&mut copy));
            let bytes: Vec<u8> = pieces.iter().flat_map(|piece| piece.bytes.clone()).collect();
            assert_eq!(bytes, log);
            assert!(pieces.windows(2).all(|pair| pair[0].last.end == pair[1].begin));
            assert!(pieces.iter().all(|piece| piece.file == "binlog.000001"));
            assert!(pieces.last().unwrap().closed);
            assert_eq!(copy.request(), (following, 4));
        }
    }
}

#[test]
fn a_copy_goes_on_after_any_piece() {
    for log in LOGS {
        let all = events(log);
        for stop in 1..all.len() {
            let mut copy = LogCopy::begin("a.000001");
            all[..stop].iter().for_each(|event| copy.append(event).unwrap());
            let Some(piece) = copy.take(ENOUGH) else { continue };
            let mut next = LogCopy::resume("a.000001", piece.last);
            assert_eq!(next.request(), ("a.000001".to_owned(), piece.last.begin));
            let mut offset = 4;
            for event in &all {
                if offset == 4 && piece.last.begin > 4 {
                    let mut description = event.clone();
                    description[13..17].fill(0);
                    let length = description.len();
                    let sum = checksum::of_format(&description[..length - 4]);
                    description[length - 4..].copy_from_slice(&sum.to_le_bytes());
                    next.append(&description).unwrap();
                } else if offset >= piece.last.begin {
                    next.append(event).unwrap();
                }
                offset += event.len() as u64;
            }
            next.append(&made_up_rotate(&next.request().0)).unwrap();
            let rest: Vec<u8> = taken(&mut next).into_iter().flat_map(|piece| piece.bytes).collect();
            assert_eq!([piece.bytes, rest].concat(), log);
        }
    }
}

#[test]
fn the_hash_of_an_event_differs_from_that_of_another_one() {
    for log in LOGS {
        let all = events(log);
        let hashes: std::collections::BTreeSet<u64> = all.iter().map(|event| hash(event)).collect();
        assert_eq!(hashes.len(), all.len());
    }
}

#[test]
fn another_event_at_the_end_of_the_copy_is_refused() {
    let all = events(LOGS[0]);
    let begin = 4 + all[0].len() as u64;
    let known = KnownEvent { begin, end: begin + all[1].len() as u64, hash: 1 };
    let mut copy = LogCopy::resume("a.000001", known);
    let mut description = all[0].clone();
    description[17] |= flags::ARTIFICIAL as u8;
    let length = description.len();
    let sum = checksum::of_format(&description[..length - 4]);
    description[length - 4..].copy_from_slice(&sum.to_le_bytes());
    copy.append(&description).unwrap();
    let error = copy.append(&all[1]).unwrap_err();
    assert!(error.to_string().contains("another event"), "{error}");
}

#[test]
fn a_missing_event_is_found() {
    for log in LOGS {
        for missing in 1..events(log).len() - 1 {
            let mut copy = LogCopy::begin("a.000001");
            let mut all = events(log);
            all.remove(missing);
            assert!(all.iter().try_for_each(|event| copy.append(event)).is_err(), "{missing}");
        }
    }
}

#[test]
fn an_announced_file_must_follow() {
    let mut copy = LogCopy::begin("a.000001");
    copy.append(&events(LOGS[1])[0]).unwrap();
    let offset = copy.request().1;
    let mut rotate = Vec::new();
    let head = Head { type_code: types::ROTATE, flags: 0, timestamp: 0, server_id: 1, offset: Some(offset) };
    compose_event(&mut rotate, head, &rotate_body("a.000002", 4), true);
    copy.append(&rotate).unwrap();
    let piece = copy.take(ENOUGH).unwrap();
    assert!(piece.closed);
    assert_eq!(piece.next_file.as_deref(), Some("a.000002"));
    assert!(copy.append(&made_up_rotate("a.000003")).is_err());
    assert!(LogCopy::begin("a.000001").append(&[0; 3]).is_err());
}
