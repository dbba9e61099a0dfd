//! A dump sent to a replica of MariaDB has the log's transactions as they are.

mod by_hand;

use by_hand::Log;
use paraply_binlog::error::Fault;
use paraply_binlog::event::mariadb::MariadbGtid;
use paraply_binlog::event::types;
use paraply_binlog::transaction::Transaction;
use paraply_binlog::write::dump::Dump;
use paraply_binlog::write::restamp::Stamps;

const STAMPS: Stamps = Stamps { last_committed: 0, sequence_number: 1 };
const DDL: u8 = 32 | 1;
const WITH_COMMIT_ID: u8 = 2;
const START_ALTER: u8 = 2;
const COMMIT_ALTER: u8 = 4;
const ROLLBACK_ALTER: u8 = 8;
/// The server of logs made by hand.
const WRITER: u32 = 7;

/// Returns a log of MariaDB 10.11 with one transaction of these events.
fn log(checksums: bool, fill: impl FnOnce(Log) -> Log) -> (Log, Transaction) {
    let log = fill(Log::of("10.11.6-MariaDB-log", checksums));
    let (transactions, error) = log.read();
    assert!(error.is_none(), "{error:?}");
    let transaction = transactions.into_iter().next().unwrap();
    (log, transaction)
}

fn raw<'a>(log: &'a Log, transaction: &Transaction) -> &'a [u8] {
    &log.bytes[transaction.offset as usize..transaction.end_offset as usize]
}

/// Returns a GTID event's body: number 5 of domain 3, with these flags and the bytes after them.
fn gtid(flags: u8, after: &[u8]) -> Vec<u8> {
    let mut body = [&5_u64.to_le_bytes()[..], &3_u32.to_le_bytes(), &[flags], after].concat();
    body.resize(body.len().max(19), 0);
    body
}

/// Splits packets, each shorter than a frame, into the events after the rotate event and the format description.
fn events(mut packets: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    while !packets.is_empty() {
        let size = usize::from(packets[0]) | usize::from(packets[1]) << 8 | usize::from(packets[2]) << 16;
        found.push(packets[5..4 + size].to_vec());
        packets = &packets[4 + size..];
    }
    assert_eq!([found[0][4], found[1][4]], [types::ROTATE, types::FORMAT_DESCRIPTION]);
    found.split_off(2)
}

fn sent(log: &Log, transaction: &Transaction, rows: Option<&[u8]>) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let mut dump = Dump::new(4_000_000_000, 4_000_000_001, 3);
    dump.transaction(&mut packets, raw(log, transaction), rows, &transaction.format, STAMPS).unwrap();
    events(&packets)
}

fn types_of(events: &[Vec<u8>]) -> Vec<u8> {
    events.iter().map(|event| event[4]).collect()
}

fn parsed(event: &[u8]) -> MariadbGtid {
    MariadbGtid::parse(&event[19..event.len() - 4], u32::from_le_bytes(event[5..9].try_into().unwrap())).unwrap()
}

#[test]
fn a_transaction_goes_over_unchanged_under_its_gtid() {
    for checksums in [false, true] {
        let (log, transaction) = log(checksums, |log| {
            let log = log.event(types::MARIADB_GTID, 0, &gtid(4 | WITH_COMMIT_ID, &9_u64.to_le_bytes()));
            log.table_map(1, 1).insert(1, 1).xid()
        });
        let events = sent(&log, &transaction, None);
        assert_eq!(types_of(&events), [types::MARIADB_GTID, 19, 30, 16]);
        let sum = if checksums { 4 } else { 0 };
        let mut rest = raw(&log, &transaction);
        for event in &events {
            let size = event.len() - 4 + sum;
            let (own, after) = rest.split_at(size);
            // Size and position are those of another log.
            assert_eq!((&event[..9], &event[17..event.len() - 4]), (&own[..9], &own[17..size - sum]));
            rest = after;
        }
        let fused: Vec<u8> =
            transaction.events.iter().flat_map(|event| transaction.data[event.range.clone()].to_vec()).collect();
        assert_eq!(sent(&log, &transaction, Some(&fused)), events);
        assert_eq!(types_of(&sent(&log, &transaction, Some(&[]))), [types::MARIADB_GTID, 16]);
    }
}

#[test]
fn one_of_the_replicas_own_number_is_refused_because_it_would_be_passed_over() {
    let (log, transaction) = log(true, |log| log.mariadb_gtid(5).table_map(1, 1).insert(1, 1).xid());
    let mut dump = Dump::new(4_000_000_000, WRITER, 0);
    let refused = dump.transaction(&mut Vec::new(), raw(&log, &transaction), None, &transaction.format, STAMPS);
    assert!(matches!(refused, Err(Fault::NotUnderstood(message)) if message.contains("server_id")));
}

#[test]
fn an_alter_in_two_parts_becomes_a_whole_one_at_its_end() {
    for checksums in [false, true] {
        for (flags, before) in [(DDL, &[][..]), (DDL | WITH_COMMIT_ID, &[9, 0, 0, 0, 0, 0, 0, 0])] {
            let alter = |extra: u8, number: &[u8]| {
                let after = [before, &[extra], number].concat();
                log(checksums, |log| {
                    log.event(types::MARIADB_GTID, 0, &gtid(flags, &after)).query("ALTER TABLE d.t ADD x INT")
                })
            };
            for (extra, number) in [(START_ALTER, &[][..]), (ROLLBACK_ALTER, &[4, 0, 0, 0, 0, 0, 0, 0])] {
                let (log, transaction) = alter(extra, number);
                let events = sent(&log, &transaction, None);
                assert_eq!(types_of(&events), [types::MARIADB_GTID, types::XID]);
                let gtid = parsed(&events[0]);
                assert_eq!((gtid.gtid.to_string().as_str(), gtid.flags, gtid.extra_flags), ("3-7-5", 0, 0));
            }
            let (log, transaction) = alter(COMMIT_ALTER, &[4, 0, 0, 0, 0, 0, 0, 0]);
            let events = sent(&log, &transaction, None);
            let gtid = parsed(&events[0]);
            assert_eq!((gtid.gtid.to_string().as_str(), gtid.flags, gtid.extra_flags), ("3-7-5", flags, 0));
            assert_eq!(gtid.commit_id, (flags & WITH_COMMIT_ID != 0).then_some(9));
            assert!(events[1].windows(5).any(|window| window == b"ALTER"));
        }
    }
}

#[test]
fn a_transaction_that_is_left_out_goes_over_empty_under_its_gtid() {
    let (log, transaction) = log(true, |log| {
        let log = log.event(types::MARIADB_GTID, 0, &gtid(4 | WITH_COMMIT_ID, &9_u64.to_le_bytes()));
        log.table_map(1, 1).insert(1, 1).xid()
    });
    let mut packets = Vec::new();
    Dump::new(9, 8, 0).emptied(&mut packets, raw(&log, &transaction), &transaction.format, STAMPS).unwrap();
    let events = events(&packets);
    assert_eq!(types_of(&events), [types::MARIADB_GTID, types::XID]);
    let gtid = parsed(&events[0]);
    assert_eq!((gtid.gtid.to_string().as_str(), gtid.flags, gtid.commit_id), ("3-7-5", 0, None));
    assert_eq!(events[0].len(), 19 + 19 + 4);
    for end in 0..raw(&log, &transaction).len().min(60) {
        let cut = &raw(&log, &transaction)[..end];
        let _ = Dump::new(9, 8, 0).emptied(&mut Vec::new(), cut, &transaction.format, STAMPS);
        let _ = Dump::new(9, 8, 0).transaction(&mut Vec::new(), cut, None, &transaction.format, STAMPS);
    }
}

#[test]
fn a_refusal_is_an_error_packet_in_its_turn() {
    let mut packets = Vec::new();
    Dump::new(9, 8, 5).refusal(&mut packets, "come again");
    assert_eq!(packets, b"\x13\0\0\x05\xff\xd4\x04#HY000come again");
}
