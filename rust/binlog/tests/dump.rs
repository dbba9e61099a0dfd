//! A dump sent to a replica has the log's transactions again, with other stamps, in files of paraply's own.

mod by_hand;

use std::path::{Path, PathBuf};

use by_hand::collect;
use paraply_binlog::event::{EventHeader, flags, types};
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::{Kind, Transaction};
use paraply_binlog::write::dump::Dump;
use paraply_binlog::write::restamp::Stamps;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn read(paths: &[PathBuf]) -> Vec<Transaction> {
    let (transactions, error) = collect(LogReader::open(paths, ReaderOptions::default()).expect("logs"));
    assert!(error.is_none(), "{error:?}");
    transactions
}

fn raw<'a>(logs: &'a [Vec<u8>], transaction: &Transaction) -> &'a [u8] {
    &logs[transaction.file as usize][transaction.offset as usize..transaction.end_offset as usize]
}

/// Joins packets to events, and checks that the packets are numbered.
fn events(packets: &[u8], mut number: u8) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    let (mut rest, mut goes_on) = (packets, false);
    while !rest.is_empty() {
        let size = usize::from(rest[0]) | usize::from(rest[1]) << 8 | usize::from(rest[2]) << 16;
        assert_eq!(rest[3], number);
        number = number.wrapping_add(1);
        let payload = &rest[4..4 + size];
        if goes_on {
            found.last_mut().unwrap().extend_from_slice(payload);
        } else {
            assert_eq!(payload[0], 0, "an event follows");
            found.push(payload[1..].to_vec());
        }
        goes_on = size == 0xff_ffff;
        rest = &rest[4 + size..];
    }
    found
}

/// Writes the files that a replica would: one for each rotate event. Each event is at the position in its header.
fn files(events: &[Vec<u8>], folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for event in events {
        let header = EventHeader::parse(event).unwrap();
        if header.type_code == types::ROTATE {
            assert!(header.has(flags::ARTIFICIAL));
            let name = std::str::from_utf8(&event[27..event.len() - 4]).unwrap();
            files.push((folder.join(name), b"\xfebin".to_vec()));
            continue;
        }
        let file = &mut files.last_mut().unwrap().1;
        file.extend_from_slice(event);
        assert_eq!(header.log_pos as usize, file.len());
    }
    files.into_iter().map(|(path, bytes)| std::fs::write(&path, bytes).map(|()| path).unwrap()).collect()
}

fn dumped(names: &[&str], most_bytes: u64) -> (Vec<Transaction>, Vec<Transaction>, usize) {
    let paths: Vec<PathBuf> = names.iter().map(|name| data(name)).collect();
    let logs: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let before = read(&paths);
    let mut dump = Dump::new(4_000_000_000, 4_000_000_001, 7).with_files_of(most_bytes);
    let mut packets = Vec::new();
    dump.heartbeat(&mut packets);
    assert!(packets.is_empty());
    for (number, transaction) in (1..).zip(&before) {
        let stamps = Stamps { last_committed: number / 2, sequence_number: number };
        dump.transaction(&mut packets, raw(&logs, transaction), None, &transaction.format, stamps).unwrap();
    }
    let folder = std::env::temp_dir().join(format!("paraply-dump-{}-{}-{most_bytes}", std::process::id(), names[0]));
    std::fs::create_dir_all(&folder).unwrap();
    let files = files(&events(&packets, 7), &folder);
    let after = read(&files);
    std::fs::remove_dir_all(&folder).unwrap();
    (before, after, files.len())
}

#[test]
fn the_transactions_are_the_same_and_their_stamps_are_ours() {
    for names in
        [&["mysql-9.7.000001", "mysql-9.7.000002"][..], &["mysql-9.7-types.binlog"], &["mysql-9.7-xa-payload.binlog"]]
    {
        let (before, after, count) = dumped(names, u64::MAX);
        assert_eq!(before.len(), after.len());
        assert_eq!(count, 1, "the files are of one format");
        for ((number, before), after) in (1_i64..).zip(&before).zip(&after) {
            assert_eq!(
                (&after.identity, after.kind, after.server_id),
                (&before.identity, before.kind, before.server_id)
            );
            assert_eq!((&after.statements.len(), &after.xid), (&before.statements.len(), &before.xid));
            assert_eq!(after.committed_at, before.committed_at);
            assert_eq!(
                (after.last_committed, after.sequence_number),
                (Some((number / 2).max(i64::from(number > 1))), Some(number))
            );
            assert_eq!(after.events.len(), before.events.len());
            for (ours, theirs) in after.events.iter().zip(&before.events) {
                let (ours, theirs) = (&after.data[ours.range.clone()], &before.data[theirs.range.clone()]);
                assert_eq!((&ours[..9], &ours[19..]), (&theirs[..9], &theirs[19..]));
            }
        }
    }
}

#[test]
fn a_transaction_that_is_left_out_goes_over_empty_under_its_gtid() {
    let path = data("mysql-9.7.000001");
    let log = [std::fs::read(&path).unwrap()];
    let before = read(std::slice::from_ref(&path));
    let (mut dump, mut packets) = (Dump::new(9, before[0].server_id, 0), Vec::new());
    for (number, transaction) in (1..).zip(&before) {
        dump.emptied(&mut packets, raw(&log, transaction), &transaction.format, stamps(number)).unwrap();
    }
    let folder = std::env::temp_dir().join(format!("paraply-emptied-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let after = read(&files(&events(&packets, 0), &folder));
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(after.len(), before.len());
    for (after, before) in after.iter().zip(&before) {
        assert_eq!((&after.identity, after.kind), (&before.identity, Kind::Empty));
        assert_eq!((after.committed_at, after.server_id), (before.committed_at, 9));
    }
    assert!(Dump::new(9, 8, 0).emptied(&mut Vec::new(), &[0; 30], &before[0].format, stamps(1)).is_err());
}

fn stamps(number: u64) -> Stamps {
    Stamps { last_committed: number - 1, sequence_number: number }
}

#[test]
fn each_file_begins_its_numbers_with_one() {
    let (before, after, count) = dumped(&["mysql-9.7-types.binlog"], 2000);
    assert!(count > 1);
    assert_eq!(before.len(), after.len());
    let mut expected = 0;
    for (index, transaction) in after.iter().enumerate() {
        let first = index == 0 || after[index - 1].file != transaction.file;
        expected = if first { 1 } else { expected + 1 };
        assert_eq!(transaction.sequence_number, Some(expected));
        let last_committed = transaction.last_committed.unwrap();
        assert!(last_committed < expected);
        assert_eq!(last_committed == 0, first, "0 makes an applier wait for everything before");
        assert_eq!(transaction.identity, before[index].identity);
    }
}

#[test]
fn a_large_event_goes_over_in_several_packets() {
    let paths = [data("mysql-9.7-types.binlog")];
    let transactions = read(&paths);
    let format = &transactions[0].format;
    for size in [0xff_ffff - 2, 0xff_ffff - 1, 0xff_ffff, 2 * 0xff_ffff - 1, 2 * 0xff_ffff + 5] {
        let mut event = vec![0_u8; size];
        event[4] = types::ROWS_QUERY;
        event[9..13].copy_from_slice(&(size as u32).to_le_bytes());
        let mut packets = Vec::new();
        let stamps = Stamps { last_committed: 0, sequence_number: 1 };
        Dump::new(9, 8, 250).transaction(&mut packets, &event, None, format, stamps).unwrap();
        let events = events(&packets, 250);
        assert_eq!(events.last().unwrap().len(), size);
    }
}

#[test]
fn what_is_no_whole_event_is_an_error() {
    let paths = [data("mysql-9.7.000001")];
    let log = vec![std::fs::read(&paths[0]).unwrap()];
    let transactions = read(&paths);
    let first = &transactions[0];
    let bytes = raw(&log, first);
    for end in [1, 18, 19, 22, bytes.len() - 1] {
        let stamps = Stamps { last_committed: 0, sequence_number: 1 };
        let result = Dump::new(9, 8, 0).transaction(&mut Vec::new(), &bytes[..end], None, &first.format, stamps);
        assert!(result.is_err(), "{end}");
    }
}

#[test]
fn a_heartbeat_says_where_the_log_stands() {
    let paths = [data("mysql-9.7.000001")];
    let log = vec![std::fs::read(&paths[0]).unwrap()];
    let transactions = read(&paths);
    let mut dump = Dump::new(9, 8, 0);
    let mut packets = Vec::new();
    let stamps = Stamps { last_committed: 0, sequence_number: 1 };
    dump.transaction(&mut packets, raw(&log, &transactions[0]), None, &transactions[0].format, stamps).unwrap();
    dump.heartbeat(&mut packets);
    let events = events(&packets, 0);
    let (last, before) = (&events[events.len() - 1], &events[events.len() - 2]);
    let position = EventHeader::parse(before).unwrap().log_pos;
    let header = EventHeader::parse(last).unwrap();
    assert_eq!((header.type_code, header.log_pos), (types::HEARTBEAT, position));
    assert_eq!(&last[19..last.len() - 4], b"paraply.000001");
}

#[test]
fn rows_in_another_form_stand_between_the_transactions_begin_and_end() {
    let paths = [data("mysql-9.7-types.binlog")];
    let log = vec![std::fs::read(&paths[0]).unwrap()];
    let transactions = read(&paths);
    let dml = transactions.iter().find(|t| t.kind == Kind::Dml).unwrap();
    let rows: Vec<u8> = dml.events.iter().flat_map(|event| dml.data[event.range.clone()].to_vec()).collect();
    let stamps = Stamps { last_committed: 0, sequence_number: 1 };
    let sent = |rows: Option<&[u8]>| {
        let mut packets = Vec::new();
        Dump::new(9, dml.server_id, 0).transaction(&mut packets, raw(&log, dml), rows, &dml.format, stamps).unwrap();
        events(&packets, 0)
    };
    assert_eq!(sent(Some(&rows)), sent(None));
    let types: Vec<u8> = sent(Some(&rows[..0])).iter().map(|event| event[4]).collect();
    assert_eq!(types, [types::ROTATE, types::FORMAT_DESCRIPTION, types::GTID, types::QUERY, types::XID]);
    let ids: Vec<u32> = sent(None).iter().map(|event| EventHeader::parse(event).unwrap().server_id).collect();
    assert!(ids.iter().all(|&id| id == 9), "a replica passes over its own events: {ids:?}");
    // XA COMMIT ... ONE PHASE: its rows are between XA START and XA END.
    let paths = [data("mysql-9.7.000001")];
    let log = vec![std::fs::read(&paths[0]).unwrap()];
    let transactions = read(&paths);
    let one_phase =
        transactions.iter().find(|t| t.kind == Kind::Dml && is_one_phase(&log, t)).expect("a transaction of one phase");
    let mut packets = Vec::new();
    let stamps = Stamps { last_committed: 0, sequence_number: 1 };
    Dump::new(9, 8, 0).transaction(&mut packets, raw(&log, one_phase), Some(&[]), &one_phase.format, stamps).unwrap();
    assert!(packets.windows(6).any(|bytes| bytes == b"XA END"));
}

#[test]
fn a_large_transaction_goes_over_in_parts() {
    let paths = [data("mysql-9.7-types.binlog")];
    let log = vec![std::fs::read(&paths[0]).unwrap()];
    for transaction in &read(&paths) {
        let (bytes, format) = (raw(&log, transaction), &transaction.format);
        let stamps = Stamps { last_committed: 3, sequence_number: 5 };
        let mut whole = Vec::new();
        Dump::new(9, 8, 0).transaction(&mut whole, bytes, None, format, stamps).unwrap();
        for size in [20, 100, 1000] {
            let (mut dump, mut parts, mut at, mut end) = (Dump::new(9, 8, 0), Vec::new(), 0, size);
            while at < bytes.len() {
                let taken = dump.part(&mut parts, &bytes[at..end.min(bytes.len())], format, stamps, at == 0).unwrap();
                at += taken;
                end = if taken == 0 { end + size } else { at + size };
            }
            assert_eq!(parts, whole);
        }
    }
}

#[test]
fn a_compressed_transaction_of_the_replicas_own_number_is_unpacked() {
    for name in ["mysql-9.7.000001", "mysql-9.7-xa-payload.binlog"] {
        let paths = [data(name)];
        let log = vec![std::fs::read(&paths[0]).unwrap()];
        let payload = [types::TRANSACTION_PAYLOAD];
        let sent = |transaction: &Transaction, replica: u32| {
            let mut packets = Vec::new();
            let stamps = Stamps { last_committed: 0, sequence_number: 1 };
            Dump::new(9, replica, 0)
                .transaction(&mut packets, raw(&log, transaction), None, &transaction.format, stamps)
                .unwrap();
            events(&packets, 0)
        };
        let mut unpacked = 0;
        for transaction in &read(&paths) {
            let (as_it_is, own) = (sent(transaction, 8), sent(transaction, transaction.server_id));
            assert!(own.iter().all(|event| !payload.contains(&event[4])));
            assert!(own.iter().all(|event| EventHeader::parse(event).unwrap().server_id == 9));
            if as_it_is.iter().any(|event| payload.contains(&event[4])) {
                unpacked += 1;
                let rows =
                    own.iter().filter(|event| (types::TABLE_MAP..=types::PARTIAL_UPDATE_ROWS).contains(&event[4]));
                assert!(rows.count() >= transaction.events.len());
            }
        }
        assert!(unpacked > 0, "{name}");
    }
}

/// Returns true for an XA transaction of one phase that is not compressed.
fn is_one_phase(log: &[Vec<u8>], transaction: &Transaction) -> bool {
    raw(log, transaction).windows(6).any(|bytes| bytes == b"XA END")
}

#[test]
fn r25_only_the_rows_that_remain_go_over_also_of_a_compressed_transaction() {
    let mut packed = 0;
    for name in ["mysql-9.7.000001", "mysql-9.7-xa-payload.binlog"] {
        let path = data(name);
        let log = [std::fs::read(&path).unwrap()];
        let before = read(std::slice::from_ref(&path));
        let with_rows = before.iter().filter(|transaction| transaction.kind == Kind::Dml);
        let (one_phase, with_rows): (Vec<_>, Vec<_>) =
            with_rows.partition(|transaction| is_one_phase(&log, transaction));
        for transaction in one_phase {
            let (events, mut dump) = (raw(&log, transaction), Dump::new(9, 8, 0));
            assert!(dump.remaining(&mut Vec::new(), events, &[], &transaction.format, stamps(1)).is_err());
        }
        let (mut dump, mut packets) = (Dump::new(9, 8, 0), Vec::new());
        let remaining = |transaction: &Transaction| -> Vec<u8> {
            let first = transaction.events.iter().take(2);
            first.flat_map(|event| transaction.data[event.range.clone()].to_vec()).collect()
        };
        for (number, transaction) in (1..).zip(&with_rows) {
            let (events, rows) = (raw(&log, transaction), remaining(transaction));
            packed += usize::from(events.len() < rows.len());
            dump.remaining(&mut packets, events, &rows, &transaction.format, stamps(number)).unwrap();
        }
        let folder = std::env::temp_dir().join(format!("paraply-remaining-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let after = read(&files(&events(&packets, 0), &folder));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(after.len(), with_rows.len());
        for (after, before) in after.iter().zip(with_rows) {
            assert_eq!((&after.identity, after.kind, after.events.len()), (&before.identity, Kind::Dml, 2));
            assert_eq!(after.committed_at, before.committed_at);
        }
    }
    assert!(packed > 0, "a compressed transaction is shorter than its rows");
    let path = data("mysql-9.7.000001");
    let (log, before) = (std::fs::read(&path).unwrap(), read(&[path]));
    let (offset, size) = (before[0].offset as usize, EventHeader::parse(&log[before[0].offset as usize..]).unwrap());
    let cut = &log[offset..offset + size.event_size as usize];
    assert!(Dump::new(9, 8, 0).remaining(&mut Vec::new(), cut, &[], &before[0].format, stamps(1)).is_err());
}
