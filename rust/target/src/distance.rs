//! A server that is further away: a proxy that holds every request back for a while, and passes answers on at once.
//!
//! One thread serves all connections. What is due at the same time goes out on one wake-up, so that the proxy takes little of the
//! machine that the measured programs run on.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Read at once.
const CHUNK: usize = 1 << 18;
/// From here on a side has to wait until the other one has taken what it sent.
const MOST_HELD: usize = 1 << 24;

/// Where the server listens.
#[derive(Debug, Clone)]
pub enum Server {
    /// A host and its port.
    Port(String, u16),
    /// On this machine, where a socket file takes less of it than a second way through the network's layers.
    File(PathBuf),
}

/// Listens on a loopback port for a server.
#[derive(Debug)]
pub struct DelayingProxy {
    listener: TcpListener,
    server: Server,
    delay: Duration,
    links: Vec<Link>,
    chunk: Vec<u8>,
}

/// A client's connection with that to the server.
#[derive(Debug)]
struct Link {
    near: TcpStream,
    far: Box<dyn Socket>,
    requests: Way,
    answers: Way,
}

/// An end of a link.
trait Socket: Read + Write + AsFd + Send + std::fmt::Debug {
    /// Tells the other end that nothing more comes; it may be gone already.
    fn end(&self);
}

impl Socket for TcpStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

impl Socket for UnixStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }
}

impl Server {
    fn connect(&self) -> io::Result<Box<dyn Socket>> {
        Ok(match self {
            Self::Port(host, port) => {
                let socket = TcpStream::connect((host.as_str(), *port))?;
                socket.set_nodelay(true)?;
                socket.set_nonblocking(true)?;
                Box::new(socket)
            }
            Self::File(path) => {
                let socket = UnixStream::connect(path)?;
                socket.set_nonblocking(true)?;
                Box::new(socket)
            }
        })
    }
}

/// One direction of a link.
#[derive(Debug, Default)]
struct Way {
    held: VecDeque<(Instant, Vec<u8>)>,
    bytes: usize,
    /// The sender has closed its side; nothing more comes.
    ended: bool,
    /// That was told to the receiver.
    closed: bool,
    /// The receiver did not take everything that was due.
    stuck: bool,
}

impl DelayingProxy {
    /// Begins to listen.
    ///
    /// # Errors
    ///
    /// The port is taken.
    pub fn listen(port: u16, server: Server, delay: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, server, delay, links: Vec::new(), chunk: vec![0; CHUNK] })
    }

    /// The port that leads to the server.
    ///
    /// # Errors
    ///
    /// The system does not tell.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Passes on what comes and what becomes due, until some time has passed or a signal came.
    ///
    /// # Errors
    ///
    /// The listener broke. A connection that breaks ends for both sides, and the others go on.
    pub fn serve(&mut self, time: Duration) -> io::Result<()> {
        let end = Instant::now() + time;
        loop {
            self.links.retain_mut(Link::flush);
            let now = Instant::now();
            if now >= end {
                return Ok(());
            }
            let wake = self.links.iter().filter_map(Link::due).min().map_or(end, |due| due.min(end));
            let ready = match self.wait(wake.saturating_duration_since(now)) {
                Ok(ready) => ready,
                Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
                Err(error) => return Err(error),
            };
            let now = Instant::now();
            for (index, link) in self.links.iter_mut().enumerate() {
                if ready[1 + 2 * index] {
                    link.requests.take(&mut link.near, &mut self.chunk, now + self.delay);
                }
                if ready[2 + 2 * index] {
                    link.answers.take(&mut *link.far, &mut self.chunk, now);
                }
            }
            if ready[0] {
                self.accept()?;
            }
        }
    }

    /// Waits until a socket has something or time is up; says for the listener and both sockets of each link whether it can be read.
    fn wait(&self, time: Duration) -> io::Result<Vec<bool>> {
        let mut sockets = Vec::with_capacity(1 + 2 * self.links.len());
        sockets.push(PollFd::new(&self.listener, PollFlags::IN));
        for link in &self.links {
            sockets.push(PollFd::new(&link.near, link.requests.reads() | link.answers.writes()));
            sockets.push(PollFd::new(&link.far, link.answers.reads() | link.requests.writes()));
        }
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        poll(&mut sockets, Some(&time))?;
        Ok(sockets.iter().map(|socket| !socket.revents().difference(PollFlags::OUT).is_empty()).collect())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let near = match self.listener.accept() {
                Ok((near, _)) => near,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            // A server that is not there is to the client a connection that ends at once.
            if let Ok(far) = self.server.connect() {
                near.set_nodelay(true)?;
                near.set_nonblocking(true)?;
                self.links.push(Link { near, far, requests: Way::default(), answers: Way::default() });
            }
        }
    }
}

impl Link {
    /// Sends what is due; false when both sides have ended.
    fn flush(&mut self) -> bool {
        let now = Instant::now();
        self.requests.flush(&mut *self.far, now);
        self.answers.flush(&mut self.near, now);
        !(self.requests.closed && self.answers.closed)
    }

    fn due(&self) -> Option<Instant> {
        [&self.requests, &self.answers]
            .into_iter()
            .filter(|way| !way.stuck)
            .filter_map(|way| Some(way.held.front()?.0))
            .min()
    }
}

impl Way {
    fn reads(&self) -> PollFlags {
        if self.ended || self.bytes >= MOST_HELD { PollFlags::empty() } else { PollFlags::IN }
    }

    fn writes(&self) -> PollFlags {
        if self.stuck { PollFlags::OUT } else { PollFlags::empty() }
    }

    /// Reads what the sender has sent.
    fn take(&mut self, from: &mut dyn Socket, chunk: &mut [u8], due: Instant) {
        if self.ended {
            return;
        }
        match from.read(chunk) {
            Ok(0) => self.ended = true,
            Ok(count) => {
                self.bytes += count;
                self.held.push_back((due, chunk[..count].to_vec()));
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.ended = true,
        }
    }

    /// Hands the receiver what is due.
    fn flush(&mut self, to: &mut dyn Socket, now: Instant) {
        self.stuck = false;
        while let Some((due, bytes)) = self.held.front_mut()
            && *due <= now
        {
            match to.write(bytes) {
                Ok(count) => {
                    self.bytes -= count;
                    bytes.drain(..count);
                    if bytes.is_empty() {
                        self.held.pop_front();
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stuck = true;
                    return;
                }
                Err(_) => {
                    self.held.clear();
                    self.ended = true;
                }
            }
        }
        if self.ended && self.held.is_empty() && !self.closed {
            self.closed = true;
            to.end();
        }
    }
}

#[cfg(test)]
mod tests;
