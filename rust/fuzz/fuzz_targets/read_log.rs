//! Any bytes, read as a log: an error or transactions whose events lie inside their bytes, within the memory allowed.
//!
//! Inputs are plain log files, so that real ones serve as corpus. Each is read with and without its checksums: with
//! them damage must be noticed, without them it reaches the later stages. Rows are decoded too.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use paraply_binlog::rows::changes::changes;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::rows::row_walk::count_rows;
use paraply_binlog::rows::table_map::TableMap;
use paraply_binlog::transaction::Transaction;

const MOST_BYTES: u64 = 1 << 24;
const TABLE_MAP: u8 = 19;
const MOST_COLUMNS: usize = 64;

fuzz_target!(|data: &[u8]| {
    for verify_checksums in [true, false] {
        let options = ReaderOptions { verify_checksums, max_transaction_bytes: MOST_BYTES };
        let sources = vec![("log".to_owned(), Box::new(Cursor::new(data.to_vec())) as _)];
        let mut reader = LogReader::from_sources(sources, options);
        while let Some(Ok(transaction)) = reader.next_transaction() {
            check(&transaction);
        }
    }
});

fn check(transaction: &Transaction) {
    assert!(transaction.data.len() as u64 <= MOST_BYTES);
    assert!(transaction.offset < transaction.end_offset);
    for event in &transaction.events {
        let bytes = transaction.data.get(event.range.clone()).unwrap_or_default();
        assert!(bytes.len() >= 19);
        if event.type_code == TABLE_MAP
            && let Ok(map) = TableMap::parse(bytes, &transaction.format)
        {
            let columns: Vec<usize> = (0..map.columns.len().min(MOST_COLUMNS)).collect();
            let _ = changes(std::iter::once(transaction), &map.name, &columns, 100);
        }
    }
    let _ = count_rows(transaction);
}
