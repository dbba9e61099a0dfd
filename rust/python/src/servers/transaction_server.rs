//! A source for the replica of a running apply.

use std::sync::{Arc, Mutex, PoisonError};

use paraply_core::gtid::GtidSet;
use paraply_mysql::serve::{Account, Identity, Limits, Options, Packets, Server, Stream, Transactions};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

use crate::plan::gtid::PyGtidSet;
use crate::servers::serve::{listen, serve_error};

/// Connections at the same time: a replica has one, and one that it has lost may not have ended yet.
const CONNECTIONS: usize = 16;

/// Source for replicas of MySQL whose transactions are made while they are sent.
///
/// Args:
///     host: Address to listen on.
///     port: Port to listen on; 0 for a free one.
///     begin: Called in a thread of its own with the transactions that a replica has, and the number of the first packet. It returns an
///         iterator over packets, which ends when nothing more may be sent on that connection.
///     on_error: Called with an error of that iterator.
///     version: Version that replicas see.
///     user: The one user who may read.
///     password: The user's password; never empty.
///     server_id: Server id of the source, which no replica may have.
///     server_uuid: UUID of the source.
///
/// Raises:
///     UsageError: The address cannot be listened on.
#[pyclass(name = "TransactionServer", module = "paraply._native", frozen)]
pub struct PyTransactionServer {
    server: Mutex<Server>,
}

impl PyTransactionServer {
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Server) -> T + Send) -> T {
        py.detach(|| act(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl PyTransactionServer {
    #[new]
    #[pyo3(signature = (host, port, begin, on_error, *, version, user, password, server_id, server_uuid))]
    #[allow(clippy::too_many_arguments)] // keywords in Python
    fn new(
        py: Python<'_>,
        host: &str,
        port: u16,
        begin: Py<PyAny>,
        on_error: Py<PyAny>,
        version: String,
        user: String,
        password: String,
        server_id: u32,
        server_uuid: String,
    ) -> PyResult<Self> {
        let transactions = Arc::new(PyTransactions { begin, on_error: Arc::new(on_error) });
        let options = Options {
            logs: Vec::new(),
            follow: false,
            stamped: false,
            records_replicas: false,
            stream: Some(Stream { version, transactions }),
            identity: Identity { server_id, server_uuid },
            account: Account { user, password },
            tls: None,
            limits: Limits { connections: CONNECTIONS, ..Limits::default() },
        };
        let listener = listen(host, port)?;
        let server = py.detach(|| Server::start(listener, options)).map_err(|error| serve_error(&error))?;
        Ok(Self { server: Mutex::new(server) })
    }

    /// Port on which it listens.
    #[getter]
    fn port(&self, py: Python<'_>) -> u16 {
        self.with(py, |server| server.address().port())
    }

    /// Number of times that a replica has begun to read.
    #[getter]
    fn dumps(&self, py: Python<'_>) -> u64 {
        self.with(py, |server| server.totals().dumps)
    }

    /// End all connections and threads.
    fn stop(&self, py: Python<'_>) {
        self.with(py, Server::stop);
    }
}

/// Transactions that Python makes.
struct PyTransactions {
    /// Called with the transactions that a replica has, and the number of the first packet; returns an iterator.
    begin: Py<PyAny>,
    on_error: Arc<Py<PyAny>>,
}

impl Transactions for PyTransactions {
    fn begin(&self, received: &GtidSet, packet: u8) -> Box<dyn Packets> {
        let on_error = Arc::clone(&self.on_error);
        let iterator = Python::attach(|py| {
            let made = self.begin.bind(py).call1((PyGtidSet::from(received.clone()), packet));
            let made = made.and_then(|made| made.try_iter());
            made.map(Bound::unbind).map_err(|error| report(py, &on_error, error)).ok()
        });
        Box::new(PyPackets { iterator, on_error })
    }
}

struct PyPackets {
    iterator: Option<Py<PyIterator>>,
    on_error: Arc<Py<PyAny>>,
}

impl Packets for PyPackets {
    fn next(&mut self) -> Option<Vec<u8>> {
        let iterator = self.iterator.as_ref()?;
        Python::attach(|py| {
            let next = iterator.bind(py).clone().next()?;
            let bytes = next.and_then(|packets| Ok(packets.cast::<PyBytes>()?.as_bytes().to_vec()));
            bytes.map_err(|error| report(py, &self.on_error, error)).ok()
        })
    }
}

/// Passes an error on; without that the run would wait for the replica.
fn report(py: Python<'_>, on_error: &Py<PyAny>, error: PyErr) {
    if let Err(error) = on_error.call1(py, (error.into_value(py),)) {
        error.write_unraisable(py, None);
    }
}
