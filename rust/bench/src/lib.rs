//! A server that appears further away: a proxy that delays every request, and forwards answers at once.
//!
//! One thread serves all connections. Bytes that are due at the same time are sent on one wake-up. A wake-up costs the
//! same with many connections as with few, so the proxy takes little CPU time from the measured programs.

#![cfg(target_os = "linux")] // epoll, and the time at which bytes came

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Bytes read at once.
const CHUNK: usize = 1 << 18;
/// Number of held bytes from which a sender has to wait until the receiver has read some.
const MOST_HELD: usize = 1 << 24;
/// Number of sockets that one wake-up reports; the others are reported by the next one.
const MOST_READY: usize = 64;
/// No time.
const NONE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// Number of the listener; the sockets of a link are numbered by twice its index, plus one for the server's.
const LISTENER: u64 = u64::MAX;

/// Address of the server.
#[derive(Debug, Clone)]
pub enum Server {
    /// A host and its port.
    Port(String, u16),
    /// A socket file on this machine, which takes less CPU time than a second pass through the network's layers.
    File(PathBuf),
}

/// Listens on a loopback port for a server.
#[derive(Debug)]
pub struct DelayingProxy {
    listener: TcpListener,
    server: Server,
    delay: Duration,
    /// Reports sockets that can be read or written.
    watch: OwnedFd,
    /// Links; the slot of one that has ended is reused.
    links: Vec<Option<Link>>,
    chunk: Vec<u8>,
}

/// A client's connection with that to the server.
#[derive(Debug)]
struct Link {
    near: TcpStream,
    far: Box<dyn Socket>,
    requests: Way,
    answers: Way,
    /// Events to wait for: on the client's socket, and on the server's.
    watched: (EventFlags, EventFlags),
}

/// An end of a link.
trait Socket: Read + Write + AsFd + Send + std::fmt::Debug {
    /// Tells the peer that nothing more comes; it may be gone already.
    fn end(&self);

    /// Reads the bytes that have come, and returns the time of their arrival.
    fn receive(&mut self, chunk: &mut [u8]) -> io::Result<(usize, Instant)> {
        Ok((self.read(chunk)?, Instant::now()))
    }
}

impl Socket for TcpStream {
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Write);
    }

    /// Reads with the system's time of arrival: before this process gets to read, others may have had the CPU, and
    /// separate arrivals would become one burst.
    fn receive(&mut self, chunk: &mut [u8]) -> io::Result<(usize, Instant)> {
        let mut room = nix::cmsg_space!(TimeSpec);
        let mut into = [IoSliceMut::new(chunk)];
        let message = recvmsg::<()>(self.as_raw_fd(), &mut into, Some(&mut room), MsgFlags::empty())?;
        let noted = message.cmsgs()?.find_map(|note| match note {
            ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
            _ => None,
        });
        let clock = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME)?);
        let now = Instant::now();
        let came = noted.and_then(|noted| now.checked_sub(clock.saturating_sub(noted)));
        Ok((message.bytes, came.unwrap_or(now)))
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
    /// True if the sender has closed its side; nothing more comes.
    ended: bool,
    /// True if the receiver was told that the sender has closed.
    closed: bool,
    /// True if the receiver did not take everything that was due.
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
        let watch = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&watch, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        Ok(Self { listener, server, delay, watch, links: Vec::new(), chunk: vec![0; CHUNK] })
    }

    /// Returns the port that leads to the server.
    ///
    /// # Errors
    ///
    /// The system does not report the port.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.listener.local_addr()?.port())
    }

    /// Forwards what comes and what becomes due, until some time has passed or a signal came.
    ///
    /// # Errors
    ///
    /// The listener broke. A connection that breaks ends for both sides, and the others go on.
    pub fn serve(&mut self, time: Duration) -> io::Result<()> {
        let end = Instant::now() + time;
        let mut ready = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; MOST_READY];
        loop {
            let now = Instant::now();
            let mut wake = end;
            for (place, slot) in self.links.iter_mut().enumerate() {
                let Some(link) = slot else { continue };
                if link.flush(now) {
                    link.watch(&self.watch, place)?;
                    wake = link.due().map_or(wake, |due| due.min(wake));
                } else {
                    *slot = None; // closed, its sockets are not watched any more
                }
            }
            if now >= end {
                return Ok(());
            }
            let wait = wake.saturating_duration_since(Instant::now());
            let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
            // The epoll's own wait counts in whole milliseconds on systems that lack a finer one.
            let waited = poll(&mut [PollFd::new(&self.watch, PollFlags::IN)], Some(&wait));
            let count =
                match waited.and_then(|_| epoll::wait(&self.watch, &mut ready, Some(&NONE))).map_err(io::Error::from) {
                    Ok(count) => count,
                    Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
                    Err(error) => return Err(error),
                };
            for event in &ready[..count] {
                self.take(*event)?;
            }
        }
    }

    /// Reads from a socket, or accepts a new connection; requests become due later.
    fn take(&mut self, event: Event) -> io::Result<()> {
        let (flags, socket) = (event.flags, event.data.u64());
        if socket == LISTENER {
            return self.accept();
        }
        if flags == EventFlags::OUT {
            return Ok(()); // stuck bytes are tried before every wait
        }
        let link = usize::try_from(socket / 2).ok().and_then(|place| self.links.get_mut(place)?.as_mut());
        match link {
            Some(link) if socket % 2 == 0 => link.requests.take(&mut link.near, &mut self.chunk, self.delay),
            Some(link) => link.answers.take(&mut *link.far, &mut self.chunk, Duration::ZERO),
            None => {}
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        loop {
            let near = match self.listener.accept() {
                Ok((near, _)) => near,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            // If there is no server, the client sees a connection that ends at once.
            if let Ok(far) = self.server.connect() {
                near.set_nodelay(true)?;
                near.set_nonblocking(true)?;
                setsockopt(&near, sockopt::ReceiveTimestampns, &true)?;
                let place = self.links.iter().position(Option::is_none).unwrap_or(self.links.len());
                let link = Link::new(near, far);
                epoll::add(&self.watch, &link.near, EventData::new_u64(2 * place as u64), link.watched.0)?;
                epoll::add(&self.watch, link.far.as_fd(), EventData::new_u64(2 * place as u64 + 1), link.watched.1)?;
                if place == self.links.len() {
                    self.links.push(None);
                }
                self.links[place] = Some(link);
            }
        }
    }
}

impl Link {
    fn new(near: TcpStream, far: Box<dyn Socket>) -> Self {
        let watched = (EventFlags::IN, EventFlags::IN);
        Self { near, far, requests: Way::default(), answers: Way::default(), watched }
    }

    /// Sends what is due; returns false when both sides have ended.
    fn flush(&mut self, now: Instant) -> bool {
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

    /// Updates the events to wait for on its sockets.
    fn watch(&mut self, watch: &OwnedFd, place: usize) -> io::Result<()> {
        let near = self.requests.reads() | self.answers.writes();
        let far = self.answers.reads() | self.requests.writes();
        if self.watched.0 != near {
            epoll::modify(watch, &self.near, EventData::new_u64(2 * place as u64), near)?;
        }
        if self.watched.1 != far {
            epoll::modify(watch, self.far.as_fd(), EventData::new_u64(2 * place as u64 + 1), far)?;
        }
        self.watched = (near, far);
        Ok(())
    }
}

impl Way {
    fn reads(&self) -> EventFlags {
        if self.ended || self.bytes >= MOST_HELD { EventFlags::empty() } else { EventFlags::IN }
    }

    fn writes(&self) -> EventFlags {
        if self.stuck { EventFlags::OUT } else { EventFlags::empty() }
    }

    /// Reads the bytes that the sender has sent.
    fn take(&mut self, from: &mut dyn Socket, chunk: &mut [u8], delay: Duration) {
        if self.ended {
            return;
        }
        match from.receive(chunk) {
            Ok((0, _)) => self.ended = true,
            Ok((count, came)) => {
                self.bytes += count;
                self.held.push_back((came + delay, chunk[..count].to_vec()));
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => self.ended = true,
        }
    }

    /// Writes what is due to the receiver.
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
