//! Certification with ten million keys live, four keys a transaction, beside the standard library's hash map.
//!
//! `PARAPLY_BENCH_KEYS` sets another number of keys. Bytes a key are printed once, before the timings.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use paraply_core::certifier::{Candidate, Certifier, GtidFrom, Options};
use paraply_core::gtid::{Gtid, GtidSet, Origin};

const KEYS_PER_TRANSACTION: usize = 4;
const TRANSACTIONS_PER_BATCH: usize = 4096;
const UUID: [u8; 16] = [7; 16];

fn live_keys() -> u64 {
    std::env::var("PARAPLY_BENCH_KEYS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000_000)
}

/// Returns the hash of row `row`: well mixed, as XXH64's are.
fn key(row: u64) -> u64 {
    let mixed = (row ^ row >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ row
}

/// Random rows, the same in every run.
struct Rows {
    state: u64,
    rows: u64,
}

impl Rows {
    fn next_key(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        key(((u128::from(self.state) * u128::from(self.rows)) >> 64) as u64)
    }

    fn batch(&mut self) -> Vec<u64> {
        (0..KEYS_PER_TRANSACTION * TRANSACTIONS_PER_BATCH).map(|_| self.next_key()).collect()
    }
}

/// Returns the set that three members with blocks of a million numbers have executed after `transactions`.
fn snapshot(transactions: u64) -> GtidSet {
    let mut text = String::from("07070707-0707-0707-0707-070707070707");
    for member in 0..3 {
        let first = member * 1_000_000 + 1;
        write!(text, ":{first}-{}", first + transactions / 3 % 999_000 + 1).expect("a string takes all");
    }
    text.parse().expect("a GTID set")
}

/// Certifies transactions one by one and without snapshots, as `paraply verify` does.
fn verify(certifier: &mut Certifier, items: &[u64]) {
    for items in items.chunks(KEYS_PER_TRANSACTION) {
        black_box(certifier.certify(&Candidate { items, ..Candidate::default() }));
    }
}

/// Certifies a batch as a member of a group does, which gets it in Arrow: every transaction has a snapshot of its own.
fn group(certifier: &mut Certifier, items: &[u64], snapshots: &[GtidSet], gtid: &Gtid) {
    let candidate = |(items, snapshot)| Candidate {
        items,
        snapshot: Some(snapshot),
        gtid: GtidFrom::Own(gtid),
        ..Candidate::default()
    };
    let candidates: Vec<_> = items.chunks(KEYS_PER_TRANSACTION).zip(snapshots).map(candidate).collect();
    black_box(certifier.certify_batch(&candidates));
}

fn report_memory(name: &str, certifier: &Certifier) {
    let keys = certifier.items_held();
    println!("{name}: {keys} keys live, {:.1} bytes a key", certifier.memory() as f64 / keys as f64);
}

/// Calls `each` with every key once, in transactions of four.
fn fill(mut each: impl FnMut(&[u64])) {
    let all: Vec<u64> = (0..live_keys()).map(key).collect();
    all.chunks(KEYS_PER_TRANSACTION * TRANSACTIONS_PER_BATCH).for_each(&mut each);
}

fn filled_for_verify() -> Certifier {
    let mut certifier = Certifier::new(Options::default());
    fill(|items| verify(&mut certifier, items));
    report_memory("verify", &certifier);
    certifier
}

fn filled_for_group(gtid: &Gtid, mut snapshots: impl FnMut() -> Vec<GtidSet>) -> Certifier {
    let mut certifier = Certifier::new(Options::default());
    fill(|items| group(&mut certifier, items, &snapshots(), gtid));
    report_memory("group", &certifier);
    certifier
}

fn filled_std_map() -> HashMap<u64, i64> {
    let mut plain: HashMap<u64, i64> = HashMap::new();
    fill(|items| plain.extend(items.iter().map(|item| (*item, 1))));
    println!("std HashMap: {:.1} bytes a key", plain.capacity() as f64 * 8.0 / 7.0 * 17.0 / plain.len() as f64);
    plain
}

/// Computes the same numbers on a plain map: one entry after another, and the highest number found.
fn std_batch(plain: &mut HashMap<u64, i64>, number: &mut i64, items: &[u64]) {
    for transaction in items.chunks(KEYS_PER_TRANSACTION) {
        *number += 1;
        let stored = transaction.iter().filter_map(|item| plain.insert(*item, *number));
        black_box(stored.max());
    }
}

fn certification(criterion: &mut Criterion) {
    let mut benchmarks = criterion.benchmark_group("certification");
    benchmarks.throughput(Throughput::Elements((KEYS_PER_TRANSACTION * TRANSACTIONS_PER_BATCH) as u64));
    let mut rows = Rows { state: 1, rows: live_keys() };

    let mut certifier = None;
    benchmarks.bench_function("verify", |bencher| {
        let certifier = certifier.get_or_insert_with(filled_for_verify);
        bencher.iter_batched(|| rows.batch(), |items| verify(certifier, &items), BatchSize::LargeInput);
    });
    drop(certifier);

    let gtid = Gtid { origin: Origin::MySql { uuid: UUID, tag: String::new() }, number: 999_999 };
    let mut done = 0;
    let mut snapshots = || -> Vec<GtidSet> {
        done += TRANSACTIONS_PER_BATCH as u64;
        (0..TRANSACTIONS_PER_BATCH as u64).map(|index| snapshot(done + index)).collect()
    };
    let mut certifier = None;
    benchmarks.bench_function("group", |bencher| {
        let certifier = certifier.get_or_insert_with(|| filled_for_group(&gtid, &mut snapshots));
        bencher.iter_batched(
            || (rows.batch(), snapshots()),
            |(items, snapshots)| group(certifier, &items, &snapshots, &gtid),
            BatchSize::LargeInput,
        );
    });
    drop(certifier);

    let (mut plain, mut number) = (None, 1);
    benchmarks.bench_function("std_hash_map", |bencher| {
        let plain = plain.get_or_insert_with(filled_std_map);
        bencher.iter_batched(|| rows.batch(), |items| std_batch(plain, &mut number, &items), BatchSize::LargeInput);
    });
    benchmarks.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = certification
}
criterion_main!(benches);
