//! Write sets of real logs, compared with those of real servers.

#[path = "../../binlog/tests/common/mod.rs"]
mod common;
#[path = "../../binlog/tests/common/shop.rs"]
mod shop;

use std::collections::HashMap;
use std::path::Path;

use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::{Kind, Transaction};
use paraply_core::schema::{Catalog, TableName};
use paraply_core::write_set::{Fallbacks, Reason, WriteSet};
use paraply_plan::write_sets::{Options, Scheme, Scratch, transaction_write_set};

fn read(path: &Path) -> Vec<Transaction> {
    let mut log = LogReader::open(&[path.to_owned()], ReaderOptions::default()).expect("the log opens");
    std::iter::from_fn(|| log.next_transaction()).map(|t| t.expect("the transaction is read")).collect()
}

fn hash(transactions: &[Transaction], catalog: &Catalog, options: Options) -> (Vec<WriteSet>, Fallbacks) {
    let mut scratch = Scratch::new(options);
    let sets = transactions.iter().map(|t| transaction_write_set(t, catalog, &mut scratch).expect("sound rows"));
    (sets.collect(), scratch.take_fallbacks())
}

/// Returns the number of transactions that a certifier without collections (rules R1, R3, R5, R6) stamps differently
/// from the server.
fn different(transactions: &[Transaction], sets: &[WriteSet]) -> usize {
    let (mut global, mut next) = (1_i64, 2_i64);
    let mut stored: HashMap<u64, i64> = HashMap::new();
    let mut different = 0;
    for (place, (transaction, set)) in transactions.iter().zip(sets).enumerate() {
        if transaction.kind == Kind::ViewChange {
            continue;
        }
        let number = next;
        next += 1;
        let mut last = global;
        if set.barrier {
            last = number - 1;
            global = number;
        } else {
            for item in &set.exclusive {
                last = last.max(stored.insert(*item, number).unwrap_or_default());
            }
        }
        let stamped = (transaction.last_committed, transaction.sequence_number);
        let is_first = place == 0 && stamped == (Some(0), Some(0));
        different += usize::from(!is_first && stamped != (Some(last), Some(number)));
    }
    different
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn r11_r12_the_groups_own_numbers_come_out() {
    let truth = common::truth();
    let transactions = read(&truth.join("group-multi-primary/member3.relay"));
    let options = Options { scheme: Scheme::Group, ..Options::default() };
    let (sets, fallbacks) = hash(&transactions, &shop::catalog(), options);
    assert_eq!(fallbacks.sorted(), []);
    assert_eq!((transactions.len(), different(&transactions, &sets)), (6856, 0));
    let (sets, _) = hash(&transactions, &shop::catalog(), Options { bytewise: true, ..options });
    assert_eq!(different(&transactions, &sets), 46, "without collations the test must see the difference");
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn r13_full_knowledge_needs_no_barrier() {
    let truth = common::truth();
    for log in
        ["mysql-binlog/eight-sessions.binlog", "mysql-binlog/compressed.binlog", "mysql-binlog/partial-json.binlog"]
    {
        let transactions = read(&truth.join(log));
        let (sets, fallbacks) = hash(&transactions, &shop::catalog(), Options::default());
        assert_eq!(fallbacks.sorted(), [], "{log}");
        for (transaction, set) in transactions.iter().zip(&sets) {
            assert_eq!(set.barrier, transaction.kind != Kind::Dml);
            assert_ne!(set.exclusive.is_empty(), transaction.kind == Kind::Dml);
        }
    }
}

#[test]
#[ignore = "reads logs of real servers: PARAPLY_TRUTH"]
fn r13_unknown_and_other_definitions_make_barriers_with_a_reason() {
    let truth = common::truth();
    let transactions = read(&truth.join("mysql-binlog/single-session.binlog"));
    let mut catalog = shop::catalog();
    catalog.remove(&TableName::new("shop", "tag"));
    let counter = TableName::new("shop", "counter");
    let mut other = catalog.get(&counter).expect("counter").as_ref().clone();
    other.columns[1].name = "other".to_owned();
    catalog.put(other);
    let (sets, fallbacks) = hash(&transactions, &catalog, Options::default());
    let reasons: Vec<_> = fallbacks.sorted().iter().map(|(reason, table, _)| (*reason, table.table.clone())).collect();
    assert_eq!(reasons, [(Reason::OtherDefinition, "counter".to_owned()), (Reason::UnknownTable, "tag".to_owned())]);
    let barriers = sets.iter().zip(&transactions).filter(|(set, t)| set.barrier && t.kind == Kind::Dml).count();
    assert!(barriers > 500 && barriers < 2000, "{barriers}");
}
