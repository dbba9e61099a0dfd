//! Equality forms and hashes in bytes a second, each collation beside plain bytes.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use paraply_core::collation::Collation;
use paraply_core::schema::{Catalog, Column, KeyPart, Table, TableName, UniqueKey};
use paraply_core::value::Value;
use paraply_core::write_set::{KeyHasher, Options, Row, WriteSetBuilder, key_prefix};

/// Texts of key length: what people put into unique columns.
fn texts(words: &[&str]) -> Vec<String> {
    (0..1000)
        .map(|n| format!("{}.{}{n}@{}", words[n % words.len()], words[n / 7 % words.len()], words[n / 3 % words.len()]))
        .collect()
}

fn hash_texts(c: &mut Criterion, group: &str, texts: &[String]) {
    let mut group = c.benchmark_group(group);
    group.throughput(Throughput::Bytes(texts.iter().map(|t| t.len() as u64).sum()));
    let prefix = key_prefix("PRIMARY", &TableName::new("shop", "customers"));
    let collations = [
        "utf8mb4_0900_bin",
        "utf8mb4_bin",
        "utf8mb4_0900_ai_ci",
        "utf8mb4_0900_as_cs",
        "utf8mb4_general_ci",
        "utf8mb4_unicode_ci",
        "latin1_swedish_ci",
    ];
    for name in collations {
        let collation = Collation::by_name(name).expect("known");
        let (mut hasher, mut form) = (KeyHasher::default(), Vec::new());
        group.bench_function(name, |b| {
            b.iter(|| {
                for text in texts {
                    form.clear();
                    collation.equality_form(black_box(text).as_bytes(), &mut form).expect("valid");
                    hasher.begin(&prefix);
                    hasher.part(&form);
                    black_box(hasher.finish());
                }
            });
        });
    }
    group.finish();
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
    }
}

/// Rows of a table with a primary key and a unique text: inserts of 100 rows a transaction.
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
    let emails = texts(&["anna", "Bertil", "cecilia", "David"]);
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
    hash_texts(c, "ascii", &texts(&["anna", "Bertil", "cecilia", "David"]));
    hash_texts(c, "mixed", &texts(&["\u{e5}sa", "J\u{f6}rg", "Zo\u{eb}", "Bj\u{f6}rn"]));
    hash_texts(c, "cjk", &texts(&["\u{5f20}\u{4f1f}", "\u{738b}\u{79c0}\u{82f1}", "\u{674e}\u{5a1c}"]));
    whole_rows(c);
}

criterion_group!(benches, hashing);
criterion_main!(benches);
