//! Names of a filter that nothing in a log has: a mistyped name would leave out everything, or nothing, without a word.

use std::sync::Arc;

use crate::error::{Fault, LogError};
use crate::event::query::QueryEvent;
use crate::event::{Event, types};
use crate::read::payload::Payload;
use crate::rows::filter::TableFilter;
use crate::rows::table_map::name_of;

/// Databases and tables that a filter names and that no event so far has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unmatched {
    /// Databases, in order.
    pub databases: Vec<String>,
    /// Databases and tables, in order.
    pub tables: Vec<(String, String)>,
}

impl Unmatched {
    /// Returns all names of a filter.
    pub fn of(filter: &TableFilter) -> Self {
        let mut databases: Vec<String> = filter.databases.union(&filter.exclude_databases).cloned().collect();
        let mut tables: Vec<(String, String)> = filter.tables.union(&filter.exclude_tables).cloned().collect();
        databases.sort();
        tables.sort();
        Self { databases, tables }
    }

    /// Removes the names that an event has: of a table map exactly, of a statement as a word of it.
    pub(crate) fn note(&mut self, event: &Event<'_>, file: &Arc<str>) -> Result<(), LogError> {
        if self.databases.is_empty() && self.tables.is_empty() {
            return Ok(());
        }
        let fault = |fault: Fault| fault.at(file, event.offset);
        match event.header.type_code {
            types::TABLE_MAP => {
                let (_, name) = name_of(event.bytes, event.format).map_err(|malformed| fault(malformed.into()))?;
                self.databases.retain(|database| *database != name.database);
                self.tables.retain(|(database, table)| *database != name.database || *table != name.table);
            }
            types::QUERY | types::EXECUTE_LOAD_QUERY => self.note_query(event).map_err(fault)?,
            types::MARIADB_QUERY_COMPRESSED if event.format.mariadb => self.note_query(event).map_err(fault)?,
            types::TRANSACTION_PAYLOAD => {
                let payload = Payload::parse(event.body()).map_err(fault)?;
                let mut events = payload.events(file, event).map_err(fault)?;
                while let Some(inner) = events.next_event()? {
                    if inner.header.type_code != types::TRANSACTION_PAYLOAD {
                        self.note(&inner, file)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn note_query(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let query = QueryEvent::parse(event.header.type_code, event.body(), event.format)?;
        if query.sql.as_ref() == b"BEGIN" || query.sql.as_ref() == b"COMMIT" {
            return Ok(());
        }
        let has = |database: &str| query.database == database.as_bytes() || has_word(&query.sql, database.as_bytes());
        self.databases.retain(|database| !has(database));
        self.tables.retain(|(database, table)| !(has(database) && has_word(&query.sql, table.as_bytes())));
        Ok(())
    }
}

/// Returns true if a statement has a word, in upper or lower case.
fn has_word(sql: &[u8], word: &[u8]) -> bool {
    let is_word = |byte: Option<&u8>| {
        byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..))
    };
    sql.windows(word.len().max(1)).enumerate().any(|(at, part)| {
        let before = at.checked_sub(1).and_then(|at| sql.get(at));
        part.eq_ignore_ascii_case(word) && !is_word(before) && !is_word(sql.get(at + word.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn words_are_found_whole_and_without_case() {
        assert!(has_word(b"DROP TABLE `shop`.`T1`", b"t1"));
        assert!(!has_word(b"DROP TABLE `shop`.`T10`", b"t1"));
        assert!(!has_word(b"DROP TABLE at1", b"t1") && !has_word(b"", b"t1") && !has_word(b"t", b"t1"));
    }
}
