//! The rows of whole transactions: finding each row event's table, walking the rows, counting them.

use paraply_core::schema::Catalog;

use crate::error::{Fault, LogError};
use crate::event::types::TABLE_MAP;
use crate::image_cursor::{Decoded, Malformed};
use crate::known_tables::{KnownTable, KnownTables};
use crate::rows::{Row, RowBuffer, RowsEvent, RowsHeader};
use crate::transaction::{RawEvent, Transaction};

/// A damaged row event or table map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the row event at position {offset} is damaged: {source}")]
pub struct RowsError {
    /// The file, as an index into the reader's list.
    pub file: u32,
    /// The event's offset in the file (of the payload event where it was compressed).
    pub offset: u64,
    /// What is wrong, and at which byte of the event.
    pub source: Malformed,
}

impl RowsError {
    /// An error of one of a transaction's events.
    pub fn new(transaction: &Transaction, event: &RawEvent, source: Malformed) -> Self {
        Self { file: transaction.file, offset: event.offset, source }
    }

    /// The log's error, now that the file's name is known.
    pub fn into_log_error(self, file: &str) -> LogError {
        Fault::from(self.source).at(file, self.offset)
    }
}

/// One row event of a transaction with its table.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Its place among the transaction's events.
    pub event: usize,
    /// The table's index among those that are known.
    pub table: usize,
}

/// Which table each row event of a transaction changes; used again for each transaction.
#[derive(Debug, Default)]
pub struct RowPlan {
    steps: Vec<Step>,
    /// Table ids of the transaction so far; a transaction rarely has more than a few.
    ids: Vec<(u64, usize)>,
}

impl RowPlan {
    /// Finds the tables of a transaction's row events.
    pub fn prepare(
        &mut self,
        transaction: &Transaction,
        catalog: &Catalog,
        known: &mut KnownTables,
    ) -> Result<(), RowsError> {
        known.begin(catalog);
        self.steps.clear();
        self.ids.clear();
        for (index, event) in transaction.events.iter().enumerate() {
            self.add(index, transaction, catalog, known)
                .map_err(|source| RowsError::new(transaction, event, source))?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        index: usize,
        transaction: &Transaction,
        catalog: &Catalog,
        known: &mut KnownTables,
    ) -> Decoded<()> {
        let Some(event) = transaction.events.get(index) else { return Ok(()) };
        let bytes = event_bytes(transaction, event)?;
        if event.type_code == TABLE_MAP {
            let (id, table) = known.find(bytes, &transaction.format, catalog, transaction.server_id)?;
            match self.ids.iter_mut().find(|(known_id, _)| *known_id == id) {
                Some(entry) => entry.1 = table,
                None => self.ids.push((id, table)),
            }
        } else {
            let header = RowsHeader::parse(bytes, &transaction.format)?;
            if header.is_dummy() {
                return Ok(());
            }
            let table = self.ids.iter().find(|(id, _)| *id == header.table_id).map(|(_, table)| *table);
            let missing = Malformed { what: "rows of a table that no table map in the transaction names", at: 19 };
            self.steps.push(Step { event: index, table: table.ok_or(missing)? });
        }
        Ok(())
    }

    /// Row events that the last prepared transaction has.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// A row event of the transaction, in order, and its table.
    pub fn event<'t, 'k>(
        &self,
        index: usize,
        transaction: &'t Transaction,
        known: &'k KnownTables,
    ) -> Option<(&'t RawEvent, usize, &'k KnownTable)> {
        let step = self.steps.get(index)?;
        Some((transaction.events.get(step.event)?, step.table, known.get(step.table)?))
    }

    /// Walks the rows, decoding the columns that are hashed; the visitor also gets where a row stands.
    pub fn walk<'a>(
        &self,
        transaction: &'a Transaction,
        known: &'a KnownTables,
        mut visit: impl FnMut(Step, &'a KnownTable, &RowsHeader<'a>, Row<'a, '_>),
    ) -> Result<(), RowsError> {
        let mut buffer = RowBuffer::default();
        for step in &self.steps {
            let (Some(event), Some(table)) = (transaction.events.get(step.event), known.get(step.table)) else {
                continue;
            };
            visit_event(transaction, event, table, &mut buffer, |header, row| visit(*step, table, header, row))
                .map_err(|source| RowsError::new(transaction, event, source))?;
        }
        Ok(())
    }
}

fn visit_event<'a>(
    transaction: &'a Transaction,
    event: &RawEvent,
    table: &'a KnownTable,
    buffer: &mut RowBuffer<'a>,
    mut visit: impl FnMut(&RowsHeader<'a>, Row<'a, '_>),
) -> Decoded<()> {
    let event = RowsEvent::parse(event_bytes(transaction, event)?, &table.map, &transaction.format)?;
    let mut rows = event.rows(buffer, Some(&table.hashed));
    while let Some(row) = rows.next_row() {
        visit(&event.header, row?);
    }
    Ok(())
}

/// The bytes of a transaction's event.
pub fn event_bytes<'a>(transaction: &'a Transaction, event: &RawEvent) -> Decoded<&'a [u8]> {
    let bytes = transaction.data.get(event.range.clone());
    bytes.ok_or(Malformed { what: "an event outside its transaction's bytes", at: 0 })
}

/// Counts the changed rows of a transaction (an update's two images are one row).
pub fn count_rows(transaction: &Transaction) -> Result<u64, RowsError> {
    let mut known = KnownTables::default();
    let mut plan = RowPlan::default();
    plan.prepare(transaction, &Catalog::default(), &mut known)?;
    let mut rows = 0;
    plan.walk(transaction, &known, |_, _, _, _| rows += 1)?;
    Ok(rows)
}
