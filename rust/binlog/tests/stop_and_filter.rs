//! Stopping inside a log, leaving tables out, and the content of a file's head.

mod by_hand;

use std::io::Cursor;
use std::path::Path;

use by_hand::{Log, STOP, collect};
use paraply_binlog::read::head::{Closing, gtids_of, read_head};
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::read::stop::StopPoint;
use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::{RowsHeader, STMT_END};
use paraply_binlog::transaction::{Kind, Transaction};
use paraply_core::gtid::{Gtid, GtidSet, Origin};

const COMMITTED: i64 = 1_700_000_001_000_003;

fn gtid(number: u64) -> Gtid {
    Gtid { origin: Origin::MySql { uuid: [0xaa; 16], tag: String::new() }, number }
}

fn reader(log: &Log) -> LogReader {
    let source = Box::new(Cursor::new(log.bytes.clone())) as _;
    LogReader::from_sources(vec![("log".to_owned(), source)], ReaderOptions::default())
}

/// Returns the number of transactions before a stop, and true if the transaction of the stop is the last of them.
fn until(log: &Log, stop: StopPoint) -> (usize, Option<bool>) {
    let mut reader = reader(log).until(stop);
    let mut count = 0;
    while let Some(next) = reader.next_transaction() {
        next.expect("a whole log");
        count += 1;
    }
    (count, reader.stopped().map(|place| place.included))
}

#[test]
fn r25_a_stop_is_before_or_behind_its_transaction() {
    let log = Log::new(true).transaction(1).transaction(2).transaction(3);
    let before = |number| StopPoint { before: Some(gtid(number)), ..StopPoint::default() };
    let after = |number| StopPoint { after: Some(gtid(number)), ..StopPoint::default() };
    assert_eq!(until(&log, before(1)), (0, Some(false)));
    assert_eq!(until(&log, before(3)), (2, Some(false)));
    assert_eq!(until(&log, after(1)), (1, Some(true)));
    assert_eq!(until(&log, after(3)), (3, Some(true)));
    assert_eq!(until(&log, after(4)), (3, None));
    assert_eq!(
        until(&log, StopPoint { before: Some(gtid(3)), ..after(1) }),
        (1, Some(true)),
        "what comes first counts"
    );
    let time = |time| StopPoint { time: Some(time), ..StopPoint::default() };
    assert_eq!(until(&log, time(COMMITTED)), (0, Some(false)), "not earlier");
    assert_eq!(until(&log, time(COMMITTED + 1)), (3, None));
}

#[test]
fn r30_a_view_change_is_still_applied_and_nothing_behind_it() {
    const VIEW_CHANGE: u8 = 37;
    let log = Log::new(true).transaction(1).gtid(2).query("BEGIN").event(VIEW_CHANGE, 0, &[0; 52]).query("COMMIT");
    let stop = || StopPoint { view_change: Some(GtidSet::default()), ..StopPoint::default() };
    assert_eq!(until(&log.clone().transaction(3), stop()), (2, Some(true)));
    assert_eq!(until(&Log::new(true).transaction(1), stop()), (1, None));
    let held = format!("{}-2", gtid(1)).parse().expect("a set");
    let next = StopPoint { view_change: Some(held), ..StopPoint::default() };
    assert_eq!(
        until(&log.clone().transaction(3), next.clone()),
        (3, None),
        "one that was applied before is not the next one"
    );
    let log = log.gtid(3).query("BEGIN").event(VIEW_CHANGE, 0, &[0; 52]).query("COMMIT").transaction(4);
    assert_eq!(until(&log, next), (3, Some(true)));
}

#[test]
fn r27_nothing_behind_a_stop_is_read() {
    let mut log = Log::new(true).transaction(1).transaction(2);
    log.bytes.truncate(log.bytes.len() - 3);
    let stop = StopPoint { after: Some(gtid(1)), ..StopPoint::default() };
    assert_eq!(until(&log, stop), (1, Some(true)));
}

fn only(table: &str) -> TableFilter {
    TableFilter { tables: [("d".to_owned(), table.to_owned())].into(), ..TableFilter::default() }
}

fn kept(log: &Log, filter: TableFilter) -> Vec<Transaction> {
    let (transactions, error) = collect(reader(log).filtered(filter));
    assert!(error.is_none(), "{error:?}");
    transactions
}

/// Returns type code, table id and `STMT_END` of each event.
fn shape(transaction: &Transaction) -> Vec<(u8, u64, bool)> {
    let shape = transaction.events.iter().map(|event| {
        let bytes = &transaction.data[event.range.clone()];
        match RowsHeader::parse(bytes, &transaction.format) {
            Ok(header) => (event.type_code, header.table_id, header.flags & STMT_END != 0),
            Err(_) => (event.type_code, u64::from(bytes[19]), false),
        }
    });
    shape.collect()
}

#[test]
fn r19_a_filtered_transaction_keeps_its_identity_and_its_turn() {
    let log = Log::new(true).transaction(1).gtid(2).query("BEGIN").table_map(6, b'u').insert(6, 1).xid();
    let transactions = kept(&log, only("u"));
    assert_eq!(
        transactions.iter().map(|t| (t.kind, t.filtered)).collect::<Vec<_>>(),
        [(Kind::Empty, true), (Kind::Dml, false)]
    );
    assert_eq!(shape(&transactions[1]), [(19, 6, false), (30, 6, true)]);
    assert_eq!(transactions[0].identity, kept(&log, TableFilter::default())[0].identity);
}

#[test]
fn a_statement_over_several_tables_keeps_its_end() {
    let statement = |log: Log| log.table_map(5, b't').table_map(6, b'u').insert(5, 0).insert(5, 0).insert(6, 1);
    let log = statement(statement(Log::new(false).gtid(1).query("BEGIN"))).xid();
    let transactions = kept(&log, only("t"));
    let once = [(19, 5, false), (30, 5, false), (30, 5, true)];
    assert_eq!(shape(&transactions[0]), [once, once].concat());
    assert_eq!(shape(&kept(&log, only("u"))[0]), [(19, 6, false), (30, 6, true)].repeat(2));
    let without = TableFilter { exclude_tables: [("d".into(), "u".into())].into(), ..TableFilter::default() };
    assert_eq!(kept(&log, without)[0].events.len(), transactions[0].events.len());
}

#[test]
fn table_maps_without_rows_are_left_out() {
    let log = Log::new(false).gtid(1).query("BEGIN").table_map(5, b't').table_map(6, b'u').insert(6, 1);
    let log = log.table_map(5, b't').insert(5, 1).xid();
    assert_eq!(shape(&kept(&log, only("t"))[0]), [(19, 5, false), (30, 5, true)]);
}

#[test]
fn with_a_filter_a_statement_has_a_batch_of_its_own() {
    let log = Log::new(true).transaction(1).gtid(2).query("CREATE TABLE x(a INT)").transaction(3);
    let mut reader = reader(&log).filtered(only("t"));
    let mut sizes = Vec::new();
    while let Some(batch) = reader.next_batch(100, 1 << 20).expect("a whole log") {
        sizes.push((batch.len(), batch[0].kind));
    }
    assert_eq!(sizes, [(1, Kind::Dml), (1, Kind::Ddl), (1, Kind::Dml)]);
}

#[test]
fn excluded_goes_before_included() {
    let filter = TableFilter {
        databases: ["a".to_owned()].into(),
        tables: [("b".to_owned(), "t".to_owned())].into(),
        exclude_tables: [("a".to_owned(), "x".to_owned())].into(),
        ..TableFilter::default()
    };
    let chosen = [("a", "t"), ("a", "x"), ("b", "t"), ("b", "u"), ("c", "t")].map(|(d, t)| filter.chooses(d, t));
    assert_eq!(chosen, [true, false, true, false, false]);
}

#[test]
fn a_head_tells_what_was_before_and_a_tail_what_comes_next() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let first = read_head(&data.join("mysql-9.7.000001")).expect("a head");
    let second = read_head(&data.join("mysql-9.7.000002")).expect("a head");
    assert!(first.previous_gtids.as_ref().is_some_and(paraply_core::gtid::GtidSet::is_empty));
    let before = second.previous_gtids.expect("a set");
    assert_eq!(before, gtids_of(&data.join("mysql-9.7.000001")).expect("a set"), "what the first file holds");
    assert!(matches!(first.closing, Closing::Next(name) if name.ends_with(".000002")), "a Rotate names the next file");
    assert!(!before.contains(&second.first.and_then(|first| first.gtid).expect("a GTID")));
    let maria = read_head(&data.join("mariadb-10.11.000001")).expect("a head");
    assert!(maria.format.mariadb && maria.previous_gtids.is_some());
}

#[test]
fn a_tail_is_found_with_and_without_checksums() {
    let folder = std::env::temp_dir().join(format!("paraply-head-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    for checksums in [false, true] {
        let log = Log::new(checksums).transaction(1);
        for (log, closing) in [
            (log.clone(), Closing::Open),
            (log.clone().rotate("binlog.000009"), Closing::Next("binlog.000009".to_owned())),
            (log.event(STOP, 0, &[]), Closing::Stopped),
        ] {
            let path = folder.join("log");
            std::fs::write(&path, &log.bytes).expect("a file");
            let head = read_head(&path).expect("a head");
            assert_eq!((head.closing, head.size), (closing, log.bytes.len() as u64));
            assert_eq!(head.first.expect("a transaction").committed_at, COMMITTED);
        }
    }
    std::fs::remove_dir_all(&folder).expect("gone");
}

fn without_own() -> TableFilter {
    TableFilter { leaves_own_out: true, ..TableFilter::default() }
}

/// A log whose second transaction changes a table of the user, and one of the database `paraply` with columns of these types.
fn with_own(table: &[u8], types: &[u8]) -> Log {
    let log = Log::new(true).transaction(1).gtid(2).query("BEGIN").table_map(6, b'u').insert(6, 1);
    let mut map = vec![7, 0, 0, 0, 0, 0, 1, 0, 7];
    map.extend_from_slice(b"paraply\0");
    map.push(table.len() as u8);
    map.extend_from_slice(table);
    map.push(0);
    map.push(types.len() as u8);
    map.extend_from_slice(types);
    let metadata: Vec<u8> = types.iter().filter(|&&code| code == 15).flat_map(|_| [255, 0]).collect();
    map.push(metadata.len() as u8);
    map.extend_from_slice(&metadata);
    map.push(0);
    let mut rows = vec![7, 0, 0, 0, 0, 0, 1, 0, 2, 0, types.len() as u8, 0xff, 0];
    for code in types {
        match code {
            15 => rows.extend_from_slice(&[1, b'x']),
            3 => rows.extend_from_slice(&[0; 4]),
            _ => rows.extend_from_slice(&[0; 8]),
        }
    }
    log.event(19, 0, &map).event(30, 0, &rows).xid()
}

#[test]
fn r25_rows_of_tables_of_its_own_are_left_out_and_others_stay() {
    let log = with_own(b"progress", &[15, 3, 8]);
    let transactions = kept(&log, without_own());
    assert_eq!(transactions.iter().map(|t| t.own_left_out).collect::<Vec<_>>(), [false, true]);
    assert_eq!(shape(&transactions[1]), [(19, 6, false), (30, 6, true)]);
    assert!(!transactions[1].filtered);
    let whole = kept(&log, TableFilter::default());
    assert_eq!((whole[1].events.len(), whole[1].own_left_out), (4, false));
    assert_eq!(transactions[0], whole[0], "a transaction without them is not touched");
}

#[test]
fn r25_a_table_of_another_owner_is_not_lost() {
    for (name, types) in [(&b"item"[..], &[15, 3, 8][..]), (b"progress", &[3, 15, 8]), (b"progress", &[15])] {
        let transactions = kept(&with_own(name, types), without_own());
        assert_eq!((transactions[1].events.len(), transactions[1].own_left_out), (4, false), "{name:?} {types:?}");
    }
}

#[test]
fn r25_a_filter_that_leaves_the_database_out_counts_nothing_as_its_own() {
    let filter = TableFilter { exclude_databases: ["paraply".to_owned()].into(), ..without_own() };
    let transactions = kept(&with_own(b"progress", &[15, 3, 8]), filter);
    assert_eq!((transactions[1].events.len(), transactions[1].own_left_out), (2, false));
}
