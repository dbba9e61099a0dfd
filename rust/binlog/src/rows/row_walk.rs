//! Rows of whole transactions: finding each row event's table, iterating over the rows, counting them.

use paraply_core::schema::Catalog;

use crate::error::{Fault, LogError};
use crate::event::types::TABLE_MAP;
use crate::rows::image_cursor::UNKNOWN_FRACTION;
use crate::rows::image_cursor::{Decoded, Malformed};
use crate::rows::known_tables::{KnownTable, KnownTables};
use crate::rows::table_map::TableMap;
use crate::rows::{Row, RowBuffer, RowsEvent, RowsHeader};
use crate::transaction::{Format, RawEvent, Transaction};

/// A row event or table map that cannot be decoded: damaged, or with values whose length is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the row event at position {offset} cannot be decoded: {source}")]
pub struct RowsError {
    /// The file, as an index into the reader's list.
    pub file: u32,
    /// The event's offset in the file (of the payload event where it was compressed).
    pub offset: u64,
    /// The error, with the byte of the event.
    pub source: Malformed,
    /// Column, with its table, whose values have a length that is not known.
    column: Option<Box<str>>,
}

impl RowsError {
    /// Creates the error of one of a transaction's events.
    pub fn new(transaction: &Transaction, event: &RawEvent, source: Malformed) -> Self {
        let unknown = source.what == UNKNOWN_FRACTION;
        let column = unknown.then(|| unknown_column(transaction, event)).flatten();
        Self { file: transaction.file, offset: event.offset, source, column }
    }

    /// Returns true if the log is intact, and only the length of a column's values is not known.
    pub fn is_unknown_fraction(&self) -> bool {
        self.source.what == UNKNOWN_FRACTION
    }

    /// Returns the log's error for a file's name.
    pub fn into_log_error(&self, file: &str) -> LogError {
        let fault = match &self.column {
            Some(column) => Fault::not_understood(format!(
                "{column} holds {UNKNOWN_FRACTION}; give the table's definition with --schema, or rebuild the table on the source with \
                 ALTER TABLE ... FORCE and read the log from there on"
            )),
            None => Fault::from(self.source),
        };
        fault.at(file, self.offset)
    }
}

/// Returns the first column of a row event's table whose values have a length that the log does not have, and its
/// table.
fn unknown_column(transaction: &Transaction, event: &RawEvent) -> Option<Box<str>> {
    let id = RowsHeader::parse(event_bytes(transaction, event).ok()?, &transaction.format).ok()?.table_id;
    let maps = transaction.events.iter().filter(|e| e.type_code == TABLE_MAP && e.offset <= event.offset);
    let maps = maps.filter_map(|e| TableMap::parse(event_bytes(transaction, e).ok()?, &transaction.format).ok());
    let map = maps.rev().find(|map| map.table_id == id)?;
    let index = map.unknown_fraction()?;
    let name = map.columns.get(index)?.name.clone();
    let name = name.map_or_else(|| format!("number {}", index + 1), |name| format!("{name:?}"));
    Some(format!("column {name} of {}", map.name).into())
}

/// One row event of a transaction with its table.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Index among the transaction's events.
    pub event: usize,
    /// Index of the table among those that are known.
    pub table: usize,
}

/// Table that each row event of a transaction changes; reused for each transaction.
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

    /// Returns true if rows of the last prepared transaction cannot be decoded, because the length of a column's values
    /// is not known.
    pub fn has_unknown_fractions(&self, known: &KnownTables) -> bool {
        self.unknown_fractions(known).next().is_some()
    }

    /// Iterates over the tables of such rows, once for each of their events.
    pub fn unknown_fractions<'k>(&self, known: &'k KnownTables) -> impl Iterator<Item = &'k KnownTable> {
        let tables = self.steps.iter().filter_map(|step| known.get(step.table));
        tables.filter(|table| table.map.unknown_fraction().is_some())
    }

    /// Returns the row events of the last prepared transaction with their tables, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the number of row events of the last prepared transaction.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if the last prepared transaction has no row event.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns a row event of the transaction, in order, and its table.
    pub fn event<'t, 'k>(
        &self,
        index: usize,
        transaction: &'t Transaction,
        known: &'k KnownTables,
    ) -> Option<(&'t RawEvent, usize, &'k KnownTable)> {
        let step = self.steps.get(index)?;
        Some((transaction.events.get(step.event)?, step.table, known.get(step.table)?))
    }

    /// Counts rows, as [`count_rows`] does, where the length of some column's values is not known.
    fn count_with_unknown(&self, transaction: &Transaction, known: &KnownTables) -> Decoded<u64> {
        let mut rows = 0;
        for step in &self.steps {
            let (Some(event), Some(table)) = (transaction.events.get(step.event), known.get(step.table)) else {
                continue;
            };
            rows += count_event(event_bytes(transaction, event)?, &table.map, &transaction.format)?;
        }
        Ok(rows)
    }

    /// Iterates over the rows, decoding the columns that are hashed; the visitor also gets the index of the row's
    /// event.
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

/// Returns the bytes of a transaction's event.
pub fn event_bytes<'a>(transaction: &'a Transaction, event: &RawEvent) -> Decoded<&'a [u8]> {
    let bytes = transaction.data.get(event.range.clone());
    bytes.ok_or(Malformed { what: "an event outside its transaction's bytes", at: 0 })
}

/// Counts the rows of one event.
///
/// `MariaDB`'s old temporal columns of unknown precision are taken for columns without a fraction. Where the bytes do
/// not fit that, they count as one row: a transaction with rows must never look like one without.
///
/// # Errors
///
/// The event is damaged.
pub fn count_event(bytes: &[u8], map: &TableMap, format: &Format) -> Decoded<u64> {
    if map.unknown_fraction().is_none() {
        return RowsEvent::parse(bytes, map, format)?.count_rows();
    }
    let mut whole = map.clone();
    whole.set_fractions(std::iter::repeat_n(Some(0), map.columns.len()));
    let event = RowsEvent::parse(bytes, &whole, format)?;
    let mut buffer = RowBuffer::default();
    let mut rows = event.rows(&mut buffer, None);
    let mut count = 0;
    while let Some(row) = rows.next_row() {
        if row.is_err() {
            return Ok(1);
        }
        count += 1;
    }
    Ok(count)
}

/// Counts the changed rows of a transaction (an update's two images are one row).
///
/// Rows of `MariaDB`'s tables with old temporal columns are counted as if these had no fraction; where that is
/// impossible, an event counts as one row.
pub fn count_rows(transaction: &Transaction) -> Result<u64, RowsError> {
    let mut known = KnownTables::default();
    let mut plan = RowPlan::default();
    plan.prepare(transaction, &Catalog::default(), &mut known)?;
    if plan.has_unknown_fractions(&known) {
        let counted = plan.count_with_unknown(transaction, &known);
        return counted.map_err(|source| RowsError {
            file: transaction.file,
            offset: transaction.offset,
            source,
            column: None,
        });
    }
    let mut rows = 0;
    plan.walk(transaction, &known, |_, _, _, _| rows += 1)?;
    Ok(rows)
}
