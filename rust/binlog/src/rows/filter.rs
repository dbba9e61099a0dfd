//! Applying only some tables of a log.

use std::collections::HashSet;

use paraply_core::schema::TableName;
use paraply_spool::Data;

use crate::error::{Fault, LogError};
use crate::event::types::TABLE_MAP;
use crate::rows::image_cursor::{Decoded, Malformed};
use crate::rows::own_tables::{self, is_map_of_own};
use crate::rows::renames::TableRenames;
use crate::rows::table_map::name_of;
use crate::rows::{RowsHeader, STMT_END, flags_place};
use crate::transaction::{Format, Kind, RawEvent, Transaction};

/// Databases and tables to apply; names are compared as they are in the log.
///
/// If databases or tables are named, only those are applied (a table is applied if its database or the table itself
/// is named). Excluded ones are never applied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableFilter {
    /// Databases that are applied with all their tables.
    pub databases: HashSet<String>,
    /// Tables that are applied.
    pub tables: HashSet<(String, String)>,
    /// Databases that are left out.
    pub exclude_databases: HashSet<String>,
    /// Tables that are left out.
    pub exclude_tables: HashSet<(String, String)>,
    /// Tables of paraply's own are left out too.
    pub leaves_own_out: bool,
    /// Names of the applied tables on the target.
    pub renames: TableRenames,
}

impl TableFilter {
    /// Returns true if everything is applied.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if a table's changes are applied.
    pub fn chooses(&self, database: &str, table: &str) -> bool {
        self.names(database, table) && !(self.leaves_own_out && own_tables::is_own(database, table))
    }

    /// Returns true if the names choose a table, whether or not it is one of paraply's own.
    fn names(&self, database: &str, table: &str) -> bool {
        let named = |tables: &HashSet<(String, String)>| {
            // A tuple of owned strings cannot be looked up by borrowed ones without an allocation; sets are small.
            tables.iter().any(|(of, name)| of == database && name == table)
        };
        let included = (self.databases.is_empty() && self.tables.is_empty())
            || self.databases.contains(database)
            || named(&self.tables);
        included && !self.exclude_databases.contains(database) && !named(&self.exclude_tables)
    }

    /// Returns true if a table of the target gets changes of an applied table.
    pub fn chooses_on_target(&self, database: &str, table: &str) -> bool {
        if self.renames.is_empty() {
            return self.chooses(database, table);
        }
        let names = self.renames.log_names(&TableName::new(database, table));
        names.iter().any(|name| self.chooses(&name.database, &name.table))
    }

    /// Returns true if no table of a database is applied, however its name is spelled in upper and lower case.
    pub fn leaves_out(&self, database: &str) -> bool {
        let lower = database.to_lowercase();
        let is_same = |name: &String| name == database || name.to_lowercase() == lower;
        let all_named = self.databases.is_empty() && self.tables.is_empty();
        let some_named = self.databases.iter().any(is_same) || self.tables.iter().any(|(of, _)| is_same(of));
        self.exclude_databases.contains(database) || !(all_named || some_named)
    }

    /// Returns true if every table is named.
    fn names_all(&self) -> bool {
        self.databases.is_empty()
            && self.tables.is_empty()
            && self.exclude_databases.is_empty()
            && self.exclude_tables.is_empty()
    }

    /// Returns true if some rows of a transaction may have to be left out.
    fn may_leave_out(&self, transaction: &Transaction) -> bool {
        !self.names_all() || self.leaves_own_out && own_tables::may_have_own(&transaction.events, &transaction.data)
    }

    /// Removes the row changes of other tables from a transaction.
    ///
    /// A transaction of row changes that loses all of them becomes an empty one, which keeps its identity and its turn.
    pub fn keep_chosen(&self, transaction: &mut Transaction, file: &str) -> Result<(), LogError> {
        if transaction.events.is_empty() || !self.may_leave_out(transaction) {
            return Ok(());
        }
        let events = std::mem::take(&mut transaction.events);
        let mut sieve = Sieve {
            filter: self,
            format: &transaction.format,
            data: &mut transaction.data,
            kept: Vec::with_capacity(events.len()),
            tables: Vec::new(),
            statement: 0,
            last_rows: None,
            left_own_out: false,
        };
        for event in events {
            let offset = event.offset;
            sieve.pass(event).map_err(|fault| Fault::from(fault).at(file, offset))?;
        }
        transaction.events = sieve.kept;
        transaction.own_left_out |= sieve.left_own_out;
        match transaction.kind {
            Kind::Dml if transaction.events.is_empty() => transaction.empty_out(),
            // The XID must be remembered: the XA COMMIT or ROLLBACK has no rows either.
            Kind::XaPrepare if transaction.events.is_empty() => transaction.filtered = true,
            _ => {}
        }
        Ok(())
    }
}

/// Passes the events of one transaction on, statement by statement.
struct Sieve<'t> {
    filter: &'t TableFilter,
    format: &'t Format,
    data: &'t mut Data,
    kept: Vec<RawEvent>,
    /// Table ids found, each true if its table is chosen; the last entry of an id is in use.
    tables: Vec<(u64, bool)>,
    /// Start of the current statement in `kept`.
    statement: usize,
    /// Index of the last row event of that statement that was kept.
    last_rows: Option<usize>,
    /// Rows of one of paraply's own tables were left out.
    left_own_out: bool,
}

impl Sieve<'_> {
    fn pass(&mut self, event: RawEvent) -> Decoded<()> {
        let missing = Malformed { what: "an event outside its transaction", at: 0 };
        let bytes = self.data.get(event.range.clone()).ok_or(missing)?;
        if event.type_code == TABLE_MAP {
            let (id, name) = name_of(bytes, self.format)?;
            let named = self.filter.names(&name.database, &name.table);
            let own = self.filter.leaves_own_out && is_map_of_own(bytes, self.format)?;
            self.left_own_out |= named && own;
            let chosen = named && !own;
            self.tables.retain(|(known, _)| *known != id);
            self.tables.push((id, chosen));
            if chosen {
                self.kept.push(event);
            }
            return Ok(());
        }
        let header = RowsHeader::parse(bytes, self.format)?;
        let ends = header.flags & STMT_END != 0;
        if self.tables.iter().any(|&(id, chosen)| chosen && id == header.table_id) {
            self.last_rows = Some(self.kept.len());
            self.kept.push(event);
        } else if ends {
            self.end_with_last_rows()?;
        }
        if ends {
            if self.last_rows.take().is_none() {
                // Table maps without rows.
                self.kept.truncate(self.statement);
            }
            self.statement = self.kept.len();
        }
        Ok(())
    }

    /// Marks the last kept event as the end of the statement, if the event that ended it is left out.
    fn end_with_last_rows(&mut self) -> Decoded<()> {
        let Some(event) = self.last_rows.and_then(|index| self.kept.get_mut(index)) else { return Ok(()) };
        let at = flags_place(event.type_code, self.format);
        let mut marked = Err(Malformed { what: "a row event without flags", at: event.range.start + at });
        self.data.change(&mut event.range, |bytes| {
            if let Some(flags) = bytes.get_mut(at) {
                *flags |= STMT_END as u8;
                marked = Ok(());
            }
        });
        marked
    }
}
