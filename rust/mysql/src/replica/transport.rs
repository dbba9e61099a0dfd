//! The stream of a replica's connection: TCP, a unix socket, or TLS over TCP.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ClientConnection, StreamOwned};
use socket2::{SockRef, TcpKeepalive};

use crate::connection::{Error, Options};
use crate::replica::packets::lost;
use crate::replica::tls;

/// Idle time before a probe: a server that vanishes without notice (power, network) is noticed within a minute, not
/// after two hours.
const KEEPALIVE_TIME: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;

pub(super) enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Transport {
    /// Connects, by the socket where one is named.
    pub(super) fn open(options: &Options) -> Result<Self, Error> {
        if let Some(socket) = &options.socket {
            let stream = UnixStream::connect(socket).map_err(|error| unreachable_at(socket, &error))?;
            stream.set_read_timeout(Some(options.login_limit())).map_err(|error| lost(&error))?;
            return Ok(Self::Unix(stream));
        }
        let place = format!("{}:{}", options.host, options.port);
        let stream = connect(options).map_err(|error| unreachable_at(&place, &error))?;
        prepare(&stream, options).map_err(|error| lost(&error))?;
        Ok(Self::Tcp(stream))
    }

    /// Sets the time of silence after which a read fails; none for no limit.
    pub(super) fn set_read_limit(&self, limit: Option<Duration>) -> Result<(), Error> {
        let set = match self {
            Self::Tcp(stream) => stream.set_read_timeout(limit),
            Self::Unix(stream) => stream.set_read_timeout(limit),
            Self::Tls(stream) => stream.sock.set_read_timeout(limit),
        };
        set.map_err(|error| lost(&error))
    }

    /// Returns true if the connection cannot be read by others.
    pub(super) fn is_private(&self) -> bool {
        !matches!(self, Self::Tcp(_))
    }

    /// Returns TLS over TCP; other streams stay unchanged.
    pub(super) fn secured(self, options: &Options) -> Result<Self, Error> {
        let Self::Tcp(stream) = self else { return Ok(self) };
        let config = tls::client_config(&options.tls)?;
        let name = tls::server_name(&options.host)?;
        let session = ClientConnection::new(Arc::new(config), name).map_err(|error| Error::Tls(error.to_string()))?;
        let mut stream = Box::new(StreamOwned::new(session, stream));
        // Otherwise an untrusted certificate would only be noticed with the first packet.
        let StreamOwned { conn, sock } = stream.as_mut();
        while conn.is_handshaking() {
            conn.complete_io(sock).map_err(|error| lost(&error))?;
        }
        Ok(Self::Tls(stream))
    }
}

fn connect(options: &Options) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    // An IPv6 address may be in brackets.
    let host = options.host.trim_start_matches('[').trim_end_matches(']');
    for address in (host, options.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, options.connect_timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn prepare(stream: &TcpStream, options: &Options) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(options.login_limit()))?;
    let keepalive =
        TcpKeepalive::new().with_time(KEEPALIVE_TIME).with_interval(KEEPALIVE_INTERVAL).with_retries(KEEPALIVE_RETRIES);
    SockRef::from(stream).set_tcp_keepalive(&keepalive)
}

fn unreachable_at(place: &str, error: &io::Error) -> Error {
    Error::Lost(match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => format!("{place} does not answer"),
        _ => format!("{place} cannot be connected to: {error}"),
    })
}

impl Read for Transport {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(from),
            Self::Unix(stream) => stream.write(from),
            Self::Tls(stream) => stream.write(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
