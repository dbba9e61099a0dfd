//! Parts of one transaction that may be applied separately (rules R13 and R21a).

#[path = "../../binlog/tests/by_hand/mod.rs"]
mod by_hand;

use paraply_binlog::rows::{RowsHeader, STMT_END};
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::Catalog;
use paraply_plan::block::Block;
use paraply_plan::split::split_rows;
use paraply_plan::write_sets::{Options, Scratch};

use by_hand::{Log, TABLE_MAP, catalog, id_table};

/// Returns one transaction of inserts into tables `5` and `6`, as (table, value); only the last one ends a statement.
fn inserts(rows: &[(u8, u8)]) -> Transaction {
    let mut log = Log::new(true).gtid(1).query("BEGIN").table_map(5, b't').table_map(6, b'u');
    for (index, (table, value)) in rows.iter().enumerate() {
        log = log.insert_of(*table, u16::from(index + 1 == rows.len()), *value);
    }
    let (mut transactions, error) = log.xid().read();
    assert!(error.is_none(), "{error:?}");
    transactions.remove(0)
}

fn split(transaction: &Transaction, catalog: &Catalog, most: usize) -> Vec<Block> {
    split_rows(transaction, catalog, &mut Scratch::new(Options::default()), most).unwrap()
}

/// Returns the values that each part inserts, by table id. Checks that each of its row events ends a statement.
fn values(parts: &[Block]) -> Vec<Vec<(u64, u8)>> {
    let rows = |part: &Block| {
        let transaction = part.first().unwrap();
        let rows = transaction.events.iter().filter(|event| event.type_code != TABLE_MAP);
        rows.map(|event| {
            let bytes = &transaction.data[event.range.clone()];
            let header = RowsHeader::parse(bytes, &transaction.format).unwrap();
            assert_eq!(header.flags & STMT_END, STMT_END);
            (header.table_id, bytes[bytes.len() - 4])
        })
        .collect()
    };
    parts.iter().map(rows).collect()
}

#[test]
fn r21a_rows_of_one_key_stay_in_one_part_and_in_order() {
    let transaction = inserts(&[(5, 1), (5, 2), (5, 1), (6, 1), (5, 2), (5, 3)]);
    let parts = split(&transaction, &catalog(&[id_table("t", true), id_table("u", true)]), 8);
    assert_eq!(values(&parts), [vec![(5, 1), (5, 1)], vec![(5, 2), (5, 2)], vec![(6, 1)], vec![(5, 3)]]);
    assert!(parts.iter().all(|part| part.keyed));
    assert_eq!(parts.iter().map(Block::rows).collect::<Vec<_>>(), [2, 2, 1, 1]);
}

#[test]
fn parts_are_at_most_as_many_as_asked_for_and_each_has_its_table_maps() {
    let transaction = inserts(&[(5, 1), (6, 2), (5, 3), (6, 4), (5, 5)]);
    let parts = split(&transaction, &catalog(&[id_table("t", true), id_table("u", true)]), 2);
    assert_eq!(values(&parts), [vec![(5, 1), (5, 3), (5, 5)], vec![(6, 2), (6, 4)]]);
    let maps = |part: &Block| {
        let transaction = part.first().unwrap();
        let maps = transaction.events.iter().filter(|event| event.type_code == TABLE_MAP);
        maps.map(|event| event.range.clone()).collect::<Vec<_>>()
    };
    assert_eq!(maps(&parts[0]).len(), 3, "each row event stands behind its map");
    assert!(maps(&parts[0]).iter().all(|range| *range == maps(&parts[0])[0]), "and the map's bytes are there once");
    assert!(split(&transaction, &catalog(&[id_table("t", true), id_table("u", true)]), 1).is_empty());
}

#[test]
fn errors_of_a_part_name_the_place_of_the_whole() {
    let transaction = inserts(&[(5, 1), (5, 2)]);
    for part in split(&transaction, &catalog(&[id_table("t", true)]), 2) {
        let part = part.first().unwrap();
        assert_eq!(
            (part.offset, part.file, &part.identity),
            (transaction.offset, transaction.file, &transaction.identity)
        );
        assert_eq!(part.data.len() as u64, part.bytes);
    }
}

#[test]
fn r13_a_table_that_is_not_known_keeps_the_transaction_whole() {
    assert!(split(&inserts(&[(5, 1), (6, 2)]), &catalog(&[id_table("t", true)]), 8).is_empty());
}

#[test]
fn r14_rows_of_a_table_without_a_key_stay_together() {
    let transaction = inserts(&[(5, 1), (5, 2), (6, 7), (5, 3)]);
    let parts = split(&transaction, &catalog(&[id_table("t", false), id_table("u", true)]), 8);
    assert_eq!(values(&parts), [vec![(5, 1), (5, 2), (5, 3)], vec![(6, 7)]]);
    assert!(parts.iter().all(|part| !part.keyed), "such rows are not found by a key");
    assert!(split(&inserts(&[(5, 1), (5, 2)]), &catalog(&[id_table("t", false)]), 8).is_empty());
}

#[test]
fn damaged_rows_are_an_error() {
    let mut transaction = inserts(&[(5, 1), (5, 2)]);
    transaction.events[2].range = 0..usize::MAX;
    let catalog = catalog(&[id_table("t", true)]);
    assert!(split_rows(&transaction, &catalog, &mut Scratch::new(Options::default()), 2).is_err());
}
