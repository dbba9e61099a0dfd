//! The stream of one connection: TCP or TLS over it, with a deadline until the peer has shown who it is.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::{SockRef, TcpKeepalive};

const KEEPALIVE_TIME: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;

/// A TCP connection whose reads and writes together end at a deadline.
#[derive(Debug)]
pub(super) struct Timed {
    stream: TcpStream,
    deadline: Option<Instant>,
}

impl Timed {
    /// Takes a new connection, which has so long to log in.
    pub(super) fn new(stream: TcpStream, patience: Duration) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let keepalive = TcpKeepalive::new()
            .with_time(KEEPALIVE_TIME)
            .with_interval(KEEPALIVE_INTERVAL)
            .with_retries(KEEPALIVE_RETRIES);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
        Ok(Self { stream, deadline: Some(Instant::now() + patience) })
    }

    /// Applies the time that is left to the next call: a peer that sends a byte now and then gains nothing.
    fn arm(&self) -> io::Result<()> {
        let Some(deadline) = self.deadline else { return Ok(()) };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.set_write_timeout(Some(left))
    }

    fn set_deadline(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.deadline = deadline;
        if deadline.is_none() {
            self.stream.set_read_timeout(None)?;
            self.stream.set_write_timeout(None)?;
        }
        Ok(())
    }

    /// Returns true if the peer has closed the connection.
    fn is_closed(&self) -> bool {
        if self.stream.set_nonblocking(true).is_err() {
            return true;
        }
        let closed = match self.stream.peek(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        };
        self.stream.set_nonblocking(false).is_err() || closed
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.arm()?;
        self.stream.read(into)
    }
}

impl Write for Timed {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.arm()?;
        self.stream.write(from)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A connection, encrypted or not.
pub(super) enum Link {
    Plain(Timed),
    Tls(Box<StreamOwned<ServerConnection, Timed>>),
}

impl Link {
    /// Returns TLS over a plain connection, after its handshake.
    pub(super) fn secured(self, config: &Arc<ServerConfig>) -> io::Result<Self> {
        let Self::Plain(stream) = self else { return Ok(self) };
        let session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        let mut stream = Box::new(StreamOwned::new(session, stream));
        let StreamOwned { conn, sock } = stream.as_mut();
        while conn.is_handshaking() {
            conn.complete_io(sock)?;
        }
        Ok(Self::Tls(stream))
    }

    pub(super) fn is_encrypted(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// Gives the peer this long for everything that it does next; none for no limit.
    pub(super) fn limit(&mut self, patience: Option<Duration>) -> io::Result<()> {
        let deadline = patience.map(|patience| Instant::now() + patience);
        match self {
            Self::Plain(stream) => stream.set_deadline(deadline),
            Self::Tls(stream) => stream.sock.set_deadline(deadline),
        }
    }

    /// Returns true if the peer has closed the connection.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_closed(),
            Self::Tls(stream) => stream.sock.is_closed(),
        }
    }
}

impl Read for Link {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Link {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(from),
            Self::Tls(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
