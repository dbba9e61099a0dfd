use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use paraply_binlog::transaction::{Format, Identity, Kind, RawEvent, Transaction};

use super::{Error, HEADER, Limits, binlog_statements, format_statement};

const ROWS: u8 = 30;
const MAP: u8 = 19;

fn format() -> Format {
    Format {
        event: vec![1, 2, 3],
        server_version: "9.7.4".into(),
        mariadb: false,
        version: (9, 7, 4),
        post_header_lengths: vec![8; 40],
        checksum: false,
        server_id: 1,
        created: 0,
    }
}

/// An event of `size` bytes whose first header byte is `mark`, with the flags at the place of an eight-byte post-header.
fn event(mark: u8, size: usize, end: bool) -> Vec<u8> {
    let mut bytes = vec![0; HEADER + 8 + size];
    bytes[0] = mark;
    bytes[HEADER + 6] = u8::from(end);
    bytes
}

fn transaction(events: &[(u8, Vec<u8>)]) -> Transaction {
    let mut data = Vec::new();
    let mut raw = Vec::new();
    for (type_code, bytes) in events {
        let range = data.len()..data.len() + bytes.len();
        raw.push(RawEvent { type_code: *type_code, range, offset: data.len() as u64 });
        data.extend_from_slice(bytes);
    }
    Transaction {
        identity: Identity::Anonymous,
        kind: Kind::Dml,
        server_id: 1,
        last_committed: None,
        sequence_number: None,
        mariadb_commit_id: None,
        mariadb_flags: 0,
        session: None,
        committed_at: None,
        no_foreign_key_checks: false,
        statements: Vec::new(),
        xid: None,
        events: raw,
        data,
        rows: 0,
        filtered: false,
        bytes: 0,
        file: 0,
        offset: 4,
        end_offset: 0,
        format: Arc::new(format()),
    }
}

fn decode(statement: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(statement).unwrap();
    STANDARD.decode(text.strip_prefix("BINLOG '").unwrap().strip_suffix('\'').unwrap()).unwrap()
}

/// A transaction with `statements` statements of one table map and one row event.
fn small(statements: usize) -> Transaction {
    let one = [(MAP, event(1, 10, false)), (ROWS, event(2, 10, true))];
    transaction(&vec![one; statements].concat())
}

#[test]
fn r31_events_go_over_unchanged_and_in_order() {
    let (a, b) = (small(2), small(1));
    let statements = binlog_statements([&a, &b], Limits::default()).unwrap();
    assert_eq!(statements.len(), 1);
    assert_eq!(decode(&statements[0]), [a.data, b.data].concat());
}

#[test]
fn r31_the_format_is_a_statement_of_its_own() {
    assert_eq!(decode(&format_statement(&format())), [1, 2, 3]);
}

#[test]
fn r31_cuts_for_the_number_of_events_only_where_a_statement_ends() {
    let wide = transaction(&[
        (MAP, event(1, 1, false)),
        (ROWS, event(2, 1, false)),
        (ROWS, event(3, 1, false)),
        (ROWS, event(4, 1, true)),
    ]);
    let statements = binlog_statements([&wide, &small(3)], Limits { events: 4, bytes: 1 << 20 }).unwrap();
    let lengths: Vec<_> = statements.iter().map(|s| decode(s).len()).collect();
    assert_eq!(lengths, [wide.data.len(), small(2).data.len(), small(1).data.len()]);
}

#[test]
fn r31_no_statement_is_longer_than_the_packet() {
    let limits = Limits { events: usize::MAX, bytes: 1000 };
    let statements = binlog_statements([&small(50)], limits).unwrap();
    assert!(statements.len() > 1);
    assert!(statements.iter().all(|s| s.len() < 1000));
    assert_eq!(statements.iter().flat_map(|s| decode(s)).collect::<Vec<_>>(), small(50).data);
}

#[test]
fn r31_a_statement_larger_than_the_packet_is_cut_between_its_events_and_each_piece_is_whole() {
    let map = event(1, 10, false);
    let large = transaction(&[
        (MAP, map.clone()),
        (ROWS, event(2, 400, false)),
        (ROWS, event(3, 400, false)),
        (ROWS, event(4, 400, true)),
    ]);
    let limits = Limits { events: usize::MAX, bytes: 800 };
    let pieces: Vec<_> = binlog_statements([&large], limits).unwrap().iter().map(|s| decode(s)).collect();
    let expected: Vec<_> = [2, 3, 4].map(|mark| [map.clone(), event(mark, 400, true)].concat()).to_vec();
    assert_eq!(pieces, expected);
}

#[test]
fn r31_an_event_larger_than_the_packet_is_an_error_that_says_what_to_raise() {
    let large = transaction(&[(MAP, event(1, 1, false)), (ROWS, event(2, 5000, true))]);
    let error = binlog_statements([&large], Limits { events: 9, bytes: 1000 }).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 1000, .. }));
    assert!(error.to_string().contains("max_allowed_packet"));
}

#[test]
fn r27_broken_events_are_errors() {
    let no_map = transaction(&[(ROWS, event(2, 1, true))]);
    assert!(matches!(binlog_statements([&no_map], Limits::default()), Err(Error::NoTableMap { .. })));
    let open = transaction(&[(MAP, event(1, 1, false)), (ROWS, event(2, 1, false))]);
    assert_eq!(binlog_statements([&open], Limits::default()), Err(Error::Unfinished { offset: 4 }));
    let short = transaction(&[(ROWS, vec![0; 20])]);
    assert!(matches!(binlog_statements([&short], Limits::default()), Err(Error::Malformed { .. })));
    let mut outside = small(1);
    outside.events[1].range = 5..100_000;
    assert!(matches!(binlog_statements([&outside], Limits::default()), Err(Error::Malformed { .. })));
}
