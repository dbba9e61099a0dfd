//! Assembly of transactions from events, on logs built by hand.

mod by_hand;

use by_hand::{Log, STOP, read};
use paraply_binlog::error::LogError;
use paraply_binlog::event::EventHeader;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::{Identity, Kind};
use paraply_core::gtid::{Gtid, Origin};

fn identity(number: u64) -> Identity {
    Identity::Gtid(Gtid { origin: Origin::MySql { uuid: [0xaa; 16], tag: String::new() }, number })
}

#[test]
fn a_transaction_has_everything_that_its_events_say() {
    for checksums in [false, true] {
        let start = Log::new(checksums).bytes.len() as u64;
        let log = Log::new(checksums).gtid(5).query("BEGIN").rows(2).xid();
        let (transactions, error) = log.read();
        assert!(error.is_none(), "{error:?}");
        let [transaction] = &transactions[..] else { panic!("{transactions:?}") };
        assert_eq!(transaction.identity, identity(5));
        assert_eq!(transaction.kind, Kind::Dml);
        assert_eq!((transaction.last_committed, transaction.sequence_number), (Some(4), Some(5)));
        assert_eq!(transaction.committed_at, Some(1_700_000_001_000_003), "the original commit, not the immediate one");
        assert_eq!((transaction.server_id, transaction.session), (7, Some(42)));
        assert!(transaction.no_foreign_key_checks);
        assert_eq!((transaction.offset, transaction.end_offset), (start, log.bytes.len() as u64));
        assert_eq!(transaction.bytes, log.bytes.len() as u64 - start);
        assert_eq!(transaction.events.len(), 2);
        for event in &transaction.events {
            let bytes = &transaction.data[event.range.clone()];
            let header = EventHeader::parse(bytes).expect("a header");
            assert_eq!(header.event_size as usize, bytes.len(), "the size no longer counts the checksum");
            assert_eq!(header.type_code, event.type_code);
        }
    }
}

#[test]
fn the_format_event_says_that_there_are_no_checksums_and_has_a_valid_one() {
    let (transactions, _) = Log::new(true).transaction(1).read();
    let event = &transactions[0].format.event;
    let (content, checksum) = event.split_last_chunk::<4>().expect("a checksum");
    assert_eq!(content.last(), Some(&0));
    assert_eq!(u32::from_le_bytes(*checksum), crc32fast::hash(content));
    let again = paraply_binlog::transaction::Format::parse(event, true).expect("still a format");
    assert!(!again.checksum && transactions[0].format.checksum);
    assert_eq!(again.post_header_lengths, transactions[0].format.post_header_lengths);
}

#[test]
fn logs_without_gtids_begin_with_a_statement() {
    let log = Log::new(true).query("CREATE TABLE t(a INT)").query("BEGIN").rows(0).query("COMMIT");
    let (transactions, error) = log.read();
    assert!(error.is_none(), "{error:?}");
    let kinds: Vec<_> = transactions.iter().map(|t| (t.kind, t.identity.clone())).collect();
    assert_eq!(kinds, [(Kind::Ddl, Identity::Anonymous), (Kind::Dml, Identity::Anonymous)]);
    assert_eq!(transactions[0].committed_at, Some(1_700_000_001_000_000));
}

#[test]
fn r27_what_stands_before_a_truncation_is_handed_out() {
    let whole = Log::new(true).transaction(1).transaction(2);
    let first = Log::new(true).transaction(1).bytes.len();
    for end in first + 1..whole.bytes.len() {
        let cut = Log { bytes: whole.bytes[..end].to_vec(), ..whole.clone() };
        let (transactions, error) = cut.read();
        assert_eq!(transactions.len(), 1);
        assert!(
            matches!(error, Some(LogError::Truncated { position, .. }) if position >= first as u64),
            "{end} {error:?}"
        );
    }
}

#[test]
fn what_is_no_log_is_said_to_be_none() {
    for bytes in [&b""[..], b"\xfe", b"BINLOG 'x'", b"\x7fELF"] {
        let (_, error) = read(vec![("x".into(), bytes.to_vec())]);
        assert!(matches!(error, Some(LogError::NotALog { .. })), "{error:?}");
    }
    let (_, error) = read(vec![("x".into(), b"\xfe\xfe\x0c\x01\x01".to_vec())]);
    assert!(matches!(&error, Some(LogError::NotALog { message, .. }) if message.contains("GTID index")), "{error:?}");
    let (_, error) = read(vec![("x".into(), b"\xfe\xfe\x0d\x01\x0e".to_vec())]);
    assert!(matches!(&error, Some(LogError::NotUnderstood { message, .. }) if message.contains("InnoDB")), "{error:?}");
    let (_, error) = read(vec![("x".into(), b"\xfdbin\x01".to_vec())]);
    assert!(matches!(error, Some(LogError::NotUnderstood { .. })), "an encrypted log: {error:?}");
    let (transactions, error) = read(vec![("x".into(), b"\xfebin".to_vec())]);
    assert!(transactions.is_empty() && error.is_none(), "a log that has just been made holds nothing yet");
}

#[test]
fn r27_what_cannot_be_replayed_is_refused_with_its_position() {
    let begun = || Log::new(true).transaction(1).gtid(2).query("BEGIN");
    let position = begun().bytes.len() as u64;
    let refused = [
        begun().query("INSERT INTO t VALUES (1)"),
        begun().query("/*!50000 DELETE */ FROM t"),
        begun().event(5, 0, &[0; 9]),
        begun().event(26, 0, &[1, 0, 0]),
        begun().event(13, 0, &[0; 16]),
        begun().event(99, 0, &[0; 16]),
        begun().event(164, 0, &[0; 16]),
        begun().event(20, 0, &[0; 16]),
        begun().event(162, 0, &[0; 19]),
    ];
    for log in refused {
        let (transactions, error) = log.read();
        assert_eq!(transactions.len(), 1);
        assert!(matches!(error, Some(LogError::NotUnderstood { position: p, .. }) if p == position), "{error:?}");
    }
    for flags in [0, 0x80] {
        let (transactions, error) = begun().event(99, flags, &[0; 16]).xid().read();
        assert!(transactions.len() == 1 && matches!(error, Some(LogError::NotUnderstood { .. })), "{flags}: {error:?}");
    }
    let (transactions, error) = Log::new(true).transaction(1).event(99, 0x80, &[0; 16]).transaction(2).read();
    assert!(transactions.len() == 2 && error.is_none(), "one between transactions that may be passed over: {error:?}");
}

#[test]
fn r27_padding_of_aurora_is_passed_over_and_nothing_else_of_its_type() {
    let padded = |flags, content: &[u8]| Log::new(true).gtid(1).event(100, flags, content).query("BEGIN").rows(0).xid();
    let (transactions, error) = padded(0x80, &[b'*'; 905]).transaction(2).read();
    assert!(transactions.len() == 2 && error.is_none(), "{error:?}");
    for log in [padded(0, &[b'*'; 9]), padded(0x80, b"*****-***")] {
        let (transactions, error) = log.read();
        assert!(transactions.is_empty() && matches!(error, Some(LogError::NotUnderstood { .. })), "{error:?}");
    }
}

/// MariaDB 10.5 writes this when a table of engine MEMORY is opened for the first time after a restart.
#[test]
fn a_table_in_memory_is_emptied_by_a_restart() {
    for log in [
        Log::of("10.5.23-MariaDB", true).event(
            162,
            0,
            &[&[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..], &[0; 6]].concat(),
        ),
        Log::new(true).gtid(1),
        Log::new(false),
    ] {
        let (transactions, error) = log.query("DELETE FROM `d`.`h`").read();
        assert!(error.is_none(), "{error:?}");
        assert_eq!((transactions[0].kind, transactions[0].statements.len()), (Kind::Ddl, 1));
        assert_eq!(transactions[0].statements[0].sql, b"TRUNCATE TABLE `d`.`h`");
    }
    let (_, error) = Log::new(true).gtid(1).query("BEGIN").query("DELETE FROM `d`.`h`").read();
    assert!(matches!(error, Some(LogError::NotUnderstood { .. })), "a user's statement: {error:?}");
}

#[test]
fn the_rows_of_a_create_select_belong_to_it() {
    let begun = Log::new(true).gtid(1).query("BEGIN").query("CREATE TABLE `t` (a int) START TRANSACTION").rows(0).xid();
    let alone = Log::new(true).gtid(1).query("CREATE TABLE `t` (a int) START TRANSACTION").rows(0).xid();
    for log in [begun, alone] {
        let (transactions, error) = log.transaction(2).read();
        assert!(error.is_none(), "{error:?}");
        assert_eq!(
            (transactions[0].kind, transactions[0].events.len(), transactions[0].statements.len()),
            (Kind::Ddl, 2, 1)
        );
        assert_eq!(transactions[1].kind, Kind::Dml);
    }
}

#[test]
fn a_statement_brings_its_status_variables() {
    let status = [
        &[0, 0, 0, 0, 4][..], // flags2: OPTION_NO_FOREIGN_KEY_CHECKS
        &[1, 32, 0, 160, 69, 0, 0, 0, 0],
        b"\x06\x03std",
        &[4, 255, 0, 255, 0, 255, 0],
        b"\x05\x06SYSTEM",
        b"\x0c\x02d\0e\0",
        &[13, 1, 2, 0],
        &[20, 1],
        &[77, 1, 2, 3],
    ]
    .concat();
    let (transactions, error) = Log::new(true).gtid(1).query_with_status("DROP TABLE t", &status).read();
    assert!(error.is_none(), "{error:?}");
    let statement = &transactions[0].statements[0];
    let context = &statement.context;
    assert_eq!((statement.sql.as_slice(), statement.database.as_str()), (&b"DROP TABLE t"[..], "d"));
    assert_eq!((context.flags2, context.sql_mode), (Some(1 << 26), Some(1_168_113_696)));
    assert_eq!((context.charset, context.time_zone.as_deref()), (Some((255, 255, 255)), Some("SYSTEM")));
    assert_eq!((context.microseconds, context.default_table_encryption), (Some(513), Some(1)));
    assert_eq!(context.updated_databases, ["d", "e"]);
    assert_eq!(context.unknown, [77], "the statement must not be run");
}

#[test]
fn r27_a_relay_log_may_bring_an_interrupted_transaction_again() {
    let again = Log::relay(true).transaction(1).gtid(2).query("BEGIN").rows(0).format(0x20).transaction(2);
    let (transactions, error) = again.read();
    assert!(error.is_none(), "{error:?}");
    assert_eq!(transactions.iter().map(|t| t.events.len()).collect::<Vec<_>>(), [2, 2], "the first part is dropped");
    let resumed = Log::relay(true).gtid(2).query("BEGIN").rows(0).format(0x20).rows(0).xid();
    assert_eq!(resumed.read().0[0].events.len(), 4, "a receiver by position goes on inside");
    let other = Log::relay(true).transaction(1).gtid(2).query("BEGIN").rows(0).format(0x20).transaction(3);
    let (transactions, error) = other.read();
    assert_eq!(transactions.len(), 1);
    assert!(matches!(error, Some(LogError::Truncated { .. })), "{error:?}");
    let binlog = Log::new(true).gtid(2).query("BEGIN").rows(0).gtid(2).query("BEGIN").rows(0).xid();
    assert!(matches!(binlog.read().1, Some(LogError::Truncated { .. })), "never in a binlog");
}

#[test]
fn r27_relay_log_files_may_bring_it_again_too() {
    let first = Log::relay(true).transaction(1).gtid(2).query("BEGIN").rows(0).bytes;
    let file = |name: &str, log: Log| (name.to_owned(), log.bytes);
    let (transactions, error) = read(vec![("a".into(), first.clone()), file("b", Log::relay(true).transaction(2))]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(transactions.iter().map(|t| t.file).collect::<Vec<_>>(), [0, 1]);
    let (transactions, error) = read(vec![("a".into(), first.clone()), file("b", Log::relay(true).transaction(3))]);
    assert_eq!(transactions.len(), 1);
    assert!(matches!(error, Some(LogError::Truncated { file, .. }) if file == "a"));
    let (_, error) = read(vec![("a".into(), first)]);
    assert!(matches!(error, Some(LogError::Truncated { .. })));
}

#[test]
fn a_missing_file_between_two_is_noticed() {
    let first = Log::new(true).transaction(1).rotate("binlog.000002").bytes;
    let second = Log::new(true).transaction(2).event(STOP, 0, &[]).bytes;
    let names = |next: &str| vec![("binlog.000001".to_owned(), first.clone()), (next.to_owned(), second.clone())];
    let (transactions, error) = read(names("dir/binlog.000002"));
    assert!(transactions.len() == 2 && error.is_none(), "{error:?}");
    let (transactions, error) = read(names("dir/binlog.000003"));
    assert!(transactions.len() == 1 && matches!(error, Some(LogError::Damaged { .. })), "{error:?}");
}

#[test]
fn events_that_were_taken_out_or_moved_are_noticed() {
    let whole = Log::new(true).transaction(1).transaction(2).transaction(3);
    let ends = [Log::new(true), Log::new(true).transaction(1), Log::new(true).transaction(1).transaction(2)];
    let [start, one, two] = ends.map(|log| log.bytes.len());
    let parts = [&whole.bytes[..start], &whole.bytes[one..two], &whole.bytes[start..one], &whole.bytes[two..]];
    let swapped = Log { bytes: parts.concat(), ..whole.clone() };
    assert!(matches!(swapped.read(), (t, Some(LogError::Damaged { .. })) if t.is_empty()));
    let gap = Log { bytes: [&whole.bytes[..one], &whole.bytes[two..]].concat(), ..whole };
    assert!(matches!(gap.read(), (t, Some(LogError::Damaged { .. })) if t.len() == 1));
}

#[test]
fn a_batch_ends_with_a_ddl_and_before_an_error() {
    let log = Log::new(true).transaction(1).gtid(2).query("DROP TABLE t").transaction(3).transaction(4).gtid(5);
    let sources = vec![("log".to_owned(), Box::new(std::io::Cursor::new(log.bytes)) as _)];
    let mut reader = LogReader::from_sources(sources, ReaderOptions::default());
    let mut next = || reader.next_batch(100, 1 << 20).map(|batch| batch.map_or(0, |batch| batch.len()));
    assert_eq!(next().expect("a batch"), 2);
    assert_eq!(next().expect("a batch"), 2);
    assert!(next().is_err());
    assert!(next().is_err(), "an error is no end");
}

/// Returns a payload event around the events of a transaction.
fn payload(compression: u8, inner: &[u8], content: &[u8]) -> Vec<u8> {
    let size = |field: u8, size: usize| [&[field, 5, 253][..], &(size as u32).to_le_bytes()[..3], &[0]].concat();
    let mut body = size(1, content.len());
    if compression < 251 {
        body.extend([2, 1, compression]);
    } else {
        body.extend([2, 3, 252, compression, 0]);
    }
    body.extend(size(3, inner.len()));
    body.push(0);
    body.extend(content);
    body
}

#[test]
fn a_payload_gives_the_same_transaction_compressed_or_not() {
    let start = Log::new(false).bytes.len();
    let inner = Log::new(false).query("BEGIN").rows(0).xid().bytes.split_off(start);
    let packed = zstd::encode_all(&inner[..], 3).expect("packed");
    let (expected, _) = Log::new(true).transaction(1).read();
    for (compression, content) in [(0, &packed), (255, &inner)] {
        let log = Log::new(true).gtid(1).event(40, 0, &payload(compression, &inner, content));
        let (transactions, error) = log.read();
        assert!(error.is_none(), "{error:?}");
        assert_eq!(transactions[0].events.len(), 2);
        let bodies = |t: &paraply_binlog::transaction::Transaction| -> Vec<Vec<u8>> {
            t.events.iter().map(|event| t.data[event.range.clone()][19..].to_vec()).collect()
        };
        assert_eq!(bodies(&transactions[0]), bodies(&expected[0]));
        assert_eq!(transactions[0].end_offset, log.bytes.len() as u64);
    }
    let position = Log::new(true).gtid(1).bytes.len() as u64;
    for body in [
        payload(9, &inner, &packed),
        payload(0, &inner[1..], &packed),
        payload(0, &inner, &packed[..packed.len() - 3]),
        payload(255, &inner[..inner.len() - 27], &inner[..inner.len() - 27]),
        payload(255, &[&inner[..], &inner].concat(), &[&inner[..], &inner].concat()),
    ] {
        let (transactions, error) = Log::new(true).gtid(1).event(40, 0, &body).read();
        assert!(transactions.is_empty());
        assert_eq!(error.expect("an error").position(), position);
    }
}

#[test]
fn a_payload_cannot_fill_the_memory() {
    let mut inner = Log::new(false).query("BEGIN").bytes.split_off(Log::new(false).bytes.len());
    let rows = Log::new(false).event(30, 0, &vec![0; 1 << 20]).bytes.split_off(Log::new(false).bytes.len());
    for _ in 0..64 {
        inner.extend(&rows);
    }
    let packed = zstd::encode_all(&inner[..], 3).expect("packed");
    assert!(packed.len() < 1 << 16);
    let (transactions, error) = Log::new(true).gtid(1).event(40, 0, &payload(0, &inner, &packed)).read();
    assert!(transactions.is_empty());
    assert!(matches!(error, Some(LogError::NotUnderstood { .. })), "over the limit of the reader: {error:?}");
}
