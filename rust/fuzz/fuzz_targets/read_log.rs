//! Any bytes, read as a log: an error or transactions whose events lie inside their bytes, within the memory allowed.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use paraply_binlog::reader::{LogReader, ReaderOptions};

const MOST_BYTES: u64 = 1 << 24;

fuzz_target!(|data: (bool, Vec<u8>)| {
    let (verify_checksums, bytes) = data;
    let options = ReaderOptions { verify_checksums, max_transaction_bytes: MOST_BYTES };
    let sources = vec![("log".to_owned(), Box::new(Cursor::new(bytes)) as _)];
    let mut reader = LogReader::from_sources(sources, options);
    while let Some(Ok(transaction)) = reader.next_transaction() {
        assert!(transaction.data.len() as u64 <= MOST_BYTES);
        assert!(transaction.offset < transaction.end_offset);
        for event in &transaction.events {
            assert!(transaction.data.get(event.range.clone()).is_some_and(|bytes| bytes.len() >= 19));
        }
    }
});
