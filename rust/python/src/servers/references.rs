//! Foreign keys that are checked by queries at a block's end.

use std::sync::{Arc, Mutex, PoisonError};

use paraply_arrow::batch::file_name;
use paraply_core::schema::Catalog;
use paraply_mysql::references::{Check, Scratch, check};
use pyo3::prelude::*;

use crate::errors::log_error;
use crate::plan::block::PyBlock;
use crate::rows::catalog::PyCatalog;

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

#[pyclass(name = "ReferenceCheck", module = "paraply._native", frozen)]
pub struct PyReferenceCheck {
    pub check: Arc<Check>,
}

#[pymethods]
impl PyReferenceCheck {
    #[getter]
    fn questions(&self) -> Vec<(String, usize)> {
        self.check.questions.iter().map(|question| (question.sql.clone(), question.expected)).collect()
    }
}
