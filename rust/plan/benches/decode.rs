//! Decoding of row events: all columns, and only those that are hashed.
//!
//! `PARAPLY_BENCH_LOG` names a log of the schema `shop` of the tests; without it a small log of all column types is
//! repeated, and nothing is hashed.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::PathBuf;

use paraply_binlog::event::types::TABLE_MAP;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::rows::row_walk::count_rows;
use paraply_binlog::rows::table_map::TableMap;
use paraply_binlog::rows::{RowBuffer, RowsEvent};
use paraply_binlog::transaction::{Kind, Transaction};
use paraply_plan::write_sets::{Options, batch_write_sets};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

#[path = "../../binlog/tests/common/shop.rs"]
mod shop;

fn transactions() -> Vec<Transaction> {
    let named = std::env::var_os("PARAPLY_BENCH_LOG").map(PathBuf::from);
    let small = concat!(env!("CARGO_MANIFEST_DIR"), "/../binlog/tests/data/mysql-9.7-types.binlog");
    let path = named.clone().unwrap_or_else(|| small.into());
    let mut log = LogReader::open(&[path], ReaderOptions::default()).expect("the log opens");
    let mut found = Vec::new();
    while let Some(transaction) = log.next_transaction() {
        found.push(transaction.expect("the transaction is read"));
    }
    found.retain(|transaction| transaction.kind == Kind::Dml);
    if named.is_none() { found.iter().cycle().take(1000 * found.len()).cloned().collect() } else { found }
}

/// Decodes every column of every row; returns the number of values. Table maps with equal fingerprints are read once.
fn decode_all(transaction: &Transaction, maps: &mut HashMap<Vec<u8>, TableMap>) -> usize {
    let mut values = 0;
    let mut map = None;
    for event in &transaction.events {
        let bytes = &transaction.data[event.range.clone()];
        if event.type_code == TABLE_MAP {
            let body = &bytes[25..];
            if !maps.contains_key(body) {
                maps.insert(body.to_vec(), TableMap::parse(bytes, &transaction.format).expect("a table map"));
            }
            map = Some(body);
            continue;
        }
        let map = map.and_then(|body| maps.get(body)).expect("a table map came first");
        let event = RowsEvent::parse(bytes, map, &transaction.format).expect("an event");
        let mut buffer = RowBuffer::default();
        let mut rows = event.rows(&mut buffer, None);
        while let Some(row) = rows.next_row() {
            let row = row.expect("a row");
            for image in [row.before, row.after].into_iter().flatten() {
                values += black_box(image).len();
            }
        }
    }
    values
}

fn decode(criterion: &mut Criterion) {
    let transactions = transactions();
    let bytes: usize = transactions.iter().map(|transaction| transaction.data.len()).sum();
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Bytes(bytes as u64)).sample_size(20);
    let mut maps = HashMap::new();
    group.bench_function("all columns", |bencher| {
        bencher.iter(|| transactions.iter().map(|t| decode_all(t, &mut maps)).sum::<usize>());
    });
    group.bench_function("count rows", |bencher| {
        bencher.iter(|| transactions.iter().map(|t| count_rows(t).expect("rows")).sum::<u64>());
    });
    if std::env::var_os("PARAPLY_BENCH_LOG").is_some() {
        let catalog = shop::catalog();
        group.bench_function("decode and hash", |bencher| {
            bencher.iter(|| batch_write_sets(&transactions, &catalog, &Options::default()).expect("sound rows"));
        });
    }
    group.finish();
}

criterion_group!(benches, decode);
criterion_main!(benches);
