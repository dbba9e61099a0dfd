//! Row changes of a block as sets: one statement for many rows of a table.
//!
//! A block is one transaction in the target, so its changes may be sent in another order as long as each row, and each
//! value of a unique key, sees its changes in the log's order. [`SetWriter`] puts a change into the first set of its kind
//! that stands after every change of the same keys. What no set can hold stays a statement of its own.

mod columns;
mod keys;
mod statement;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use paraply_core::schema::TableName;
use paraply_core::value::Value;

use self::columns::OpenSet;
use self::keys::KeyHasher;
use self::statement::{SetKind, Shape};
use super::conditions::usable_key;
use super::error::RenderError;
use super::mapping::TableMapping;
use super::render::{Change, Image, Limits, Statement, StatementWriter, check_count, missing, written_columns};
use super::renderer::Renderer;

/// Consecutive statements of a block.
#[derive(Debug)]
enum Piece {
    Set(Box<OpenSet>),
    Rows(StatementWriter),
}

/// Turns row changes, pushed in the log's order, into sets.
#[derive(Debug)]
pub struct SetWriter<'r> {
    renderer: &'r Renderer,
    limits: Limits,
    in_order: HashSet<TableName>,
    pieces: Vec<Piece>,
    open: HashMap<Shape, Vec<usize>>,
    tables: HashMap<TableName, TableState>,
    places: HashMap<u64, usize>,
    hasher: KeyHasher,
}

/// The number of a table, and the place from which on its rows may be changed.
#[derive(Debug, Clone, Copy)]
struct TableState {
    number: usize,
    /// Number of pieces that must stand before the next change of any row.
    floor: usize,
}

impl<'r> SetWriter<'r> {
    /// Creates a writer.
    pub fn new(renderer: &'r Renderer, limits: Limits) -> Self {
        Self {
            renderer,
            limits,
            in_order: renderer.tables_in_order(),
            pieces: Vec::new(),
            open: HashMap::new(),
            tables: HashMap::new(),
            places: HashMap::new(),
            hasher: KeyHasher::default(),
        }
    }

    /// Adds one row's change.
    pub fn push(&mut self, table: &Arc<TableMapping>, change: Change<'_, '_>) -> Result<(), RenderError> {
        let state = self.table(table);
        if table.has_no_key() && !table.is_alone && self.push_whole(table, state, change)? {
            return Ok(());
        }
        if table.is_alone || !has_known_keys(table, change) || self.in_order.contains(&table.source) {
            let place = self.push_row(table, change)?;
            self.tables.entry(table.source.clone()).and_modify(|state| state.floor = place + 1);
            return Ok(());
        }
        self.hasher.touched(state.number, table, change);
        let touched = self.hasher.take();
        let earliest = touched.iter().filter_map(|key| self.places.get(key)).map(|place| place + 1).max();
        let earliest = earliest.unwrap_or_default().max(state.floor);
        let place = match shape_of(state.number, table, change)? {
            Some(shape) => self.push_into_set(table, shape, change, earliest)?,
            None => self.push_row(table, change)?,
        };
        for key in &touched {
            self.places.insert(*key, place);
        }
        self.hasher.give_back(touched);
        Ok(())
    }

    /// Returns the statements in order.
    pub fn finish(self) -> Vec<Statement> {
        let mut done = Vec::with_capacity(self.pieces.len());
        for piece in self.pieces {
            match piece {
                Piece::Set(set) => done.extend(set.statements(self.renderer)),
                Piece::Rows(writer) => done.extend(writer.finish()),
            }
        }
        done
    }

    /// Adds a change of a table without a key to a set; returns false if it must be a statement of its own.
    ///
    /// Rows with equal values are the same to everybody. So a row may be taken away in any order with other such rows, once
    /// as many have been put there as the log's order has put there.
    fn push_whole(
        &mut self,
        table: &Arc<TableMapping>,
        state: TableState,
        change: Change<'_, '_>,
    ) -> Result<bool, RenderError> {
        if self.in_order.contains(&table.source) {
            return Ok(false);
        }
        let (taken, put) = match change {
            Change::Insert(after) => (None, Some(self.hasher.row(state.number, table, after, &[]))),
            Change::Delete(before) => (Some(self.hasher.row(state.number, table, before, &[])), None),
            Change::Update { before, after } => (
                Some(self.hasher.row(state.number, table, before, &[])),
                Some(self.hasher.row(state.number, table, after, before)),
            ),
        };
        if taken == Some(None) || put == Some(None) {
            return Ok(false);
        }
        let Some(shape) = shape_of(state.number, table, change)? else { return Ok(false) };
        let earliest = taken.flatten().and_then(|row| self.places.get(&row)).map_or(0, |place| place + 1);
        let place = self.push_into_set(table, shape, change, earliest.max(state.floor))?;
        if let Some(row) = put.flatten() {
            self.places.entry(row).and_modify(|last| *last = place.max(*last)).or_insert(place);
        }
        Ok(true)
    }

    fn table(&mut self, table: &TableMapping) -> TableState {
        if let Some(state) = self.tables.get(&table.source) {
            return *state;
        }
        let state = TableState { number: self.tables.len(), floor: 0 };
        self.tables.insert(table.source.clone(), state);
        state
    }

    /// Adds a change to the last piece as a statement of its own; returns the piece.
    fn push_row(&mut self, table: &Arc<TableMapping>, change: Change<'_, '_>) -> Result<usize, RenderError> {
        if !matches!(self.pieces.last(), Some(Piece::Rows(_))) {
            self.pieces.push(Piece::Rows(StatementWriter::new(self.limits)));
        }
        let place = self.pieces.len() - 1;
        if let Some(Piece::Rows(writer)) = self.pieces.last_mut() {
            writer.push(table, change)?;
        }
        Ok(place)
    }

    /// Adds a change to the first set of its shape from a piece on; returns the piece.
    fn push_into_set(
        &mut self,
        table: &Arc<TableMapping>,
        shape: Shape,
        change: Change<'_, '_>,
        earliest: usize,
    ) -> Result<usize, RenderError> {
        let open = self.open.entry(shape.clone()).or_default();
        let index = open.partition_point(|&place| place < earliest);
        let place = open.get(index).copied().unwrap_or_else(|| {
            self.pieces.push(Piece::Set(Box::new(OpenSet::new(table, shape))));
            open.push(self.pieces.len() - 1);
            self.pieces.len() - 1
        });
        if let Some(Piece::Set(set)) = self.pieces.get_mut(place) {
            set.push(table, change)?;
            if set.is_full(self.limits) {
                open.remove(index);
            }
        }
        Ok(place)
    }
}

/// Returns true if the row is found by the table's best key, and the log has its values.
fn has_known_keys(table: &TableMapping, change: Change<'_, '_>) -> bool {
    let best = table.keys.first().map(Vec::as_slice);
    let is_found = |image| best.is_some() && usable_key(table, image) == best;
    match change {
        Change::Insert(after) => is_found(after),
        Change::Delete(before) | Change::Update { before, .. } => is_found(before),
    }
}

/// Returns the shape of the set that a change fits; none for a change that must be a statement of its own.
fn shape_of(number: usize, table: &TableMapping, change: Change<'_, '_>) -> Result<Option<Shape>, RenderError> {
    if table.columns.iter().any(|column| column.free_type().is_none()) {
        return Ok(None);
    }
    let key = table.keys.first().map(Vec::as_slice).unwrap_or_default();
    let (kind, written) = match change {
        Change::Insert(after) => {
            check_count(table, after)?;
            let lacking = table.columns.iter().zip(after).find(|(_, value)| value.is_none());
            if let Some((column, _)) = lacking {
                return Err(missing(table, column));
            }
            (SetKind::Insert, (0..table.columns.len()).collect())
        }
        Change::Delete(before) => {
            check_count(table, before)?;
            (SetKind::Delete, Vec::new())
        }
        Change::Update { before, after } => {
            check_count(table, before)?;
            check_count(table, after)?;
            if holds_differences(after) {
                return Ok(None);
            }
            (SetKind::Update, written_columns(key, before, after))
        }
    };
    let writes = kind == SetKind::Delete || !written.is_empty();
    Ok(writes.then_some(Shape { table: number, kind, written }))
}

/// Returns true if a document is only known by how it changed.
fn holds_differences(after: Image<'_, '_>) -> bool {
    after.iter().any(|value| matches!(value, Some(Value::JsonDiff(_))))
}

#[cfg(test)]
mod tests;
