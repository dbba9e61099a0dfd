//! Foreign keys of a block's rows, checked by queries at the block's end instead of row by row.
//!
//! A server that handles foreign keys above its storage engines (MySQL 9.6 and later) opens the parent's table anew for
//! each row of a child, and the children's for changes of a parent: three fifths of the cost of a replay. Rows that
//! change no key that others refer to may be applied unchecked, as long as the keys that they refer to exist at the
//! end, before the commit. That is one query for each parent's key, whatever the number of rows. A change that removes
//! a referenced key is left to the server's own check.

mod links;

use std::collections::BTreeMap;
use std::sync::Arc;

use paraply_binlog::rows::known_tables::{Cascades, KnownTables};
use paraply_binlog::rows::row_walk::{RowPlan, RowsError};
use paraply_binlog::rows::{NO_FOREIGN_KEY_CHECKS, Row};
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::{Catalog, Table};

pub use links::Question;
use links::{Key, Links, TableLinks};

/// Number of keys of parents that are remembered for one block; where there are more, the server checks its rows.
const MOST_KEYS: usize = 1 << 16;
/// Number of rows of tables with foreign keys that justify a query: it takes about as long as the checks of two rows.
const ROWS_A_QUESTION: usize = 4;

/// Result for a block: row events that need no check by the server, if the queries give the expected results at its
/// end.
#[derive(Debug, Clone, Default)]
pub struct Check {
    /// For each transaction, for each of its events: true if it needs no check.
    unchecked: Vec<Vec<bool>>,
    /// Queries to run when all rows are applied.
    pub questions: Vec<Question>,
}

impl Check {
    /// Returns true if the server may omit its own check of a row event, given by the indices of transaction and event.
    pub fn covers(&self, transaction: usize, event: usize) -> bool {
        self.unchecked.get(transaction).and_then(|events| events.get(event)).copied().unwrap_or(false)
    }
}

/// Memory that is reused for each block.
#[derive(Debug, Default)]
pub struct Scratch {
    known: KnownTables,
    plan: RowPlan,
}

/// Finds the keys that the rows of a block refer to; none where queries are not worth their cost.
///
/// The catalog must be the target's own: a foreign key that it lacks is not checked at all.
///
/// # Errors
///
/// A row event is damaged.
pub fn check<'a>(
    transactions: impl Iterator<Item = &'a Transaction>,
    catalog: &Catalog,
    scratch: &mut Scratch,
) -> Result<Option<Check>, RowsError> {
    let mut block = BlockReferences { links: Links::new(catalog), needed: Vec::new(), rows: 0, too_large: false };
    let mut unchecked = Vec::new();
    for transaction in transactions {
        match block.transaction(transaction, catalog, scratch) {
            Ok(events) => unchecked.push(events),
            Err(error) if error.is_unknown_fraction() => return Ok(None),
            Err(error) => return Err(error),
        }
        if block.too_large {
            return Ok(None);
        }
    }
    let needed = block.needed.iter().enumerate();
    let questions: Vec<_> = needed.flat_map(|(parent, keys)| block.links.questions(parent, keys)).collect();
    let worth = block.rows > 0 && block.rows >= ROWS_A_QUESTION * questions.len();
    Ok(worth.then_some(Check { unchecked, questions }))
}

/// Effect of a row on a parent's key.
enum Effect {
    /// The row refers to it.
    Needed,
    /// A row with the key exists from here on.
    Made,
    /// The key is gone, and the server has handled the rows that referred to it.
    Gone,
}

/// Effects of the rows of one event on parents' keys.
#[derive(Default)]
struct EventEffects {
    /// True if the source did not check the event either.
    unchecked_there: bool,
    /// True if the server has to check the event.
    left: bool,
    /// True if the server may cascade to other tables' rows, which the log then does not hold.
    cascades: bool,
    /// Number of rows of tables with foreign keys, or with references to them.
    rows: usize,
    effects: Vec<(Effect, usize, String)>,
}

/// Effects of the block so far.
struct BlockReferences<'c> {
    links: Links<'c>,
    /// For each parent's key, by its text: true where a row needs it, false where the block itself inserted it.
    needed: Vec<BTreeMap<String, bool>>,
    rows: usize,
    /// True if there were too many keys: from then on rows are ignored, and this state is not used.
    too_large: bool,
}

impl BlockReferences<'_> {
    /// Returns for each event of a transaction true if the server may omit its check.
    fn transaction(
        &mut self,
        transaction: &Transaction,
        catalog: &Catalog,
        scratch: &mut Scratch,
    ) -> Result<Vec<bool>, RowsError> {
        scratch.plan.prepare(transaction, catalog, &mut scratch.known)?;
        let mut unchecked = vec![false; transaction.events.len()];
        let mut event: Option<(usize, EventEffects)> = None;
        scratch.plan.walk(transaction, &scratch.known, |step, table, header, row| {
            if event.as_ref().is_none_or(|(at, _)| *at != step.event) {
                let unchecked_there = header.flags & NO_FOREIGN_KEY_CHECKS != 0;
                let cascades = row.before.is_some() && table.cascades != Cascades::Nowhere;
                let next = EventEffects { unchecked_there, left: unchecked_there, cascades, ..EventEffects::default() };
                if let Some((at, effects)) = event.replace((step.event, next)) {
                    unchecked[at] = self.settle(effects);
                }
            }
            if let Some((_, effects)) = &mut event {
                match &table.definition {
                    Ok(definition) => self.row(step.table, definition, row, effects),
                    Err(_) => effects.left = true,
                }
            }
        })?;
        if let Some((at, effects)) = event {
            unchecked[at] = self.settle(effects);
        }
        Ok(unchecked)
    }

    fn row(&mut self, index: usize, table: &Arc<Table>, row: Row<'_, '_>, event: &mut EventEffects) {
        if self.too_large {
            return;
        }
        let links = self.links.of(index, table);
        event.rows += usize::from(links.any());
        event.left |= !links.understood;
        refer(&links, row, event);
        be_referred_to(&links, row, event);
    }

    /// Adds the effects of an event; returns true if the server need not check it.
    fn settle(&mut self, event: EventEffects) -> bool {
        if event.left && event.cascades {
            // Keys that the block inserted may be gone: later rows that need one have it queried.
            self.needed.iter_mut().for_each(|keys| keys.retain(|_, needed| *needed));
        }
        for (effect, parent, key) in event.effects {
            if self.needed.len() <= parent {
                self.needed.resize_with(parent + 1, BTreeMap::new);
            }
            let keys = &mut self.needed[parent];
            match effect {
                Effect::Needed if event.left => {}
                Effect::Needed => {
                    keys.entry(key).or_insert(true);
                }
                Effect::Made => {
                    keys.insert(key, false);
                }
                Effect::Gone => {
                    keys.remove(&key);
                }
            }
        }
        self.too_large |= self.needed.iter().map(BTreeMap::len).sum::<usize>() > MOST_KEYS;
        if !event.left {
            self.rows += event.rows;
        }
        !event.left
    }
}

/// Notes the row as a child: the keys that it refers to from now on must exist.
fn refer(links: &TableLinks, row: Row<'_, '_>, event: &mut EventEffects) {
    if row.after.is_none() || event.unchecked_there {
        return;
    }
    for link in links.refers.iter().filter(|link| link.is_touched(row)) {
        match (link.key(row.before, row.after), link.parent) {
            (Key::Null, _) => {} // MATCH SIMPLE: refers to nothing
            (Key::Text(text), Some(parent)) => event.effects.push((Effect::Needed, parent, text)),
            _ => event.left = true,
        }
    }
}

/// Notes the row as a parent: keys that it gives up, which is left to the server, and keys that it inserts.
fn be_referred_to(links: &TableLinks, row: Row<'_, '_>, event: &mut EventEffects) {
    for link in links.referred.iter().filter(|link| link.is_touched(row)) {
        event.left |= row.before.is_some();
        let Some(parent) = link.parent else { continue };
        if let Key::Text(text) = link.key(row.before, None) {
            event.effects.push((Effect::Gone, parent, text));
        }
        if row.after.is_some()
            && let Key::Text(text) = link.key(row.before, row.after)
        {
            event.effects.push((Effect::Made, parent, text));
        }
    }
}
