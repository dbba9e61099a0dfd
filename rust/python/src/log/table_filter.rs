//! The tables whose rows are read from a log.

use paraply_binlog::rows::filter::TableFilter;
use pyo3::prelude::*;

/// Filter by database and table: an excluded one is never applied, and if some are named, only those are.
#[pyclass(name = "TableFilter", module = "paraply._native", frozen)]
pub struct PyTableFilter(pub TableFilter);

#[pymethods]
impl PyTableFilter {
    #[new]
    #[pyo3(signature = (databases=Vec::new(), tables=Vec::new(), exclude_databases=Vec::new(), exclude_tables=Vec::new()))]
    fn new(
        databases: Vec<String>,
        tables: Vec<(String, String)>,
        exclude_databases: Vec<String>,
        exclude_tables: Vec<(String, String)>,
    ) -> Self {
        Self(TableFilter {
            databases: databases.into_iter().collect(),
            tables: tables.into_iter().collect(),
            exclude_databases: exclude_databases.into_iter().collect(),
            exclude_tables: exclude_tables.into_iter().collect(),
        })
    }

    fn chooses(&self, database: &str, table: &str) -> bool {
        self.0.chooses(database, table)
    }
}
