//! Foreign keys that are checked by queries at a block's end.

use std::sync::{Arc, Mutex, PoisonError};

use paraply_arrow::batch::file_name;
use paraply_core::schema::Catalog;
use paraply_mysql::references::{Check, Question, Scratch, check};
use pyo3::prelude::*;

use crate::errors::log_error;
use crate::plan::block::PyBlock;
use crate::records::NumberQuery;
use crate::rows::catalog::PyCatalog;

/// Finder of the rows that the rows of a block refer to (MySQL 9.6 and later).
///
/// Args:
///     catalog: All of the target's tables; later changes of it have no effect.
#[pyclass(name = "ReferenceChecker", module = "paraply._native", frozen)]
pub struct PyReferenceChecker {
    catalog: Arc<Catalog>,
    /// Memory for each call; as many as there are threads.
    scratches: Mutex<Vec<Scratch>>,
}

#[pymethods]
impl PyReferenceChecker {
    #[new]
    fn new(catalog: &PyCatalog) -> Self {
        Self { catalog: catalog.snapshot(), scratches: Mutex::default() }
    }

    /// Return the rows that need no check by the server; None if that would not pay. Releases the GIL.
    ///
    /// Raises:
    ///     LogDamaged: A row event contradicts itself.
    fn check(&self, py: Python<'_>, block: &PyBlock) -> PyResult<Option<PyReferenceCheck>> {
        let found = py.detach(|| {
            let lent = self.scratches.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut scratch = lent.unwrap_or_default();
            let found = check(block.block.transactions(), &self.catalog, &mut scratch);
            self.scratches.lock().unwrap_or_else(PoisonError::into_inner).push(scratch);
            found
        });
        let found = found.map_err(|error| {
            let file = file_name(&block.files, error.file);
            log_error(&error.into_log_error(file), block.place().gtid)
        })?;
        Ok(found.map(|check| PyReferenceCheck { check: Arc::new(check) }))
    }
}

/// Row events of a block that need no foreign-key check by the server, and the queries that replace it.
#[pyclass(name = "ReferenceCheck", module = "paraply._native", frozen)]
pub struct PyReferenceCheck {
    pub check: Arc<Check>,
}

#[pymethods]
impl PyReferenceCheck {
    /// Statements that return one number each, to run after all rows are written, and the expected numbers.
    #[getter]
    fn questions(&self) -> Vec<NumberQuery> {
        let query = |question: &Question| NumberQuery { sql: question.sql.clone(), expected: question.expected };
        self.check.questions.iter().map(query).collect()
    }
}
