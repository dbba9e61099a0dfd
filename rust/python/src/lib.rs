//! The extension module `paraply._native`: thin functions that delegate to the core, the logs and the targets.

mod block;
mod catalog;
mod certifier;
mod certifier_batch;
mod charset;
mod distance;
mod dump;
mod encode;
mod errors;
mod events;
mod explain;
mod gtid;
mod hash_columns;
mod hashing;
mod ledger;
mod log;
mod log_head;
mod look_ahead;
mod mysql;
mod postgres;
mod references;
mod relay;
mod replica;
mod resolver;
mod row_columns;
mod row_values;
mod rows;
mod selection;
mod table_map;
mod trace;
mod transaction;
mod verifier;

use pyo3::prelude::*;

/// The module `paraply._native` for Python.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::block::{PyBlock, PyBlockSums, PyPlanner};
    #[pymodule_export]
    use crate::catalog::PyCatalog;
    #[pymodule_export]
    use crate::certifier::{PyCertified, PyCertifier};
    #[pymodule_export]
    use crate::charset::decode_text;
    #[pymodule_export]
    use crate::distance::PyDelayingProxy;
    #[pymodule_export]
    use crate::dump::PyDump;
    #[pymodule_export]
    use crate::encode::{encode_rows, encode_statement, encode_transaction, encode_view_change};
    #[pymodule_export]
    use crate::events::{PyEventReader, event_schema};
    #[pymodule_export]
    use crate::explain::{explain_rows, explain_values};
    #[pymodule_export]
    use crate::gtid::PyGtidSet;
    #[pymodule_export]
    use crate::hash_columns::{equality_hashes, write_set_hashes};
    #[pymodule_export]
    use crate::hashing::{collation_class, equality_form, write_set_hash};
    #[pymodule_export]
    use crate::ledger::{PyLedger, progress_text, raise_position};
    #[pymodule_export]
    use crate::log::{PyLogReader, PyTransactionBatch, PyWriteSets};
    #[pymodule_export]
    use crate::log_head::{PyLogHead, PyTableFilter, log_gtids, log_head};
    #[pymodule_export]
    use crate::look_ahead::look_ahead;
    #[pymodule_export]
    use crate::mysql::{
        PyBinlogStatements, PyMySqlConnection, PyRowEnds, binlog_statements, format_statement, whole_statement,
    };
    #[pymodule_export]
    use crate::postgres::PyPostgresRenderer;
    #[pymodule_export]
    use crate::references::{PyReferenceCheck, PyReferenceChecker};
    #[pymodule_export]
    use crate::relay::{PyRelayLog, PyRelayStatus, relay_event, relay_format};
    #[pymodule_export]
    use crate::replica::PyReplicaConnection;
    #[pymodule_export]
    use crate::resolver::{PyChunkResolver, PyCriticalPath, PyKeyResolver, chunk_numbers};
    #[pymodule_export]
    use crate::rows::{PyRowDecoder, row_schema};
    #[pymodule_export]
    use crate::selection::{PyLogScan, PySelection, scan_log};
    #[pymodule_export]
    use crate::table_map::{PyColumnInfo, PyKnownTables, PyTableMap};
    #[pymodule_export]
    use crate::trace::{trace_batch, trace_schema};
    #[pymodule_export]
    use crate::transaction::{PyFormat, PyStatement, PyTransaction};
    #[pymodule_export]
    use crate::verifier::{PyComparison, PyStampVerifier, PyTrackerVerifier};
}
