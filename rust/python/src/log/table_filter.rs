//! The tables whose rows are read from a log.

use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::own_tables;
use paraply_binlog::rows::renames::TableRenames;
use paraply_core::schema::TableName;
use pyo3::prelude::*;

/// Filter by database and table: an excluded one is never applied, and if some are named, only those are.
#[pyclass(name = "TableFilter", module = "paraply._native", frozen)]
pub struct PyTableFilter(pub TableFilter);

/// Return the names of the tables in which paraply keeps its own state in MySQL and MariaDB.
#[pyfunction]
pub fn own_table_names() -> Vec<&'static str> {
    own_tables::names().collect()
}

/// A database and a table.
type Name = (String, String);

#[pymethods]
impl PyTableFilter {
    #[new]
    #[pyo3(signature = (
        databases=Vec::new(), tables=Vec::new(), exclude_databases=Vec::new(), exclude_tables=Vec::new(), *,
        rename_databases=Vec::new(), rename_tables=Vec::new(), leaves_own_out=false,
    ))]
    fn new(
        databases: Vec<String>,
        tables: Vec<Name>,
        exclude_databases: Vec<String>,
        exclude_tables: Vec<Name>,
        rename_databases: Vec<(String, String)>,
        rename_tables: Vec<(Name, Name)>,
        leaves_own_out: bool,
    ) -> Self {
        let name = |(database, table)| TableName { database, table };
        let renamed = rename_tables.into_iter().map(|(old, new)| (name(old), name(new))).collect();
        Self(TableFilter {
            databases: databases.into_iter().collect(),
            tables: tables.into_iter().collect(),
            exclude_databases: exclude_databases.into_iter().collect(),
            exclude_tables: exclude_tables.into_iter().collect(),
            leaves_own_out,
            renames: TableRenames::new(rename_databases.into_iter().collect(), renamed),
        })
    }

    fn chooses(&self, database: &str, table: &str) -> bool {
        self.0.chooses(database, table)
    }

    /// Return True if a table of the target gets changes of an applied table, whose name in the log may be another one.
    fn chooses_on_target(&self, database: &str, table: &str) -> bool {
        self.0.chooses_on_target(database, table)
    }
}
