//! The bench's proxy for a server that should appear further away.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use paraply_bench::{DelayingProxy, Server};
use pyo3::prelude::*;

use crate::errors::usage;

/// Longest time that a signal waits.
const TURN: Duration = Duration::from_millis(100);

/// Proxy on a loopback port that delays every request to a server; answers are not delayed.
///
/// Args:
///     port: Port to listen on; 0 for any free port.
///     host: Host of the server, or the path of its socket.
///     server_port: Port of the server; ignored with a path.
///     seconds: Delay of each request.
///
/// Raises:
///     OSError: The port is in use.
#[pyclass(name = "DelayingProxy", module = "paraply._native", frozen)]
pub struct PyDelayingProxy {
    proxy: Mutex<DelayingProxy>,
    port: u16,
}

#[pymethods]
impl PyDelayingProxy {
    #[new]
    fn new(port: u16, host: String, server_port: u16, seconds: f64) -> PyResult<Self> {
        let delay = Duration::try_from_secs_f64(seconds).map_err(|_| usage("the delay is no number of seconds"))?;
        let server = if host.starts_with('/') { Server::File(host.into()) } else { Server::Port(host, server_port) };
        let proxy = DelayingProxy::listen(port, server, delay)?;
        let port = proxy.port()?;
        Ok(Self { proxy: Mutex::new(proxy), port })
    }

    /// Port on which it listens.
    #[getter]
    fn port(&self) -> u16 {
        self.port
    }

    /// Forward data for a tenth of a second, without the GIL; call it again and again.
    fn serve(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.proxy.lock().unwrap_or_else(PoisonError::into_inner).serve(TURN))?;
        py.check_signals()
    }
}
