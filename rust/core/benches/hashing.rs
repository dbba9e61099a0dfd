//! Equality forms and hashes of texts in many scripts, each collation beside plain bytes, and of whole rows.
//!
//! A table is printed first: the slowdown of each collation against bytes on the same keys, from interleaved rounds of
//! both.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use paraply_core::collation::Collation;
use paraply_core::schema::{Catalog, Column, KeyPart, Table, TableName, UniqueKey};
use paraply_core::value::Value;
use paraply_core::write_set::{KeyHasher, Options, Row, WriteSetBuilder, key_prefix};

const BYTES: &str = "utf8mb4_0900_bin";
const COLLATIONS: [&str; 11] = [
    BYTES,
    "utf8mb4_bin",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_hu_0900_as_cs",
    "utf8mb4_ja_0900_as_cs_ks",
    "utf8mb4_uca1400_as_ci",
    "utf8mb4_uca1400_nopad_as_cs",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "latin1_swedish_ci",
];
const ASCII: &str = "ascii";
const ACCENTS: &str = "latin with accents";
/// Typical content of unique columns, by script.
const SCRIPTS: [(&str, &[&str]); 8] = [
    (ASCII, &["anna", "Bertil", "cecilia", "David"]),
    (ACCENTS, &["\u{e5}sa", "J\u{f6}rg", "Zo\u{eb}", "Bj\u{f6}rn", "Ren\u{e9}e"]),
    (
        "cyrillic",
        &["\u{430}\u{43d}\u{43d}\u{430}", "\u{411}\u{43e}\u{440}\u{438}\u{441}", "\u{418}\u{432}\u{430}\u{43d}"],
    ),
    ("cjk", &["\u{5f20}\u{4f1f}", "\u{738b}\u{79c0}\u{82f1}", "\u{674e}\u{5a1c}"]),
    ("kana", &["\u{3055}\u{304f}\u{3089}", "\u{30b5}\u{30af}\u{30e9}", "\u{304c}\u{304e}"]),
    ("hangul", &["\u{ae40}\u{bbfc}\u{c900}", "\u{c774}\u{c11c}\u{c5f0}", "\u{bc15}\u{c9c0}"]),
    (
        "thai",
        &[
            "\u{e2a}\u{e21}\u{e0a}\u{e32}\u{e22}",
            "\u{e40}\u{e01}\u{e23}\u{e35}\u{e22}\u{e07}\u{e44}\u{e01}\u{e23}",
            "\u{e41}\u{e01}\u{e49}\u{e27}\u{e43}\u{e08}",
        ],
    ),
    ("emoji", &["\u{1f600}\u{1f680}", "\u{1f44d}", "\u{2764}\u{1f389}"]),
];
/// Rounds of the table.
const ROUNDS: usize = 41;

/// Returns texts of key length: two words and a number.
fn texts(words: &[&str]) -> Vec<String> {
    (0..1000).map(|n| format!("{} {} {n}", words[n % words.len()], words[n / 7 % words.len()])).collect()
}

/// Returns the keys as a collation's column holds them; none where its character set lacks a character.
fn values(script: &str, texts: &[String], collation: &str) -> Option<Vec<Vec<u8>>> {
    if !collation.starts_with("latin1") {
        return Some(texts.iter().map(|text| text.clone().into_bytes()).collect());
    }
    let latin1 = |text: &String| -> Option<Vec<u8>> { text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect() };
    if script == ASCII || script == ACCENTS { texts.iter().map(latin1).collect() } else { None }
}

/// Hashes keys of one text part.
struct Keys<'v> {
    collation: &'static Collation,
    values: &'v [Vec<u8>],
    prefix: Vec<u8>,
    hasher: KeyHasher,
    form: Vec<u8>,
}

impl<'v> Keys<'v> {
    fn new(collation: &str, values: &'v [Vec<u8>]) -> Self {
        Self {
            collation: Collation::by_name(collation).expect("known"),
            values,
            prefix: key_prefix("PRIMARY", &TableName::new("shop", "customers")),
            hasher: KeyHasher::default(),
            form: Vec::new(),
        }
    }

    fn hash(&mut self) {
        for value in self.values {
            self.form.clear();
            self.collation.equality_form(black_box(value), &mut self.form).expect("valid");
            self.hasher.begin(&self.prefix);
            self.hasher.part(&self.form);
            black_box(self.hasher.finish());
        }
    }

    fn time(&mut self) -> Duration {
        let started = Instant::now();
        self.hash();
        started.elapsed()
    }
}

/// Returns the slowdown against bytes, and the seconds of a round: medians of interleaved rounds.
fn compared(collation: &str, values: &[Vec<u8>]) -> (f64, f64) {
    let (mut exact, mut bytes) = (Keys::new(collation, values), Keys::new(BYTES, values));
    let mut rounds: Vec<(f64, f64)> = (0..ROUNDS)
        .map(|_| {
            let (plain, own) = (bytes.time().as_secs_f64(), exact.time().as_secs_f64());
            (own / plain, own)
        })
        .collect();
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    rounds[ROUNDS / 2]
}

fn table() {
    println!("{:<20} {:<20} {:>8} {:>15} {:>14}", "script", "collation", "MB/s", "million keys/s", "times bytes'");
    for (script, words) in SCRIPTS {
        let texts = texts(words);
        for name in COLLATIONS {
            let Some(values) = values(script, &texts, name) else { continue };
            let size: usize = values.iter().map(Vec::len).sum();
            let (ratio, seconds) = compared(name, &values);
            let (rate, keys) = (size as f64 / seconds / 1e6, values.len() as f64 / seconds / 1e6);
            println!("{script:<20} {name:<20} {rate:>8.0} {keys:>15.1} {ratio:>14.2}");
        }
    }
}

fn scripts(c: &mut Criterion) {
    for (script, words) in SCRIPTS {
        let texts = texts(words);
        let mut group = c.benchmark_group(script);
        for name in COLLATIONS {
            let Some(values) = values(script, &texts, name) else { continue };
            group.throughput(Throughput::Bytes(values.iter().map(|value| value.len() as u64).sum()));
            let mut keys = Keys::new(name, &values);
            group.bench_function(name, |b| b.iter(|| keys.hash()));
        }
        group.finish();
    }
}

fn column(name: &str, data_type: &str) -> Column {
    let collation = (data_type == "varchar").then(|| "utf8mb4_0900_ai_ci".into());
    Column {
        name: name.into(),
        data_type: data_type.into(),
        unsigned: false,
        nullable: false,
        collation,
        labels: Vec::new(),
        length: Some(100),
        decimals: None,
        generated: None,
    }
}

/// Measures rows of a table with a primary key and a unique text: inserts of 100 rows a transaction.
fn whole_rows(c: &mut Criterion) {
    let name = TableName::new("shop", "customers");
    let key = |name: &str, column| UniqueKey { name: name.into(), parts: vec![KeyPart::Column(column)] };
    let mut catalog = Catalog::default();
    catalog.put(Table {
        name: name.clone(),
        columns: vec![column("id", "bigint"), column("email", "varchar"), column("note", "varchar")],
        unique_keys: vec![key("PRIMARY", 0), key("email", 1)],
        foreign_keys: Vec::new(),
    });
    let emails = texts(SCRIPTS[0].1);
    let note = "what a row carries beside its keys ".repeat(2);
    let rows: Vec<_> = emails
        .iter()
        .enumerate()
        .map(|(n, email)| {
            [Some(Value::Int(n as i64)), Some(Value::Bytes(email.as_bytes())), Some(Value::Bytes(note.as_bytes()))]
        })
        .collect();
    let bytes: usize = emails.iter().map(|e| 8 + 1 + e.len() + 1 + note.len()).sum();
    let mut group = c.benchmark_group("rows");
    group.throughput(Throughput::Bytes(bytes as u64));
    for bytewise in [true, false] {
        let mut builder = WriteSetBuilder::new(Options { bytewise, ..Options::default() });
        group.bench_function(if bytewise { "bytewise" } else { "exact" }, |b| {
            b.iter(|| {
                for transaction in rows.chunks(100) {
                    let plan = builder.plan(&catalog, &name).expect("known");
                    for row in transaction {
                        builder.add_row(&plan, &Row { before: None, after: Some(row), foreign_key_checks: true });
                    }
                    black_box(builder.finish());
                }
            });
        });
    }
    group.finish();
}

fn hashing(c: &mut Criterion) {
    table();
    scripts(c);
    whole_rows(c);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
    targets = hashing
}
criterion_main!(benches);
