//! Any damage causes an error or yields the same transactions: never a panic, a hang or another result.

mod by_hand;

use by_hand::{Log, read};
use paraply_binlog::error::LogError;
use paraply_binlog::transaction::Transaction;
use proptest::prelude::*;

fn sample(start: Log) -> Log {
    let log = start.gtid(1).query("CREATE TABLE t(a INT)").transaction(2).transaction(3);
    log.gtid(4).query("BEGIN").query("COMMIT").rotate("log.000002")
}

fn real(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).expect("the test's data")
}

/// Returns a transaction's content and identity; flags of the format's header do not count.
fn essence(transaction: &Transaction) -> impl PartialEq + std::fmt::Debug + use<'_> {
    let t = transaction;
    (&t.identity, t.kind, &t.statements, &t.events, &t.data, t.last_committed, t.sequence_number, t.committed_at)
}

fn assert_prefix(damaged: &[Transaction], whole: &[Transaction]) {
    assert!(damaged.len() <= whole.len());
    for (damaged, whole) in damaged.iter().zip(whole) {
        assert_eq!(essence(damaged), essence(whole));
    }
}

#[test]
fn every_flipped_bit_of_a_log_with_checksums_is_noticed() {
    for start in [Log::new(true), Log::relay(true)] {
        flip_every_bit(&sample(start));
    }
}

fn flip_every_bit(whole: &Log) {
    let (expected, error) = whole.read();
    assert!(expected.len() == 4 && error.is_none());
    for place in 0..whole.bytes.len() {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged.bytes[place] ^= 1 << bit;
            let (transactions, error) = damaged.read();
            assert_prefix(&transactions, &expected);
            assert!(error.is_some() || transactions.len() == expected.len(), "byte {place} bit {bit}");
        }
    }
}

#[test]
fn a_log_with_larger_headers_is_of_a_fork_and_not_damaged() {
    let mut log = sample(Log::new(false));
    log.bytes[4 + 19 + 2 + 50 + 4] = 23;
    let error = log.read().1.unwrap();
    assert!(matches!(error, LogError::NotUnderstood { .. }), "{error}");
    assert!(error.to_string().contains("headers of 23 bytes"), "{error}");
    log.bytes[4 + 19 + 2 + 50 + 4] = 18;
    assert!(matches!(log.read().1.unwrap(), LogError::Damaged { .. }));
}

#[test]
fn every_flipped_byte_of_real_logs_is_noticed() {
    for name in ["mysql-9.7.000001", "mysql-9.7-anonymous.binlog", "mariadb-10.11.000001"] {
        let bytes = real(name);
        let (expected, error) = read(vec![(name.to_owned(), bytes.clone())]);
        assert!(error.is_none(), "{error:?}");
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x55;
            let (transactions, error) = read(vec![(name.to_owned(), damaged)]);
            assert_prefix(&transactions, &expected);
            assert!(error.is_some() || transactions.len() == expected.len(), "{name}: byte {place}");
        }
    }
}

#[test]
fn every_truncation_of_real_logs_gives_a_prefix() {
    for name in ["mysql-9.7.000001", "mariadb-10.11.000001"] {
        let bytes = real(name);
        let (expected, _) = read(vec![(name.to_owned(), bytes.clone())]);
        for end in 0..bytes.len() {
            let (transactions, _) = read(vec![(name.to_owned(), bytes[..end].to_vec())]);
            assert_prefix(&transactions, &expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Without checksums a change may be read as another value, but nothing breaks.
    #[test]
    fn damage_without_checksums_breaks_nothing(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut log = Log::new(false).transaction(1).gtid(2).query_with_status("DROP TABLE t", b"\x05\x03UTC\x0c\x01d\0");
        log = log.transaction(3);
        for (place, byte) in changes {
            let place = place.index(log.bytes.len());
            log.bytes[place] = byte;
        }
        let end = end.index(log.bytes.len());
        log.read();
        log.bytes.truncate(end);
        log.read();
    }

    /// Changes compressed bytes: the outer checksum is made anew, so the damage reaches the decompressors.
    #[test]
    fn damage_inside_real_events_breaks_nothing(
        maria in any::<bool>(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = real(if maria { "mariadb-10.11.000001" } else { "mysql-9.7.000001" });
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let mut at = 4;
        while let Some(header) = bytes.get(at..at + 19) {
            let size = u32::from_le_bytes([header[9], header[10], header[11], header[12]]) as usize;
            let Some(event) = bytes.get_mut(at..at + size.max(23)) else { break };
            let (content, checksum) = event.split_last_chunk_mut::<4>().expect("a checksum");
            *checksum = crc32fast::hash(content).to_le_bytes();
            at += size.max(23);
        }
        read(vec![("x".to_owned(), bytes)]);
    }
}
