use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use paraply_binlog::transaction::{Format, Identity, Kind, RawEvent, Transaction};

use super::row_event::HEADER;
use super::{
    Error, Limits, Place, Wanted, binlog_statements, format_statement, next_statement, next_wanted, whole_statement,
};
use crate::progress_row::ProgressRow;

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

/// Returns a row event of one column: the table's id, the flags, the layout of the rows, then the rows.
fn rows(id: u8, flags: u8, values: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes.extend([id, 0, 0, 0, 0, 0, flags, 0, 2, 0, 1, 0xff]);
    bytes.extend(values);
    sized(bytes)
}

/// Returns a table map whose content is only a mark.
fn map(id: u8, table: u8) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes.extend([id, 0, 0, 0, 0, 0, 1, 0, table, table]);
    sized(bytes)
}

fn sized(mut bytes: Vec<u8>) -> Vec<u8> {
    let size = bytes.len() as u32;
    bytes[9..13].copy_from_slice(&size.to_le_bytes());
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
        snapshot: None,
        row_settings: None,
        session: None,
        committed_at: None,
        no_foreign_key_checks: false,
        statements: Vec::new(),
        xid: None,
        events: raw,
        data: data.into(),
        rows: 0,
        filtered: false,
        own_left_out: false,
        skipped: false,
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

const END: u8 = 1;
const NO_FOREIGN_KEYS: u8 = 2;
const UPDATE: u8 = 31;

/// Returns a transaction with `statements` inserts of one row each into one table.
fn small(statements: usize) -> Transaction {
    let one = [(MAP, map(77, 5)), (ROWS, rows(77, END, &[1; 40]))];
    transaction(&vec![one; statements].concat())
}

fn decoded<'a>(transactions: impl IntoIterator<Item = &'a Transaction>, limits: Limits<'a>) -> Vec<Vec<u8>> {
    binlog_statements(transactions, limits).unwrap().iter().map(|s| decode(s)).collect()
}

#[test]
fn r31_the_format_is_a_statement_of_its_own() {
    assert_eq!(decode(&format_statement(&format())), [1, 2, 3]);
}

#[test]
fn r31_maps_go_first_and_once_and_tables_are_numbered_anew() {
    let here = transaction(&[
        (MAP, map(108, 5)),
        (ROWS, rows(108, END, &[1])),
        (MAP, map(109, 6)),
        (MAP, map(108, 5)),
        (ROWS, rows(109, 0, &[2])),
        (ROWS, rows(108, END, &[3])),
    ]);
    // Another source gave the same id to another table.
    let there = transaction(&[(MAP, map(108, 7)), (ROWS, rows(108, END, &[4]))]);
    let expected =
        [map(1, 5), map(2, 6), map(3, 7), rows(1, 0, &[1]), rows(2, 0, &[2]), rows(1, 0, &[3]), rows(3, END, &[4])];
    assert_eq!(decoded([&here, &there], Limits::default()), [expected.concat()]);
}

#[test]
fn r31_neighbouring_rows_of_one_kind_become_one_event() {
    let events = |type_code, head: &[u8]| {
        let one = |value| [(MAP, map(9, 5)), (type_code, rows(9, END, &[head, &[value]].concat()))];
        transaction(&[one(1), one(2)].concat())
    };
    let inserts = events(ROWS, &[]);
    assert_eq!(decoded([&inserts], Limits::default()), [[map(1, 5), rows(1, END, &[1, 2])].concat()]);
    // An update has a second bitmap.
    let updates = events(UPDATE, &[0xff]);
    let joined = [map(1, 5), rows(1, END, &[0xff, 1, 2])].concat();
    let apart = [map(1, 5), rows(1, 0, &[0xff, 1]), rows(1, END, &[0xff, 2])].concat();
    assert_eq!(decoded([&updates], Limits { keyed: true, ..Limits::default() }), [joined]);
    assert_eq!(decoded([&updates], Limits::default()), [apart], "without a key all rows are searched for at once");
}

#[test]
fn r32_rows_under_other_flags_are_a_statement_of_their_own() {
    let mixed = transaction(&[
        (MAP, map(9, 5)),
        (ROWS, rows(9, END, &[1])),
        (MAP, map(9, 5)),
        (ROWS, rows(9, END | NO_FOREIGN_KEYS, &[2])),
    ]);
    let expected =
        [[map(1, 5), rows(1, END, &[1])].concat(), [map(1, 5), rows(1, END | NO_FOREIGN_KEYS, &[2])].concat()];
    assert_eq!(decoded([&mixed], Limits::default()), expected);
}

#[test]
fn r31_mariadb_gets_the_rows_of_two_tables_apart_where_a_cascade_reaches_a_generated_column() {
    let events = [
        (MAP, map(9, 5)),
        (ROWS, rows(9, END, &[1])),
        (MAP, map(9, 5)),
        (ROWS, rows(9, END, &[2])),
        (MAP, map(8, 6)),
        (ROWS, rows(8, END, &[3])),
    ];
    let limits = Limits { separate_tables: true, ..Limits::default() };
    let apart = [[map(1, 5), rows(1, END, &[1, 2])].concat(), [map(1, 6), rows(1, END, &[3])].concat()];
    let together = [map(1, 5), map(2, 6), rows(1, 0, &[1, 2]), rows(2, END, &[3])].concat();
    let mut transaction = transaction(&events);
    assert_eq!(decoded([&transaction], limits), std::slice::from_ref(&together), "MySQL takes both");
    transaction.format = Arc::new(Format { mariadb: true, ..format() });
    assert_eq!(decoded([&transaction], limits), apart);
    assert_eq!(decoded([&transaction], Limits::default()), [together]);
}

#[test]
fn rows_that_need_no_check_of_foreign_keys_say_so_and_join_those_that_say_it_already() {
    let one = |flags, value| [(MAP, map(9, 5)), (ROWS, rows(9, END | flags, &[value]))];
    let mixed = transaction(&[one(0, 1), one(NO_FOREIGN_KEYS, 2), one(0, 3), one(0, 4)].concat());
    let wanted = |_, event| match event {
        1 => Wanted::Unchecked,
        5 => Wanted::No,
        _ => Wanted::AsItIs,
    };
    let mut place = Place::default();
    let mut statements = Vec::new();
    while let Some(statement) = next_wanted([&mixed], Limits::default(), &mut place, wanted).unwrap() {
        statements.push(decode(&statement));
    }
    let unchecked = [map(1, 5), rows(1, END | NO_FOREIGN_KEYS, &[1, 2])].concat();
    assert_eq!(statements, [unchecked, [map(1, 5), rows(1, END, &[4])].concat()]);
}

#[test]
fn rows_of_no_table_only_end_a_statement() {
    let mut dummy = rows(0, END, &[]);
    dummy[HEADER..HEADER + 3].fill(0xff);
    let ended = transaction(&[(MAP, map(9, 5)), (ROWS, rows(9, 0, &[1])), (ROWS, dummy)]);
    assert_eq!(decoded([&ended], Limits::default()), [[map(1, 5), rows(1, END, &[1])].concat()]);
}

#[test]
fn r31_no_statement_is_longer_than_the_packet_and_each_is_whole() {
    let updates = transaction(&vec![[(MAP, map(9, 5)), (UPDATE, rows(9, END, &[1; 40]))]; 50].concat());
    let limits = Limits { bytes: 1000, ..Limits::default() };
    let statements = binlog_statements([&updates], limits).unwrap();
    assert!(statements.len() > 1);
    assert!(statements.iter().all(|s| s.len() < 1000));
    let mut found = 0;
    for statement in statements.iter().map(|s| decode(s)) {
        let content = statement.strip_prefix(&map(1, 5)[..]).expect("the map first");
        let size = rows(1, 0, &[1; 40]).len();
        let events: Vec<_> = content.chunks(size).collect();
        found += events.len();
        let (last, others) = events.split_last().expect("rows");
        assert!(others.iter().all(|event| *event == rows(1, 0, &[1; 40])));
        assert_eq!(*last, rows(1, END, &[1; 40]));
    }
    assert_eq!(found, 50);
}

#[test]
fn r31_an_event_larger_than_the_packet_is_an_error_that_says_what_to_raise() {
    let large = transaction(&[(MAP, map(1, 1)), (ROWS, rows(1, END, &[0; 5000]))]);
    let error =
        binlog_statements([&large, &small(1)], Limits { bytes: 1000, keyed: true, ..Limits::default() }).unwrap_err();
    assert!(matches!(error, Error::TooLarge { limit: 1000, .. }));
    assert!(error.to_string().contains("max_allowed_packet"));
}

#[test]
fn r27_broken_events_are_errors() {
    let no_map = transaction(&[(ROWS, rows(2, END, &[1]))]);
    assert!(matches!(binlog_statements([&no_map], Limits::default()), Err(Error::NoTableMap { .. })));
    let late = transaction(&[(MAP, map(2, 5)), (ROWS, rows(2, END, &[1])), (ROWS, rows(2, END, &[1]))]);
    assert!(matches!(binlog_statements([&late], Limits::default()), Err(Error::NoTableMap { .. })));
    let open = transaction(&[(MAP, map(1, 1)), (ROWS, rows(1, 0, &[2]))]);
    assert_eq!(binlog_statements([&open], Limits::default()), Err(Error::Unfinished { offset: 4 }));
    let short = transaction(&[(ROWS, vec![0; 20])]);
    assert!(matches!(binlog_statements([&short], Limits::default()), Err(Error::Malformed { .. })));
    let mut wide = rows(1, END, &[]);
    wide[HEADER + 10] = 200;
    let wide = transaction(&[(MAP, map(1, 1)), (ROWS, wide)]);
    assert!(matches!(binlog_statements([&wide], Limits::default()), Err(Error::Malformed { .. })));
    let mut outside = small(1);
    outside.events[1].range = 5..100_000;
    assert!(matches!(binlog_statements([&outside], Limits::default()), Err(Error::Malformed { .. })));
}

#[test]
fn one_statement_at_a_time_and_none_much_longer_than_it_has_to_be() {
    let large = |mark: u8, end: u8| (ROWS, rows(77, end, &vec![mark; 1 << 20]));
    let events: Vec<_> =
        [(MAP, map(77, 5))].into_iter().chain((1..=7).map(|mark| large(mark, u8::from(mark == 7)))).collect();
    let transactions = [transaction(&events), small(3)];
    let limits = Limits { bytes: 64 << 20, keyed: true, ..Limits::default() };
    let mut place = Place::default();
    let mut one_by_one = Vec::new();
    while let Some(statement) = next_statement(&transactions, limits, &mut place).unwrap() {
        assert!(statement.len() < 2 << 20);
        one_by_one.push(statement);
    }
    assert_eq!(one_by_one.len(), 8);
    assert_eq!(one_by_one, binlog_statements(&transactions, limits).unwrap());
    assert!(next_statement(&transactions, limits, &mut place).unwrap().is_none(), "at the end there is nothing more");
    for statement in &one_by_one {
        assert_eq!(decode(statement)[HEADER + 8..HEADER + 10], [5, 5], "each begins with the table's map");
    }
}

#[test]
fn a_transaction_without_its_end_is_found_behind_its_first_statements() {
    let large = (ROWS, rows(77, 0, &vec![1; 4 << 20]));
    let transactions = [transaction(&[(MAP, map(77, 5)), large.clone(), large])];
    let mut place = Place::default();
    let limits = Limits { bytes: 64 << 20, ..Limits::default() };
    assert!(next_statement(&transactions, limits, &mut place).unwrap().is_some());
    assert!(next_statement(&transactions, limits, &mut place).unwrap().is_some());
    assert!(matches!(next_statement(&transactions, limits, &mut place), Err(Error::Unfinished { .. })));
}

const PROGRESS: ProgressRow<'_> =
    ProgressRow { channel: "c", slot: 3, epoch: 7, executed: "0-1-9", file: "b.1", position: 500, ordinal: 9 };

fn whole(transaction: &Transaction, bytes: usize) -> Option<Vec<Vec<u8>>> {
    let statement =
        whole_statement(transaction, &PROGRESS, Limits { bytes, keyed: true, ..Limits::default() }, |_| true).unwrap();
    statement.map(|statement| split(&decode(&statement)))
}

/// Splits bytes into events.
fn split(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut events = Vec::new();
    while !bytes.is_empty() {
        let (event, rest) = bytes.split_at(u32::from_le_bytes(bytes[9..13].try_into().unwrap()) as usize);
        events.push(event.to_vec());
        bytes = rest;
    }
    events
}

#[test]
fn r25a_the_progress_goes_in_front_of_the_rows_in_one_statement() {
    for (type_code, expected, extra) in [(30, 31, 2), (23, 24, 0), (166, 24, 0), (169, 31, 2)] {
        let mut own = rows(9, 3, &[5]);
        own[4] = type_code;
        let events = whole(&transaction(&[(MAP, map(9, 1)), (type_code, own)]), 1 << 20).unwrap();
        assert_eq!(events.iter().map(|event| event[4]).collect::<Vec<_>>(), [MAP, 0, expected, type_code]);
        let ids: Vec<_> = events.iter().map(|event| event[HEADER]).collect();
        assert_eq!(ids, [1, 2, 1, 2], "maps first, and each row event names its own");
        let flags: Vec<_> = events[2..].iter().map(|event| event[HEADER + 6]).collect();
        assert_eq!(flags, [2, 3], "the same but for the statement's end, which only the last one has");
        let row = &events[2][HEADER + 8 + extra..];
        assert_eq!(row[..4], [7, 0b0000_0111, 0b0111_1000, 0]);
        assert_eq!(row[4..19], [1, 0, b'c', 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(row[19..29], [0, 5, 0, 0, 0, b'0', b'-', b'1', b'-', b'9']);
        assert_eq!(row[29..], [3, 0, b'b', b'.', b'1', 0xf4, 1, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn r25a_a_transaction_that_takes_more_than_one_statement_is_not_whole() {
    assert!(whole(&small(3), 1 << 20).is_some());
    let flags = transaction(&[(MAP, map(9, 1)), (ROWS, rows(9, 0, &[5])), (ROWS, rows(9, 3, &[5]))]);
    assert_eq!(whole(&flags, 1 << 20), None, "rows under other flags");
    assert_eq!(whole(&small(3), 400), None, "more than a packet");
    assert_eq!(whole(&transaction(&[(MAP, map(9, 1))]), 1 << 20), None, "no rows");
}
