//! Events that are sent to a replica that reads from paraply.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use paraply_arrow::batch::file_name;
use paraply_binlog::error::Fault;
use paraply_binlog::transaction::{Kind, Transaction};
use paraply_binlog::write::dump::Dump;
use paraply_binlog::write::restamp::Stamps;
use paraply_mysql::binlog_statement::fused_events;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{Cause, raise};
use crate::plan::block::PyBlock;
use crate::records::DumpPackets;

/// Packets of a source for a replica: a log's transactions with other stamps, as events of a log of its own.
///
/// Args:
///     server_id: Server id of the source.
///     replica_id: Server id of the replica, which skips events with its own id; such events get the source's.
///     packet: Number of the first packet.
#[pyclass(name = "Dump", module = "paraply._native", frozen)]
pub struct PyDump {
    state: Mutex<State>,
}

/// Bytes at the start of a transaction that surely hold its GTID event.
const GTID_BYTES: u64 = 4096;
/// Bytes of log that are sent at once; a larger transaction is sent in parts.
const LARGE: u64 = 4 << 20;

struct State {
    dump: Dump,
    /// The log file that was read last.
    log: Option<(String, File)>,
}

enum Failure {
    Log(Fault),
    Io(io::Error),
}

#[pymethods]
impl PyDump {
    #[new]
    fn new(server_id: u32, replica_id: u32, packet: u8) -> Self {
        Self { state: Mutex::new(State { dump: Dump::new(server_id, replica_id, packet), log: None }) }
    }

    /// Return packets of a block's only transaction, read from its log again; a large one comes in parts.
    ///
    /// Args:
    ///     block: The block.
    ///     last_committed: Number of the transaction that it waits for.
    ///     sequence_number: Its own number.
    ///     sent: Number of its bytes sent before.
    ///
    /// Returns:
    ///     The packets, and the number of bytes sent then; None when all are sent.
    ///
    /// Raises:
    ///     LogDamaged: The log has changed since it was first read.
    ///     LogUnreadable: The log cannot be read any more.
    fn transactions(
        &self,
        py: Python<'_>,
        block: &PyBlock,
        last_committed: u64,
        sequence_number: u64,
        sent: u64,
    ) -> PyResult<DumpPackets> {
        let stamps = Stamps { last_committed, sequence_number };
        let result = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.next(block, stamps, sent)
        });
        match result {
            Ok((packets, sent)) => Ok(DumpPackets { packets: PyBytes::new(py, &packets).unbind(), sent }),
            Err(Failure::Log(fault)) => {
                let (class, message) = match fault {
                    Fault::Damaged(message) => (Cause::LogDamaged, message),
                    Fault::NotUnderstood(message) => (Cause::LogNotUnderstood, message),
                };
                Err(raise(class, &message, &block.place()))
            }
            Err(Failure::Io(error)) => {
                let message = format!("the log cannot be read again: {error}");
                Err(raise(Cause::LogUnreadable, &message, &block.place()))
            }
        }
    }

    /// Return a packet with the position in the log; empty before the first transaction.
    fn heartbeat<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut out = Vec::new();
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dump.heartbeat(&mut out);
        PyBytes::new(py, &out)
    }

    /// Return a packet with an error, with which the replica's receiver stops.
    fn refusal<'py>(&self, py: Python<'py>, message: &str) -> Bound<'py, PyBytes> {
        let mut out = Vec::new();
        self.state.lock().unwrap_or_else(PoisonError::into_inner).dump.refusal(&mut out, message);
        PyBytes::new(py, &out)
    }
}

impl State {
    /// Returns the packets for a block's one transaction after its first `sent` bytes, and the number of bytes sent
    /// then; none at its end.
    fn next(&mut self, block: &PyBlock, stamps: Stamps, sent: u64) -> Result<(Vec<u8>, Option<u64>), Failure> {
        let mut out = Vec::new();
        let Some(transaction) = block.block.first() else { return Ok((out, None)) };
        let size = transaction.end_offset.saturating_sub(transaction.offset);
        if transaction.filtered && (transaction.skipped || transaction.own_left_out) {
            let events = self.read(&block.files, transaction, 0, size.min(GTID_BYTES)).map_err(Failure::Io)?;
            self.dump.emptied(&mut out, &events, &transaction.format, stamps).map_err(Failure::Log)?;
            return Ok((out, None));
        }
        if transaction.own_left_out {
            let events = self.read(&block.files, transaction, 0, size).map_err(Failure::Io)?;
            let rows: Vec<u8> =
                transaction.events.iter().flat_map(|event| &transaction.data[event.range.clone()]).copied().collect();
            self.dump.remaining(&mut out, &events, &rows, &transaction.format, stamps).map_err(Failure::Log)?;
            return Ok((out, None));
        }
        if size <= LARGE {
            let events = self.read(&block.files, transaction, 0, size).map_err(Failure::Io)?;
            // A compressed transaction may be much larger than its log; it is then sent as it is there.
            let joins = transaction.kind == Kind::Dml && transaction.data.in_files() == 0;
            let rows =
                joins.then(|| fused_events(transaction, block.block.keyed, block.block.separate_tables).ok()).flatten();
            let rows = rows.as_deref().filter(|rows| !rows.is_empty());
            self.dump.transaction(&mut out, &events, rows, &transaction.format, stamps).map_err(Failure::Log)?;
            return Ok((out, None));
        }
        let mut wanted = LARGE.min(size - sent);
        loop {
            let events = self.read(&block.files, transaction, sent, wanted).map_err(Failure::Io)?;
            let taken =
                self.dump.part(&mut out, &events, &transaction.format, stamps, sent == 0).map_err(Failure::Log)?;
            let now = sent + taken as u64;
            if now == size {
                return Ok((out, None));
            }
            if taken > 0 {
                return Ok((out, Some(now)));
            }
            if wanted == size - sent {
                return Err(Failure::Log(Fault::damaged("an event goes beyond its transaction")));
            }
            wanted = (2 * wanted).min(size - sent); // one event is larger than that
        }
    }

    fn read(
        &mut self,
        files: &Arc<Vec<String>>,
        transaction: &Transaction,
        from: u64,
        size: u64,
    ) -> io::Result<Vec<u8>> {
        let name = file_name(files, transaction.file);
        let file = match &mut self.log {
            Some((open, file)) if open == name => file,
            log => &mut log.insert((name.to_owned(), File::open(name)?)).1,
        };
        let mut events = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        file.read_exact_at(&mut events, transaction.offset + from)?;
        Ok(events)
    }
}
