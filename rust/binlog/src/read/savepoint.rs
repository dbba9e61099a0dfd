//! Savepoints of a transaction, and rollbacks.
//!
//! Servers write a rollback into a row log only together with changes that they could not undo, for example of
//! temporary tables, which have no rows in the log. Since MySQL 5.5 and MariaDB 5.5 row changes of tables without
//! rollback are in transactions of their own, as seen on MySQL 9.7 and MariaDB 10.5 to 11.8
//! (`tests/server/ddl/test_rolled_back.py`). So row events before a rollback are exactly those that the source undid.

use paraply_core::collation::Collation;

use crate::error::Fault;
use crate::event::refusal;
use crate::read::start::{Group, Savepoint};
use crate::transaction::Format;

/// The collation by which servers compare names of savepoints.
const NAMES: &str = "utf8mb3_general_ci";
/// The first versions that never log non-transactional row changes inside a transaction that is rolled back.
const FIRST_MYSQL: (u8, u8, u8) = (5, 5, 9);
const FIRST_MARIADB: (u8, u8, u8) = (5, 5, 0);

impl Group {
    /// Sets a savepoint; an older one of the same name is forgotten.
    pub(crate) fn set_savepoint(&mut self, name: &[u8]) -> Result<(), Fault> {
        let name = comparable(name, self.transaction.format.mariadb)?;
        self.savepoints.retain(|savepoint| savepoint.name != name);
        self.savepoints.push(Savepoint {
            name,
            events: self.transaction.events.len(),
            data: self.transaction.data.len(),
            row_bytes: self.row_bytes,
            no_foreign_key_checks: self.transaction.no_foreign_key_checks,
        });
        Ok(())
    }

    /// Removes the row events after a savepoint.
    pub(crate) fn roll_back_to(&mut self, name: &[u8]) -> Result<(), Fault> {
        let name = comparable(name, self.transaction.format.mariadb)?;
        let place = self.savepoints.iter().position(|savepoint| savepoint.name == name);
        let Some(savepoint) = place.and_then(|place| self.savepoints.get(place)) else {
            return Err(Fault::damaged("the transaction is rolled back to a savepoint that it does not set"));
        };
        if savepoint.events == self.transaction.events.len() && savepoint.row_bytes == self.row_bytes {
            return Ok(());
        }
        check_undone(&self.transaction.format)?;
        if self.inside_statement {
            return Err(refusal::rolled_back_inside_statement());
        }
        self.transaction.events.truncate(savepoint.events);
        self.transaction.data.truncate(savepoint.data);
        self.transaction.no_foreign_key_checks = savepoint.no_foreign_key_checks;
        self.row_bytes = savepoint.row_bytes;
        self.savepoints.truncate(place.map_or(0, |place| place + 1));
        Ok(())
    }

    /// Removes all row events. A DROP TABLE stays: MariaDB writes one that it has executed, with a rollback after it,
    /// where CREATE OR REPLACE TABLE ... SELECT fails.
    pub(crate) fn roll_back(&mut self) -> Result<(), Fault> {
        let transaction = &mut self.transaction;
        if !transaction.events.is_empty() {
            check_undone(&transaction.format)?;
        }
        let drops = |sql: &[u8]| sql.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(b"DROP TABLE"));
        if !transaction.statements.iter().all(|statement| transaction.format.mariadb && drops(&statement.sql)) {
            return Err(refusal::rolled_back_statement());
        }
        transaction.events.clear();
        transaction.data.clear();
        transaction.no_foreign_key_checks = false;
        transaction.xid = None;
        self.xa = false;
        Ok(())
    }
}

/// Refuses a rollback of a server that may have kept some of the rows before it.
fn check_undone(format: &Format) -> Result<(), Fault> {
    let first = if format.mariadb { FIRST_MARIADB } else { FIRST_MYSQL };
    if format.version < first { Err(refusal::rolled_back()) } else { Ok(()) }
}

/// Returns a name in a form that is the same for all names that servers take for equal.
fn comparable(name: &[u8], mariadb: bool) -> Result<Vec<u8>, Fault> {
    let unknown = || Fault::not_understood("the name of a savepoint is not text; replay the log with mysqlbinlog");
    let collation = Collation::of_server(NAMES, mariadb).ok_or_else(unknown)?;
    let mut form = Vec::new();
    collation.equality_form(name, &mut form).map_err(|_| unknown())?;
    Ok(form)
}
