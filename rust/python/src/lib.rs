//! The extension module `paraply._native`: thin functions that delegate to the core, the logs and the targets.

// The doc comments are the docstrings of Python, in its markup; the stub has the same ones.
#![allow(clippy::doc_markdown, clippy::doc_link_with_quotes)]

mod analysis;
mod cpu;
#[cfg(all(feature = "bench", target_os = "linux"))]
mod distance;
mod errors;
mod large;
mod log;
mod moment;
mod plan;
mod records;
mod rows;
mod servers;

use pyo3::prelude::*;

/// The module `paraply._native` for Python.
#[pymodule(gil_used = true)]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::analysis::key_names::{PyNamedKey, name_keys};
    #[pymodule_export]
    use crate::analysis::recorder::PyLogRecorder;
    #[pymodule_export]
    use crate::analysis::recording::{PyRecording, PySetup};
    #[pymodule_export]
    use crate::analysis::results::{
        PyChain, PyCosts, PyLoss, PyOutcome, PyPredicted, PyRecordedTransaction, PyScheduleSlot, PySpanLoad, PyTotals,
    };
    #[pymodule_export]
    use crate::cpu::{spend_cpu, stage_cpu};
    #[cfg(all(feature = "bench", target_os = "linux"))]
    #[pymodule_export]
    use crate::distance::PyDelayingProxy;
    #[pymodule_export]
    use crate::large::set_most_in_memory;
    #[pymodule_export]
    use crate::log::decrypt::{PyDecrypter, is_encrypted};
    #[pymodule_export]
    use crate::log::events::{PyEventReader, event_schema};
    #[pymodule_export]
    use crate::log::head::{PyLogHead, log_gtids, log_head};
    #[pymodule_export]
    use crate::log::look_ahead::{PyLoggedRowStatement, PyLoggedXaPart, PyLookAhead, look_ahead};
    #[pymodule_export]
    use crate::log::reader::{PyLogReader, PyReaderStop};
    #[pymodule_export]
    use crate::log::selection::{PyLogScan, PySelection, scan_log};
    #[pymodule_export]
    use crate::log::skip_list::PySkipList;
    #[pymodule_export]
    use crate::log::stop::PyStopCondition;
    #[pymodule_export]
    use crate::log::table_filter::{PyTableFilter, own_table_names};
    #[pymodule_export]
    use crate::log::table_map::{PyColumnInfo, PyTableMap};
    #[pymodule_export]
    use crate::log::transaction::{PyFormat, PyStatement, PyTransaction};
    #[pymodule_export]
    use crate::log::transaction_batch::PyTransactionBatch;
    #[pymodule_export]
    use crate::log::unpack::{PyUnpacker, zstd_pack, zstd_unpack};
    #[pymodule_export]
    use crate::log::write_sets::{PyTransactionKeys, PyWriteSets};
    #[pymodule_export]
    use crate::plan::block::{PyBlock, PyBlockSums};
    #[pymodule_export]
    use crate::plan::certifier::{PyCertified, PyCertifier};
    #[pymodule_export]
    use crate::plan::gtid::PyGtidSet;
    #[pymodule_export]
    use crate::plan::known_tables::PyKnownTables;
    #[pymodule_export]
    use crate::plan::ledger::{PyLedger, progress_text, raise_position};
    #[pymodule_export]
    use crate::plan::numberer::{PyBegunFile, PyLogNumberer};
    #[pymodule_export]
    use crate::plan::planner::PyPlanner;
    #[pymodule_export]
    use crate::plan::resolver::{
        PyChunkReport, PyChunkResolver, PyCriticalPath, PyKeyAnswer, PyKeyResolver, PyPathLength, chunk_numbers,
    };
    #[pymodule_export]
    use crate::plan::single_rows::{PyRowEvents, PySingleRow, row_events, single_rows};
    #[pymodule_export]
    use crate::plan::stamper::PyLogStamper;
    #[pymodule_export]
    use crate::plan::verifier::{PyComparison, PyDependencyVerifier, PyStampVerifier, PyTrackerVerifier};
    #[pymodule_export]
    use crate::rows::catalog::PyCatalog;
    #[pymodule_export]
    const NO_TEXT: &str = paraply_core::schema::NO_TEXT;
    #[pymodule_export]
    use crate::rows::charset::decode_text;
    #[pymodule_export]
    use crate::rows::decoder::{PyRowDecoder, row_schema};
    #[pymodule_export]
    use crate::rows::dependents::{PyDependent, PyDependentFinder};
    #[pymodule_export]
    use crate::rows::encode::{encode_rows, encode_statement, encode_transaction, encode_view_change};
    #[pymodule_export]
    use crate::rows::explain::{explain_rows, explain_values};
    #[pymodule_export]
    use crate::rows::hash_columns::{equality_hashes, write_set_hashes};
    #[pymodule_export]
    use crate::rows::hashing::{collation_class, equality_form, write_set_hash};
    #[pymodule_export]
    use crate::rows::row_statement::{PyKeyCheck, PyRowStatement};
    #[pymodule_export]
    use crate::rows::statements::PyRowStatements;
    #[pymodule_export]
    use crate::rows::trace::{trace_batch, trace_schema};
    #[pymodule_export]
    use crate::servers::binlog_statements::{PyBinlogStatements, binlog_statements, format_statement, whole_statement};
    #[pymodule_export]
    use crate::servers::copying::{PyLogCopy, PyLogPiece};
    #[pymodule_export]
    use crate::servers::dump::PyDump;
    #[pymodule_export]
    use crate::servers::mysql::{PyBatchEnd, PyMySqlConnection};
    #[pymodule_export]
    use crate::servers::postgres::{PyPostgresRenderer, PyRenderedStatement};
    #[pymodule_export]
    use crate::servers::references::{PyReferenceCheck, PyReferenceChecker};
    #[pymodule_export]
    use crate::servers::relay::{PyRelayCut, PyRelayLog, PyRelayStatus, purge_relay_log, relay_event, relay_format};
    #[pymodule_export]
    use crate::servers::replica::PyReplicaConnection;
    #[pymodule_export]
    use crate::servers::row_ends::PyRowEnds;
    #[pymodule_export]
    use crate::servers::serve::{PyLogServer, PyReplicaAccess, PyServeNotice, PyServedEnd};
    #[pymodule_export]
    use crate::servers::transaction_server::PyTransactionServer;

    /// Adds the classes of named tuples.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::records::add_classes(module)
    }
}
