//! A source for replicas.

use std::net::{TcpListener, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use paraply_mysql::serve::{Account, Identity, Limits, Notice, Options, Replica, ServeError, Server, server_config};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{log_error, usage};
use crate::log::reader::PyLogReader;
use crate::plan::gtid::PyGtidSet;
use crate::plan::numberer::PyLogNumberer;
use crate::records::{ListenAddress, NumberedFile};

/// Source for replicas of MySQL, which serves log files to several at once until it is stopped.
///
/// Args:
///     logs: The files, in order.
///     host: Address to listen on.
///     port: Port to listen on; 0 for a free one.
///     access: User, TLS and limits of connections.
///     server_id: Server id of the source, which no replica may have.
///     server_uuid: UUID of the source.
///     follow: True to serve later files of the last one's series too.
///     stamped: True to send a transaction only once a ``LogNumberer`` gave it numbers, and with these.
///     records_replicas: True to send a replica nothing before ``recorded`` names its connection.
///
/// Raises:
///     UsageError: The address cannot be listened on, or TLS cannot be used, or a log is of MariaDB.
///     LogError: A log cannot be read.
#[pyclass(name = "LogServer", module = "paraply._native", frozen)]
pub struct PyLogServer {
    server: Mutex<Server>,
}

/// User that may connect to a ``LogServer``, with TLS and limits of its connections.
///
/// Args:
///     user: The one user who may read.
///     password: The user's password; never empty.
///     tls: Files of certificate and key; TLS is then required.
///     most_connections: Connections at the same time.
///     most_strangers: Connections at the same time that have not logged in.
///     login_seconds: Time for a login.
///
/// Raises:
///     UsageError: The time is negative or too long.
#[pyclass(name = "ReplicaAccess", module = "paraply._native", frozen)]
pub struct PyReplicaAccess {
    user: String,
    password: String,
    tls: Option<(PathBuf, PathBuf)>,
    limits: Limits,
}

#[pymethods]
impl PyReplicaAccess {
    #[new]
    #[pyo3(signature = (user, password, *, tls=None, most_connections=256, most_strangers=16, login_seconds=10.0))]
    fn new(
        user: String,
        password: String,
        tls: Option<(PathBuf, PathBuf)>,
        most_connections: usize,
        most_strangers: usize,
        login_seconds: f64,
    ) -> PyResult<Self> {
        let patience = Duration::try_from_secs_f64(login_seconds).map_err(|error| usage(&error.to_string()))?;
        let limits = Limits { connections: most_connections, strangers: most_strangers, patience };
        Ok(Self { user, password, tls, limits })
    }
}

pub fn serve_error(error: &ServeError) -> PyErr {
    match error {
        ServeError::Log(error) => log_error(error, None),
        other => usage(&other.to_string()),
    }
}

pub fn listen(host: &str, port: u16) -> PyResult<TcpListener> {
    let failed = |error: std::io::Error| usage(&format!("{host}:{port} cannot be listened on: {error}"));
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(failed)?.collect();
    TcpListener::bind(addresses.as_slice()).map_err(failed)
}

impl PyLogServer {
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Server) -> T + Send) -> T {
        py.detach(|| act(&mut self.server.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl PyLogServer {
    #[new]
    #[pyo3(signature = (
        logs, host, port, *, access, server_id, server_uuid, follow=false, stamped=false, records_replicas=false,
    ))]
    #[allow(clippy::too_many_arguments)] // keywords in Python
    fn new(
        py: Python<'_>,
        logs: Vec<PathBuf>,
        host: &str,
        port: u16,
        access: &PyReplicaAccess,
        server_id: u32,
        server_uuid: String,
        follow: bool,
        stamped: bool,
        records_replicas: bool,
    ) -> PyResult<Self> {
        let tls = access.tls.as_ref().map(|(certificate, key)| server_config(certificate, key)).transpose();
        let tls = tls.map_err(|error| serve_error(&error))?;
        let options = Options {
            logs,
            follow,
            stamped,
            records_replicas,
            stream: None,
            identity: Identity { server_id, server_uuid },
            account: Account { user: access.user.clone(), password: access.password.clone() },
            tls,
            limits: access.limits,
        };
        let listener = listen(host, port)?;
        let server = py.detach(|| Server::start(listener, options)).map_err(|error| serve_error(&error))?;
        Ok(Self { server: Mutex::new(server) })
    }

    /// Host and port on which it listens.
    #[getter]
    fn address(&self, py: Python<'_>) -> ListenAddress {
        let address = self.with(py, |server| server.address());
        ListenAddress { host: address.ip().to_string(), port: address.port() }
    }

    /// Version that replicas see: that of the server that wrote the log.
    #[getter]
    fn server_version(&self, py: Python<'_>) -> String {
        self.with(py, |server| server.version().to_owned())
    }

    /// True unless the log's first transaction has no GTID.
    #[getter]
    fn has_gtids(&self, py: Python<'_>) -> bool {
        self.with(py, |server| server.has_gtids())
    }

    /// Return the log files with their numbers, oldest first.
    fn files(&self, py: Python<'_>) -> Vec<NumberedFile> {
        let files = self.with(py, |server| server.log().files).into_iter();
        files.map(|(number, path)| NumberedFile { number, path }).collect()
    }

    /// Return the end of the log.
    fn end(&self, py: Python<'_>) -> PyServedEnd {
        let log = self.with(py, |server| server.log());
        PyServedEnd { file: log.newest, offset: log.end, failure: log.failure.map(|failure| failure.to_string()) }
    }

    /// Raise the error of a damaged log.
    ///
    /// Raises:
    ///     LogError: The log is damaged.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        match self.with(py, |server| server.log().failure) {
            Some(failure) => Err(log_error(&failure, None)),
            None => Ok(()),
        }
    }

    /// Return a reader of the transactions that are served, as they are written.
    fn reader(&self, py: Python<'_>) -> PyLogReader {
        PyLogReader::follow_published(self.with(py, |server| server.published_log()))
    }

    /// Return the giver of new numbers; there must be one only.
    ///
    /// Args:
    ///     workers: Most workers of a replica; no number is further back.
    ///     first_number: Number of the first transaction; None for the log's own.
    ///     source_file: File of the source's log in which a relay log begins; None if not known.
    #[pyo3(signature = (workers, first_number=None, source_file=None))]
    fn numberer(
        &self,
        py: Python<'_>,
        workers: u64,
        first_number: Option<u64>,
        source_file: Option<&str>,
    ) -> PyLogNumberer {
        PyLogNumberer::new(self.with(py, |server| server.numbering(source_file)), workers, first_number)
    }

    /// Return the state of each replica that reads.
    fn replicas<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.with(py, |server| server.replicas()).into_iter().map(|replica| replica_dict(py, replica)).collect()
    }

    /// Return the last state of each replica that has ever come and is not connected.
    fn left<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.with(py, |server| server.left()).into_iter().map(|replica| replica_dict(py, replica)).collect()
    }

    /// Send to replicas that have come and were written down, where ``records_replicas`` holds them back.
    ///
    /// Args:
    ///     connections: Numbers of their connections.
    #[allow(clippy::needless_pass_by_value)] // taken over from Python
    fn recorded(&self, py: Python<'_>, connections: Vec<u32>) {
        self.with(py, |server| server.recorded(&connections));
    }

    /// Return the totals since the start.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let totals = self.with(py, |server| server.totals());
        let dict = PyDict::new(py);
        dict.set_item("connections", totals.connections)?;
        dict.set_item("refused", totals.refused)?;
        dict.set_item("dumps", totals.dumps)?;
        dict.set_item("bytes", totals.bytes)?;
        dict.set_item("transactions", totals.transactions)?;
        Ok(dict)
    }

    /// Return the events since the last call.
    fn take_notices(&self, py: Python<'_>) -> Vec<PyServeNotice> {
        self.with(py, |server| server.take_notices()).into_iter().map(PyServeNotice::from).collect()
    }

    /// End all connections and threads.
    fn stop(&self, py: Python<'_>) {
        self.with(py, Server::stop);
    }
}

/// End of a log that is served.
///
/// Attributes:
///     file: The newest file.
///     offset: Offset after its last whole transaction.
///     failure: Damage that ends the log; None if there is none.
#[pyclass(name = "ServedEnd", module = "paraply._native", frozen, get_all)]
pub struct PyServedEnd {
    file: PathBuf,
    offset: u64,
    failure: Option<String>,
}

/// Event of a server of logs.
///
/// Attributes:
///     at: Time, microseconds since 1970, UTC.
///     kind: ``replica``, ``ended``, ``refused`` or ``failed``.
///     address: The peer's address; empty for the log itself.
///     text: Description of the event.
#[pyclass(name = "ServeNotice", module = "paraply._native", frozen, get_all)]
pub struct PyServeNotice {
    at: i64,
    kind: &'static str,
    address: String,
    text: String,
}

impl From<Notice> for PyServeNotice {
    fn from(Notice { at, kind, address, text }: Notice) -> Self {
        Self { at, kind, address, text }
    }
}

fn replica_dict(py: Python<'_>, replica: Replica) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("connection_id", replica.connection_id)?;
    dict.set_item("address", replica.address)?;
    dict.set_item("server_id", replica.server_id)?;
    dict.set_item("uuid", replica.uuid)?;
    dict.set_item("host", replica.host)?;
    dict.set_item("port", replica.port)?;
    dict.set_item("connected_at", replica.connected_at)?;
    dict.set_item("received", replica.received.map(PyGtidSet::from))?;
    dict.set_item("file", replica.file)?;
    dict.set_item("position", replica.position)?;
    dict.set_item("log_number", replica.log_number)?;
    dict.set_item("received_before", replica.received_before)?;
    dict.set_item("recorded", replica.recorded)?;
    dict.set_item("bytes", replica.bytes)?;
    dict.set_item("transactions", replica.transactions)?;
    dict.set_item("skipped", replica.skipped)?;
    dict.set_item("waiting", replica.waiting)?;
    Ok(dict)
}
