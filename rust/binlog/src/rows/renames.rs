//! Other names for the tables of a log.

use std::collections::{HashMap, HashSet};

use paraply_core::schema::TableName;

use crate::error::{Fault, LogError};
use crate::event::types::TABLE_MAP;
use crate::rows::image_cursor::{Decoded, Malformed};
use crate::rows::table_map::{name_of, split_table_id};
use crate::transaction::{Format, Transaction};

/// Position of an event's size in its header.
const SIZE_AT: std::ops::Range<usize> = 9..13;
/// Bytes of a table map's flags, which stand before the names.
const FLAGS_SIZE: usize = 2;

/// Databases and tables whose changes are applied under other names.
///
/// The name of a table goes before that of its database. Names are compared as they are in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableRenames {
    databases: HashMap<String, String>,
    tables: HashMap<TableName, TableName>,
    new_databases: HashSet<String>,
    new_tables: HashSet<TableName>,
}

/// The reason why a table has no name of its own on the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken(pub TableName);

impl TableRenames {
    /// Makes the renames from pairs of the log's name and the target's.
    pub fn new(databases: HashMap<String, String>, tables: HashMap<TableName, TableName>) -> Self {
        let (new_databases, new_tables) = (databases.values().cloned().collect(), tables.values().cloned().collect());
        Self { databases, tables, new_databases, new_tables }
    }

    /// Returns true if every table keeps its name.
    pub fn is_empty(&self) -> bool {
        self.databases.is_empty() && self.tables.is_empty()
    }

    /// Returns the target's name of a table, or none if it is the log's.
    ///
    /// # Errors
    /// Another table of the log may have this name on the target.
    pub fn new_name(&self, name: &TableName) -> Result<Option<TableName>, Taken> {
        if let Some(found) = self.tables.get(name) {
            return Ok(Some(found.clone()));
        }
        let renamed = self.databases.get(&name.database);
        let database = renamed.unwrap_or(&name.database);
        let new = TableName { database: database.clone(), table: name.table.clone() };
        let is_taken = self.new_tables.contains(&new) || (renamed.is_none() && self.new_databases.contains(database));
        if is_taken {
            return Err(Taken(new));
        }
        Ok(renamed.map(|_| new))
    }

    /// Returns the tables of the log whose changes go into a table of the target: one, or none.
    pub fn log_names(&self, name: &TableName) -> Vec<TableName> {
        let from_databases = self.databases.keys().map(|of| TableName::new(of.as_str(), name.table.as_str()));
        let candidates = self.tables.keys().cloned().chain(from_databases).chain([name.clone()]);
        let goes_there = |candidate: &TableName| match self.new_name(candidate) {
            Ok(new) => new.as_ref().unwrap_or(candidate) == name,
            Err(_) => false,
        };
        candidates.filter(goes_there).collect()
    }

    /// Gives the row changes of a transaction the target's names.
    ///
    /// # Errors
    /// A table map is damaged, or two tables of the log would have one name.
    pub fn apply(&self, transaction: &mut Transaction, file: &str) -> Result<(), LogError> {
        if self.is_empty() {
            return Ok(());
        }
        let Transaction { events, data, format, .. } = transaction;
        for event in events.iter_mut().filter(|event| event.type_code == TABLE_MAP) {
            let at = event.offset;
            let bytes = data.get(event.range.clone()).unwrap_or_default();
            let (_, name) = name_of(bytes, format).map_err(|malformed| Fault::from(malformed).at(file, at))?;
            let new = self.new_name(&name).map_err(|taken| taken.fault(&name).at(file, at))?;
            let Some(new) = new else { continue };
            let renamed = with_name(bytes, format, &new).map_err(|malformed| Fault::from(malformed).at(file, at))?;
            event.range = data.append(&renamed);
        }
        Ok(())
    }
}

impl Taken {
    fn fault(&self, name: &TableName) -> Fault {
        let Self(new) = self;
        Fault::not_understood(format!(
            "the log has rows of {}.{}, and another table is renamed to {}.{}, so that the rows of two tables would go into \
             one: rename this one too, or leave it out with --exclude-table {}.{}",
            name.database, name.table, new.database, new.table, name.database, name.table,
        ))
    }
}

/// Returns a whole table-map event with another name, without checksum as the event is.
fn with_name(event: &[u8], format: &Format, name: &TableName) -> Decoded<Vec<u8>> {
    let missing = |what| Malformed { what, at: 0 };
    let (_, body) = split_table_id(event, format)?;
    let head = event.len() - body.len() + FLAGS_SIZE;
    let mut renamed = event.get(..head).ok_or(missing("a table map without flags"))?.to_vec();
    let mut rest = event.get(head..).unwrap_or_default();
    for part in [&name.database, &name.table] {
        rest = after_name(rest).ok_or(missing("a table map without names"))?;
        let length = u8::try_from(part.len()).map_err(|_| missing("a name that is too long"))?;
        renamed.push(length);
        renamed.extend_from_slice(part.as_bytes());
        renamed.push(0);
    }
    renamed.extend_from_slice(rest);
    let size = u32::try_from(renamed.len()).map_err(|_| missing("a table map that is too long"))?;
    renamed.get_mut(SIZE_AT).ok_or(missing("a table map without header"))?.copy_from_slice(&size.to_le_bytes());
    Ok(renamed)
}

/// Returns the bytes after a name: its length, the name, and a zero byte. Names are shorter than 251 bytes.
fn after_name(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first()?;
    rest.get(usize::from(*length) + 1..)
}
