//! Early rows: rows of a block that need not wait for what others of it wait for (rule R21: C3 within C4).

#[path = "../../binlog/tests/by_hand/mod.rs"]
mod by_hand;

use std::sync::Arc;

use paraply_binlog::transaction::Transaction;
use paraply_core::schema::Catalog;
use paraply_plan::block::Block;
use paraply_plan::planner::{BlockLimits, Passed, Planner};
use paraply_plan::write_sets::{Options, batch_write_sets};

use by_hand::{Log, TABLE_MAP, catalog, id_table};
use proptest::prelude::*;

const MERGE: usize = 6;

/// Returns transactions that each insert these values, one row event for each.
fn log(transactions: &[Vec<u8>]) -> Arc<Vec<Transaction>> {
    let mut log = Log::new(true);
    for (number, values) in transactions.iter().enumerate() {
        log = log.gtid(number as u64 + 1).query("BEGIN").table_map(5, b't');
        for (index, value) in values.iter().enumerate() {
            log = log.insert_of(5, u16::from(index + 1 == values.len()), *value);
        }
        log = log.xid();
    }
    let (transactions, error) = log.read();
    assert!(error.is_none(), "{error:?}");
    Arc::new(transactions)
}

fn plan(batch: &Arc<Vec<Transaction>>, catalog: &Catalog, early_rows: bool, committed: u64) -> Vec<Block> {
    let options = Options { by_event: early_rows, ..Options::default() };
    let (sets, _) = batch_write_sets(batch, catalog, &options).unwrap();
    let limits = BlockLimits { transactions: MERGE, bytes: u64::MAX };
    Planner::new(Passed::default()).early_rows(early_rows).plan(batch, &sets, limits, committed)
}

/// Returns the values that a block inserts, in the order of the early rows: (step, value) in the order of the log.
fn rows(block: &Block) -> Vec<(usize, u8)> {
    let mut windows = Vec::new();
    let mut after = None;
    for start in block.steps() {
        windows.push(block.step(after, *start));
        after = Some(*start);
    }
    if windows.is_empty() {
        windows.push(block.clone());
    }
    let mut found = Vec::new();
    for (place, transaction) in block.transactions().enumerate() {
        for (index, event) in transaction.events.iter().enumerate().filter(|(_, event)| event.type_code != TABLE_MAP) {
            let steps: Vec<_> = (0..windows.len()).filter(|step| windows[*step].wants(place, index)).collect();
            assert_eq!(steps.len(), 1, "each row goes in once");
            let bytes = &transaction.data[event.range.clone()];
            found.push((steps[0], bytes[bytes.len() - 4]));
        }
    }
    found
}

#[test]
fn r21_only_rows_that_an_older_block_touched_wait_for_it() {
    let mut transactions: Vec<Vec<u8>> = (0..6).map(|n| vec![n * 4, n * 4 + 1, n * 4 + 2, n * 4 + 3]).collect();
    // Each transaction of the second block has one row that the first block touched.
    transactions.extend((0..6).map(|n| vec![100 + n * 4, n * 4, 102 + n * 4, 103 + n * 4]));
    let blocks = plan(&log(&transactions), &catalog(&[id_table("t", true)]), true, 0);
    assert_eq!(blocks.len(), 2);
    assert_eq!((blocks[0].steps(), blocks[1].steps()), (&[][..], &[0, 1][..]));
    assert_eq!(blocks[1].needs.blocks, [1]);
    let late: Vec<u8> = rows(&blocks[1]).into_iter().filter(|(step, _)| *step == 1).map(|(_, value)| value).collect();
    assert_eq!(late, [0, 4, 8, 12, 16, 20]);
    assert!(blocks[1].split().iter().all(|single| single.steps().is_empty() && single.wants(0, 1)));
}

#[test]
fn r14_rows_without_a_key_and_small_blocks_go_in_at_once() {
    let transactions: Vec<Vec<u8>> = (0..12).map(|n| vec![n, 50 + n, 100 + n, 150 + n]).collect();
    assert!(
        plan(&log(&transactions), &catalog(&[id_table("t", false)]), true, 0)
            .iter()
            .all(|block| block.steps().is_empty())
    );
    let small: Vec<Vec<u8>> = (0..12).map(|n| vec![n % 6, 100 + n]).collect();
    assert!(plan(&log(&small), &catalog(&[id_table("t", true)]), true, 0).iter().all(|block| block.steps().is_empty()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn r21_rows_of_one_key_go_in_in_their_order(
        transactions in prop::collection::vec(prop::collection::vec(0_u8..60, 1..9), 1..60),
        committed in 0_u64..3,
    ) {
        let (batch, catalog) = (log(&transactions), catalog(&[id_table("t", true)]));
        let blocks = plan(&batch, &catalog, true, committed);
        let plain = plan(&batch, &catalog, false, committed);
        prop_assert_eq!(blocks.len(), plain.len());
        for (block, plain) in blocks.iter().zip(&plain) {
            prop_assert_eq!(&block.needs, &plain.needs);
            prop_assert!(block.steps().is_sorted() && block.steps().iter().all(|start| *start < block.id));
            if let Some(last) = block.steps().last() {
                prop_assert_eq!(Some(last), block.needs.blocks.last());
            }
        }
        // For each row the block that has to be committed before, and for rows that are applied together the log's
        // order.
        let mut touched: Vec<(u64, u64, u8)> = Vec::new();
        for block in &blocks {
            let needed = block.needs.blocks.last().copied().unwrap_or(0);
            for (step, value) in rows(block) {
                let start = block.steps().get(step).copied().unwrap_or(needed);
                for (older, begun, _) in touched.iter().filter(|(_, _, other)| *other == value) {
                    let in_order = if *older == block.id { *begun <= start } else { *older <= start.max(committed) };
                    prop_assert!(in_order, "value {value} of block {older} before block {}", block.id);
                }
                touched.push((block.id, start, value));
            }
        }
    }
}
