//! The end of a current row version in MariaDB's system-versioned tables, which changed its value in 11.5 (rule R36).
//!
//! Up to 11.4 it is 2038-01-19 03:14:07.999999 UTC, from 11.5 on 2106-02-07 06:28:15.999999 UTC. A server's own applier
//! converts the rows of an older source, but not those of `BINLOG` statements, and an older server does not know the
//! newer value: all rows would become history. So the value is exchanged in the images before they are sent, in both
//! directions.
//!
//! Other values of `TIMESTAMP` may lie after 2038 from 11.5 on. An older server does not refuse them in rows. It does
//! not find them again by an index (seen on 10.5) or fails without a reason (10.11), so they are refused here.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use paraply_binlog::rows::RowsEvent;
use paraply_binlog::rows::image_cursor::Decoded;
use paraply_binlog::rows::layout::Layout;
use paraply_binlog::rows::table_map::TableMap;
use paraply_binlog::transaction::Format;

/// The first version with the later end.
const LATER_SINCE: (u8, u8, u8) = (11, 5, 0);
/// `TIMESTAMP(6)` as row images hold it: seconds and microseconds, the most significant byte first.
const EARLIER: [u8; 7] = [0x7f, 0xff, 0xff, 0xff, 0x0f, 0x42, 0x3f];
const LATER: [u8; 7] = [0xff, 0xff, 0xff, 0xff, 0x0f, 0x42, 0x3f];
/// The codes of `TIMESTAMP` in a table map: as servers before 10.1.2 wrote it, and with fractions.
const TIMESTAMP: u8 = 7;
const TIMESTAMP2: u8 = 17;
/// The first bit of the seconds: they lie after 2038.
const LATE: u8 = 0x80;

/// Column of each of the target's system-versioned tables that is the end of a row version.
#[derive(Debug)]
pub struct RowEnds {
    later: bool,
    tables: RwLock<HashMap<u64, Noted>>,
}

/// Facts about a table that its map does not hold.
#[derive(Debug, Clone, Default)]
struct Noted {
    /// The end of a row version.
    column: Option<usize>,
    /// The digits of a second of each column, which the log lacks for old temporal columns.
    fractions: Vec<Option<u8>>,
}

impl RowEnds {
    /// Creates an empty collection. `later` is true for a target of MariaDB 11.5 or newer.
    pub fn new(later: bool) -> Self {
        Self { later, tables: RwLock::default() }
    }

    /// Notes the column of a table, given by its table map's fingerprint; none for a table without versions. `fractions` are the digits
    /// of a second of its columns, where they have any.
    pub fn note(&self, fingerprint: u64, column: Option<usize>, fractions: Vec<Option<u8>>) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.insert(fingerprint, Noted { column, fractions });
    }

    /// Returns the conversion that rows of a table need; none where the log's value is the target's.
    pub(super) fn conversion(&self, map: &[u8], format: &Format) -> Decoded<Option<Conversion>> {
        if !format.mariadb || (format.version >= LATER_SINCE) == self.later {
            return Ok(None);
        }
        let mut map = TableMap::parse(map, format)?;
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let noted = tables.get(&map.fingerprint()).cloned().unwrap_or_default();
        drop(tables);
        map.set_fractions(noted.fractions.into_iter());
        let column = noted.column;
        let is_time = |column: &usize| {
            map.columns.get(*column).is_some_and(|column| (column.type_code, column.metadata) == (TIMESTAMP2, 6))
        };
        let column = column.filter(is_time);
        let has_times = map.columns.iter().any(|column| matches!(column.type_code, TIMESTAMP | TIMESTAMP2));
        Ok((column.is_some() || (!self.later && has_times)).then_some(Conversion { map, column, later: self.later }))
    }
}

/// Reason why rows have no form that the target takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unconverted {
    /// The rows are damaged.
    Malformed,
    /// A time lies after 2038, and the target's times end there.
    TooLate,
}

/// Exchanges the end of current rows in the row events of one table.
#[derive(Debug)]
pub(super) struct Conversion {
    map: TableMap,
    /// The end of a row version.
    column: Option<usize>,
    /// True if the target's times end in 2106.
    later: bool,
}

impl Conversion {
    /// Returns the event with the target's value.
    pub(super) fn convert(&self, event: &[u8], format: &Format) -> Result<Vec<u8>, Unconverted> {
        let rows = RowsEvent::parse(event, &self.map, format).map_err(|_| Unconverted::Malformed)?;
        let (from, to) = if self.later { (EARLIER, LATER) } else { (LATER, EARLIER) };
        let (mut converted, mut too_late) = (event.to_vec(), false);
        let exchange = |column, at| {
            let value = converted.get_mut(at..at + from.len()).filter(|value| **value == from);
            match value.filter(|_| Some(column) == self.column) {
                Some(value) => value.copy_from_slice(&to),
                None => too_late |= !self.later && self.is_late(column, event.get(at..at + 4).unwrap_or_default()),
            }
        };
        rows.visit_values(exchange).map_err(|_| Unconverted::Malformed)?;
        if too_late { Err(Unconverted::TooLate) } else { Ok(converted) }
    }

    /// Returns true if the seconds of a value lie after 2038.
    fn is_late(&self, column: usize, seconds: &[u8]) -> bool {
        let Some(column) = self.map.columns.get(column) else { return false };
        let most_significant = match (column.type_code, column.layout) {
            (TIMESTAMP, Layout::OldTimestamp) => seconds.last(),
            (TIMESTAMP | TIMESTAMP2, _) => seconds.first(),
            _ => None,
        };
        most_significant.is_some_and(|byte| byte & LATE != 0)
    }
}
