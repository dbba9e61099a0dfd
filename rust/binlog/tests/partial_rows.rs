//! Pieces of row events, as MariaDB 12.3 writes them. No such server was available: the logs follow its source and
//! manual.

mod by_hand;

use by_hand::{Log, WRITE_ROWS};
use paraply_binlog::error::LogError;
use paraply_binlog::transaction::Kind;

const PIECE: u8 = 172;

fn begun() -> Log {
    Log::of("12.3.1-MariaDB", true).mariadb_gtid(1).table_map(5, b't')
}

/// Returns the row event that is cut.
fn whole() -> Vec<u8> {
    let mut log = begun();
    log.checksums = false;
    log.insert(5, 1).last_event()
}

/// Appends one piece; its number and the count may be in either order.
fn piece(log: Log, numbers: [u32; 2], size: Option<u64>, content: &[u8]) -> Log {
    let mut body: Vec<u8> = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
    body.push(u8::from(size.is_some()));
    body.extend(size.map(u64::to_le_bytes).into_iter().flatten());
    body.extend(content);
    log.event(PIECE, 0, &body)
}

/// Returns a transaction with the event in pieces of `length` bytes.
fn cut(event: &[u8], length: usize, number_first: bool) -> Log {
    let parts: Vec<&[u8]> = event.chunks(length).collect();
    let order = |number: u32| {
        let count = parts.len() as u32;
        if number_first { [number, count] } else { [count, number] }
    };
    let add = |log, (index, part): (usize, &&[u8])| {
        let size = (index == 0).then_some(event.len() as u64);
        piece(log, order(index as u32 + 1), size, part)
    };
    parts.iter().enumerate().fold(begun(), add)
}

#[test]
fn pieces_become_the_row_event_that_they_are_of() {
    let (expected, _) = begun().insert(5, 1).xid().read();
    for number_first in [true, false] {
        for length in 1..=whole().len() {
            let (transactions, error) = cut(&whole(), length, number_first).xid().read();
            assert!(error.is_none(), "{length} {error:?}");
            let [transaction] = &transactions[..] else { panic!("{transactions:?}") };
            assert_eq!((transaction.kind, transaction.events.len()), (Kind::Dml, 2));
            let bytes = |t: &paraply_binlog::transaction::Transaction| t.data[t.events[1].range.clone()][19..].to_vec();
            assert_eq!(bytes(transaction), bytes(&expected[0]));
            assert_eq!(transaction.events[1].type_code, WRITE_ROWS);
        }
    }
}

#[test]
fn the_size_may_count_a_checksum_that_is_not_there() {
    let mut event = whole();
    let size = event.len() as u32 + 4;
    event[9..13].copy_from_slice(&size.to_le_bytes());
    let half = event.len() / 2;
    let log = piece(begun(), [1, 2], Some(u64::from(size)), &event[..half]);
    let (transactions, error) = piece(log, [2, 2], None, &event[half..]).xid().read();
    assert!(error.is_none() && transactions[0].events.len() == 2, "{error:?}");
}

#[test]
fn r27_pieces_that_do_not_fit_are_refused() {
    let event = whole();
    let (one, two) = event.split_at(20);
    let size = Some(event.len() as u64);
    let first = || piece(begun(), [1, 2], size, one);
    let missing_or_wrong = [
        piece(begun(), [2, 2], None, two),
        piece(begun(), [1, 2], None, one),
        piece(first(), [3, 2], None, two),
        piece(first(), [2, 3], None, two),
        piece(first(), [1, 2], size, one),
        piece(first(), [2, 2], None, &two[1..]),
        piece(first(), [2, 2], None, &[two, &[0]].concat()),
        first().insert(5, 1),
        first().table_map(5, b't'),
        first().query("COMMIT"),
        first().xid(),
    ];
    for log in missing_or_wrong {
        let (transactions, error) = log.xid().read();
        assert!(transactions.is_empty() && matches!(error, Some(LogError::Damaged { .. })), "{error:?}");
    }
    let (transactions, error) = first().read();
    assert!(transactions.is_empty() && matches!(error, Some(LogError::Truncated { .. })), "{error:?}");
    let mut other = event.clone();
    other[4] = 2;
    for log in [
        cut(&other, 20, true),
        begun().event(PIECE, 0, &[1, 0, 0, 0, 1, 0, 0, 0, 2]),
        begun().event(PIECE + 1, 0x80, &[0; 20]),
    ] {
        let (transactions, error) = log.xid().read();
        assert!(transactions.is_empty() && matches!(error, Some(LogError::NotUnderstood { .. })), "{error:?}");
    }
    let (_, error) = Log::new(true).gtid(1).query("BEGIN").event(PIECE, 0, &[0; 20]).read();
    assert!(matches!(error, Some(LogError::NotUnderstood { .. })), "MySQL has no such event: {error:?}");
}

#[test]
fn a_compressed_row_event_may_come_in_pieces() {
    let plain = whole();
    let (head, rows) = plain.split_at(19 + 10 + 2);
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packer, rows).expect("memory");
    let compressed = [&[0x80 | 1, rows.len() as u8][..], &packer.finish().expect("memory")].concat();
    let mut event = [head, &compressed].concat();
    event[4] = 169;
    let size = event.len() as u32;
    event[9..13].copy_from_slice(&size.to_le_bytes());
    let (transactions, error) = cut(&event, 7, true).xid().read();
    assert!(error.is_none(), "{error:?}");
    let transaction = &transactions[0];
    assert_eq!(transaction.events[1].type_code, WRITE_ROWS);
    assert_eq!(&transaction.data[transaction.events[1].range.clone()][19..], &plain[19..]);
}

#[test]
fn a_receiver_may_be_interrupted_between_pieces() {
    let event = whole();
    let log = Log { relay: true, ..begun() };
    let interrupted = piece(log, [1, 2], Some(event.len() as u64), &event[..20]).format(0x20);
    let again = interrupted.mariadb_gtid(1).table_map(5, b't').insert(5, 1).xid();
    let (transactions, error) = again.read();
    assert!(error.is_none() && transactions[0].events.len() == 2, "{error:?}");
}
