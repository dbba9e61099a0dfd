//! The extension module `paraply._native`: thin functions that delegate to the core, the logs and the targets.

mod block;
mod catalog;
mod certifier;
mod certifier_batch;
mod errors;
mod gtid;
mod hashing;
mod log;
mod mysql;
mod postgres;
mod table_map;
mod transaction;
mod verifier;

use pyo3::prelude::*;

/// What Python imports as `paraply._native`.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::block::{PyBlock, PyPlanner};
    #[pymodule_export]
    use crate::catalog::PyCatalog;
    #[pymodule_export]
    use crate::certifier::{PyCertified, PyCertifier};
    #[pymodule_export]
    use crate::gtid::PyGtidSet;
    #[pymodule_export]
    use crate::hashing::{collation_class, equality_form, write_set_hash};
    #[pymodule_export]
    use crate::log::{PyLogReader, PyTransactionBatch, PyWriteSets, first_xa_transaction};
    #[pymodule_export]
    use crate::mysql::{PyMySqlConnection, binlog_statements, format_statement};
    #[pymodule_export]
    use crate::postgres::PyPostgresRenderer;
    #[pymodule_export]
    use crate::table_map::{PyColumnInfo, PyTableMap};
    #[pymodule_export]
    use crate::transaction::{PyFormat, PyStatement, PyTransaction};
    #[pymodule_export]
    use crate::verifier::PyStampVerifier;
}
