//! Splitting a large transaction's rows into parts that may be applied separately (policy `row`, R21a).

use std::ops::Range;

use paraply_binlog::event::types::TABLE_MAP;
use paraply_binlog::rows::row_walk::{RowsError, count_rows, event_bytes};
use paraply_binlog::rows::table_map::split_table_id;
use paraply_binlog::rows::{RowsHeader, STMT_END, flags_place};
use paraply_binlog::transaction::{RawEvent, Transaction};
use paraply_core::schedule::{Components, spread};
use paraply_core::schema::Catalog;
use paraply_spool::Data;

use crate::block::Block;
use crate::write_sets::{Scratch, transaction_write_set};

/// A row event and the table map that it needs, as indices of the transaction's events; the smallest part of a
/// transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    /// The table map.
    pub(crate) map: usize,
    /// The row event.
    pub(crate) rows: usize,
}

/// Splits a transaction into at most `most` parts, each a block with some of its row events in their order.
///
/// Row events stay in one part if they have a hash in common which at least one of them takes exclusively. There are no
/// parts if that links all of them, or if some of their hashes are not known (rule R13).
///
/// # Errors
///
/// A damaged row event or table map.
pub fn split_rows(
    transaction: &Transaction,
    catalog: &Catalog,
    scratch: &mut Scratch,
    most: usize,
) -> Result<Vec<Block>, RowsError> {
    let units = units(transaction)?;
    if most < 2 || units.len() < 2 {
        return Ok(Vec::new());
    }
    let mut components = Components::default();
    let (mut keyed, mut separate_tables) = (true, false);
    for unit in &units {
        let set = transaction_write_set(&part_of(transaction, &[*unit]), catalog, scratch)?;
        if set.barrier {
            return Ok(Vec::new());
        }
        keyed &= !set.missing_keys;
        separate_tables |= set.separate_tables;
        components.add(&set);
    }
    let groups = components.groups();
    if groups.len() < 2 {
        return Ok(Vec::new());
    }
    let sizes: Vec<_> = units.iter().map(|unit| transaction.events[unit.rows].range.len()).collect();
    let parts = spread(groups, &sizes, most);
    let chosen = |part: Vec<usize>| part.into_iter().map(|index| units[index]).collect::<Vec<_>>();
    let blocks = parts.into_iter().map(|part| {
        let mut part = part_of(transaction, &chosen(part));
        part.rows = count_rows(&part)?;
        Ok(Block::of_part(part, keyed, separate_tables))
    });
    blocks.collect()
}

/// Returns the units of a transaction in order; events without rows are left out.
pub(crate) fn units(transaction: &Transaction) -> Result<Vec<Unit>, RowsError> {
    let mut maps: Vec<(u64, usize)> = Vec::new();
    let mut units = Vec::new();
    for (index, event) in transaction.events.iter().enumerate() {
        let at = |source| RowsError::new(transaction, event, source);
        let bytes = event_bytes(transaction, event).map_err(at)?;
        if event.type_code == TABLE_MAP {
            let (id, _) = split_table_id(bytes, &transaction.format).map_err(at)?;
            maps.retain(|(known, _)| *known != id);
            maps.push((id, index));
        } else {
            let header = RowsHeader::parse(bytes, &transaction.format).map_err(at)?;
            // A row event without a table map is reported by the apply of the whole transaction.
            if let Some((_, map)) = maps.iter().find(|(id, _)| *id == header.table_id) {
                units.push(Unit { map: *map, rows: index });
            }
        }
    }
    Ok(units)
}

/// Returns a transaction of these units; each of them ends a statement, so that none depends on another.
pub(crate) fn part_of(whole: &Transaction, units: &[Unit]) -> Transaction {
    let mut data = Data::default();
    let mut events = Vec::with_capacity(units.len() * 2);
    let mut maps: Vec<(usize, Range<usize>)> = Vec::new();
    for unit in units {
        let map = &whole.events[unit.map];
        let known = maps.iter().find(|(index, _)| *index == unit.map).map(|(_, range)| range.clone());
        let range = known.unwrap_or_else(|| {
            let range = append(&mut data, whole, map);
            maps.push((unit.map, range.clone()));
            range
        });
        events.push(RawEvent { range, ..map.clone() });
        let rows = &whole.events[unit.rows];
        let mut range = append(&mut data, whole, rows);
        let flags = flags_place(rows.type_code, &whole.format);
        data.change(&mut range, |event| {
            if let Some(low) = event.get_mut(flags) {
                *low |= STMT_END as u8;
            }
        });
        events.push(RawEvent { range, ..rows.clone() });
    }
    let bytes = data.len() as u64;
    Transaction { events, data, bytes, ..header_of(whole) }
}

fn append(data: &mut Data, whole: &Transaction, event: &RawEvent) -> Range<usize> {
    data.append(&whole.data[event.range.clone()])
}

/// Returns the transaction without its rows; errors of a part name its position in the log.
pub(crate) fn header_of(whole: &Transaction) -> Transaction {
    Transaction {
        identity: whole.identity.clone(),
        snapshot: None,
        row_settings: whole.row_settings.clone(),
        statements: Vec::new(),
        xid: None,
        events: Vec::new(),
        data: Data::default(),
        format: whole.format.clone(),
        ..*whole
    }
}
