//! The connection that a source's log is received on.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use paraply_mysql::connection::Error;
use paraply_mysql::receive::copying::{CopyError, copy_log};
use paraply_mysql::receive::{Begin, Identity, ReceiveError, receive};
use paraply_mysql::replica::ReplicaConnection;
use pyo3::prelude::*;

use crate::errors::{Cause, Where, log_error, raise};
use crate::plan::gtid::PyGtidSet;
use crate::servers::copying::PyLogCopy;
use crate::servers::mysql::{mysql_error, options};
use crate::servers::relay::{PyRelayLog, relay_error};

/// Connection that receives a source's log; every call releases the GIL.
#[pyclass(name = "ReplicaConnection", module = "paraply._native", frozen)]
pub struct PyReplicaConnection {
    connection: Mutex<Option<ReplicaConnection>>,
    connection_id: u32,
    server_version: String,
}

impl PyReplicaConnection {
    /// Takes the connection out: a log makes it of no other use.
    fn take(&self) -> PyResult<ReplicaConnection> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner).take();
        connection.ok_or_else(|| raise(Cause::ConnectionLost, "the connection is closed", &Where::default()))
    }
}

#[pymethods]
impl PyReplicaConnection {
    #[new]
    #[pyo3(signature = (host, port, user, password=None, *, socket=None, tls=None, connect_timeout=10.0, read_timeout=None))]
    #[allow(clippy::too_many_arguments)] // Python passes them by name
    fn new(
        py: Python<'_>,
        host: String,
        port: u16,
        user: String,
        password: Option<String>,
        socket: Option<String>,
        tls: Option<HashMap<String, String>>,
        connect_timeout: f64,
        read_timeout: Option<f64>,
    ) -> PyResult<Self> {
        let options = options(host, port, user, password, None, socket, tls, connect_timeout, read_timeout)?;
        let connection = py.detach(|| ReplicaConnection::open(&options)).map_err(|error| mysql_error(&error))?;
        let (connection_id, server_version) = (connection.connection_id(), connection.server_version().to_owned());
        Ok(Self { connection: Mutex::new(Some(connection)), connection_id, server_version })
    }

    #[getter]
    fn connection_id(&self) -> u32 {
        self.connection_id
    }

    #[getter]
    fn server_version(&self) -> &str {
        &self.server_version
    }

    /// Run one statement without result rows.
    ///
    /// Raises:
    ///     ServerError: The source refuses the statement.
    fn execute(&self, py: Python<'_>, sql: &str) -> PyResult<()> {
        let done = py.detach(|| {
            let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            let connection = connection.as_mut().ok_or_else(|| Error::Lost("the connection is closed".to_owned()))?;
            connection.execute(sql)
        });
        done.map_err(|error| mysql_error(&error))
    }

    /// Register as a replica and receive into a relay log, until ``relay.stop_receiving``; after that the connection is unusable.
    ///
    /// Args:
    ///     relay: The relay log to append to; every whole transaction is published at once.
    ///     server_id: Server id of this replica.
    ///     behind: MySQL: receive everything that is not in this set. None: from a file and position, or (MariaDB, with
    ///         ``slave_connect_state`` set) with an empty name.
    ///     file: File of the source's log.
    ///     position: Offset of an event in it.
    ///     semi_sync: True if the session has agreed on semi-synchronous replication: transactions that the source waits for are synced to
    ///         disk and acknowledged.
    ///     report_host: Host of this replica in the source's list of replicas.
    ///     report_port: Port of this replica in that list; 0 for none.
    ///
    /// Raises:
    ///     ConnectionLost: The source ended the connection, or was silent for longer than ``read_timeout``.
    ///     ServerError: The source refuses the request.
    ///     LogDamaged: An event contradicts itself.
    ///     RelayLogError: The relay log cannot be written.
    #[pyo3(signature = (relay, server_id, *, behind=None, file="", position=4, semi_sync=false, report_host="", report_port=0))]
    #[allow(clippy::too_many_arguments)] // keywords in Python
    fn receive(
        &self,
        py: Python<'_>,
        relay: &PyRelayLog,
        server_id: u32,
        behind: Option<&PyGtidSet>,
        file: &str,
        position: u64,
        semi_sync: bool,
        report_host: &str,
        report_port: u16,
    ) -> PyResult<()> {
        let begin = match behind {
            Some(gtids) => Begin::Behind(gtids.snapshot()),
            None => Begin::At { file: file.to_owned(), position },
        };
        let connection = self.take()?;
        let identity = Identity { server_id, host: report_host.to_owned(), port: report_port };
        let (writer, signals) = (relay.writer(), relay.signals());
        let received = py.detach(|| receive(connection, &identity, &begin, semi_sync, &writer, &signals));
        received.map_err(|error| match error {
            ReceiveError::Source(error) => mysql_error(&error),
            ReceiveError::Relay(error) => relay_error(&error),
        })
    }

    /// Register as a replica and receive the source's files into a copy, until ``copy.stop``; after that the connection is unusable.
    ///
    /// Args:
    ///     copy: The copy, which names the file and the position to start at.
    ///     server_id: Server id of this replica.
    ///     most: Number of copied or compared events after which the call returns.
    ///
    /// Raises:
    ///     ConnectionLost: The source ended the connection, or was silent for longer than ``read_timeout``.
    ///     ServerError: The source refuses the request.
    ///     LogDamaged: An event contradicts itself, does not follow the one before it, or differs from the known one.
    ///     LogNotUnderstood: The source encrypts its files, so that they cannot be copied as they are.
    #[pyo3(signature = (copy, server_id, *, most=None))]
    fn copy_log(&self, py: Python<'_>, copy: &PyLogCopy, server_id: u32, most: Option<u64>) -> PyResult<()> {
        let connection = self.take()?;
        let identity = Identity { server_id, host: String::new(), port: 0 };
        let queue = copy.queue();
        let copied = py.detach(|| copy_log(connection, &identity, most, &queue));
        copied.map_err(|error| match error {
            CopyError::Source(error) => mysql_error(&error),
            CopyError::Log(error) => log_error(&error, None),
        })
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.connection.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}
