//! The end of a current row version in MariaDB's system-versioned tables, which changed its value in 11.5 (rule R36).
//!
//! Up to 11.4 it is 2038-01-19 03:14:07.999999 UTC, from 11.5 on 2106-02-07 06:28:15.999999 UTC. A server's own applier converts the
//! rows of an older source, but not those of `BINLOG` statements, and an older server does not know the newer value: all rows would
//! become history. So the value is exchanged in the images before they go over, in both directions.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use paraply_binlog::image_cursor::Decoded;
use paraply_binlog::rows::RowsEvent;
use paraply_binlog::table_map::TableMap;
use paraply_binlog::transaction::Format;

/// The first version with the later end.
const LATER_SINCE: (u8, u8, u8) = (11, 5, 0);
/// `TIMESTAMP(6)` as row images hold it: seconds and microseconds, the most significant byte first.
const EARLIER: [u8; 7] = [0x7f, 0xff, 0xff, 0xff, 0x0f, 0x42, 0x3f];
const LATER: [u8; 7] = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x42, 0x3f];
/// The code of `TIMESTAMP` with fractions in a table map.
const TIMESTAMP2: u8 = 17;

/// Which column of each of the target's system-versioned tables is the end of a row version.
#[derive(Debug)]
pub struct RowEnds {
    later: bool,
    columns: RwLock<HashMap<u64, usize>>,
}

impl RowEnds {
    /// None are known. `later` says whether the target is a MariaDB of 11.5 or newer.
    pub fn new(later: bool) -> Self {
        Self { later, columns: RwLock::default() }
    }

    /// Notes the column of a table, given by its table map's fingerprint; none for a table without versions.
    pub fn note(&self, fingerprint: u64, column: Option<usize>) {
        let mut columns = self.columns.write().unwrap_or_else(PoisonError::into_inner);
        match column {
            Some(column) => columns.insert(fingerprint, column),
            None => columns.remove(&fingerprint),
        };
    }

    /// The conversion that rows of a table need; none where the log's value is the target's.
    pub(super) fn conversion(&self, map: &[u8], format: &Format) -> Decoded<Option<Conversion>> {
        if !format.mariadb || (format.version >= LATER_SINCE) == self.later {
            return Ok(None);
        }
        let map = TableMap::parse(map, format)?;
        let columns = self.columns.read().unwrap_or_else(PoisonError::into_inner);
        let column = columns.get(&map.fingerprint()).copied();
        let is_time = |column: &usize| {
            map.columns.get(*column).is_some_and(|column| (column.type_code, column.metadata) == (TIMESTAMP2, 6))
        };
        let (from, to) = if self.later { (EARLIER, LATER) } else { (LATER, EARLIER) };
        Ok(column.filter(is_time).map(|column| Conversion { map, column, from, to }))
    }
}

/// Exchanges the end of current rows in the row events of one table.
#[derive(Debug)]
pub(super) struct Conversion {
    map: TableMap,
    column: usize,
    from: [u8; 7],
    to: [u8; 7],
}

impl Conversion {
    /// The event with the target's value.
    pub(super) fn convert(&self, event: &[u8], format: &Format) -> Decoded<Vec<u8>> {
        let mut converted = event.to_vec();
        RowsEvent::parse(event, &self.map, format)?.visit_column(self.column, |at| {
            if let Some(value) = converted.get_mut(at..at + self.from.len()).filter(|value| **value == self.from) {
                value.copy_from_slice(&self.to);
            }
        })?;
        Ok(converted)
    }
}
