//! A source for replicas of MySQL: serves log files by file and position or by GTIDs, to several replicas at once.
//!
//! One thread serves one replica: it reads the files with its own descriptor and writes to its own socket, so that a slow
//! replica only makes its own thread wait. A further thread looks for what is appended to the log. Only whole
//! transactions are sent.

mod error;
mod link;
mod log;
mod registry;
mod session;
mod shared;
mod stream;
mod tls;
mod wire;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use paraply_binlog::error::LogError;
use rustls::ServerConfig;
use socket2::SockRef;

pub use crate::serve::error::ServeError;
use crate::serve::link::{Link, Timed};
pub use crate::serve::log::numbering::{Begun, Numbering};
pub use crate::serve::log::published::PublishedLog;
use crate::serve::log::watcher::Watcher;
use crate::serve::registry::Registry;
pub use crate::serve::registry::{Notice, Replica, Totals};
pub use crate::serve::session::login::Account;
use crate::serve::session::login::{Denied, Greeting, Method, log_in};
use crate::serve::shared::Shared;
pub use crate::serve::shared::{Identity, Limits};
pub use crate::serve::stream::{Packets, Stream, Transactions};
pub use crate::serve::tls::server_config;
use crate::serve::wire::{Refusal, Wire};

/// Pause between two looks at the log's end, and their number between two looks at its folder.
const LOOK: Duration = Duration::from_millis(10);
const FOLDER_LOOKS: u32 = 10;
/// Time after which the thread that accepts connections looks for the end.
const ACCEPT: Duration = Duration::from_millis(200);

/// Options of a server.
#[derive(Debug, Clone)]
pub struct Options {
    /// The log files, in order.
    pub logs: Vec<PathBuf>,
    /// True to serve later files of the last one's series too.
    pub follow: bool,
    /// True if transactions get new numbers: they are sent once [`Server::numbering`] gave them some.
    pub stamped: bool,
    /// True to send a replica nothing before [`Server::recorded`] named its connection.
    pub records_replicas: bool,
    /// Transactions to serve in place of logs.
    pub stream: Option<Stream>,
    /// Its identity.
    pub identity: Identity,
    /// The one user.
    pub account: Account,
    /// TLS, which is then required.
    pub tls: Option<Arc<ServerConfig>>,
    /// Limits for peers.
    pub limits: Limits,
}

/// State of the log that is served.
#[derive(Debug, Clone)]
pub struct LogState {
    /// Paths of the files, oldest first, each with its number.
    pub files: Vec<(u64, PathBuf)>,
    /// Path of the newest file.
    pub newest: PathBuf,
    /// Offset after its last whole transaction.
    pub end: u64,
    /// Damage that ends it.
    pub failure: Option<LogError>,
}

/// A running server. Dropped without [`stop`](Self::stop), its threads go on.
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    threads: Vec<JoinHandle<()>>,
    sessions: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Server {
    /// Opens the logs, listens, and serves until it is stopped.
    ///
    /// # Errors
    /// A log cannot be served, or the listener has no further threads.
    pub fn start(listener: TcpListener, options: Options) -> Result<Self, ServeError> {
        if options.account.password.is_empty() || options.account.user.is_empty() {
            return Err(ServeError::Usage("a user and a password are needed: nobody reads the log without".to_owned()));
        }
        let (watcher, files, version) = if let Some(stream) = &options.stream {
            (None, Arc::default(), stream.version.clone())
        } else {
            let (watcher, files) = Watcher::open(&options.logs, options.follow, options.stamped)?;
            let version = files.list().last().map(|file| file.version.clone()).unwrap_or_default();
            (Some(watcher), files, version)
        };
        let address = listener.local_addr()?;
        SockRef::from(&listener).set_read_timeout(Some(ACCEPT))?;
        let shared = Arc::new(Shared {
            files,
            registry: Registry::default(),
            identity: options.identity,
            account: options.account,
            tls: options.tls,
            limits: options.limits,
            version,
            records_replicas: options.records_replicas,
            stream: options.stream,
            stopped: AtomicBool::new(false),
        });
        let sessions = Arc::default();
        let mut threads = Vec::new();
        if let Some(watcher) = watcher {
            let shared = Arc::clone(&shared);
            let watch = move || watch(&shared, watcher);
            threads.push(thread::Builder::new().name("paraply-log".to_owned()).spawn(watch)?);
        }
        let accept = {
            let (shared, sessions) = (Arc::clone(&shared), Arc::clone(&sessions));
            let accept = move || accept(&shared, &listener, &sessions);
            thread::Builder::new().name("paraply-accept".to_owned()).spawn(accept)?
        };
        threads.push(accept);
        Ok(Self { shared, address, threads, sessions })
    }

    /// Returns the address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the log as it is written, for its new numbers.
    pub fn published_log(&self) -> PublishedLog {
        PublishedLog::new(Arc::clone(&self.shared.files))
    }

    /// Returns the giver of new numbers; there must be one only.
    ///
    /// `source_file` is the file of the source's log in which a relay log begins, if that is known. Without it the
    /// counters start over with the first transaction anyway.
    pub fn numbering(&self, source_file: Option<&str>) -> Numbering {
        Numbering::new(Arc::clone(&self.shared.files), source_file)
    }

    /// Returns the replicas that are connected.
    pub fn replicas(&self) -> Vec<Replica> {
        self.shared.registry.replicas()
    }

    /// Returns the last state of each replica that has ever come and is not connected, if it named its UUID.
    pub fn left(&self) -> Vec<Replica> {
        self.shared.registry.left()
    }

    /// Sends to the replicas of these connections, where [`Options::records_replicas`] holds them back.
    pub fn recorded(&self, connections: &[u32]) {
        self.shared.registry.recorded(connections);
    }

    /// Returns the totals since the start.
    pub fn totals(&self) -> Totals {
        self.shared.registry.totals()
    }

    /// Returns the version that replicas see: that of the log.
    pub fn version(&self) -> &str {
        &self.shared.version
    }

    /// Returns true if the log has GTIDs.
    pub fn has_gtids(&self) -> bool {
        self.shared.has_gtids()
    }

    /// Returns the state of the log.
    pub fn log(&self) -> LogState {
        let list = self.shared.files.list();
        let newest = list.last();
        LogState {
            files: list.iter().map(|file| (file.number, file.path.clone())).collect(),
            newest: newest.map(|file| file.path.clone()).unwrap_or_default(),
            end: newest.map_or(0, |file| file.extent().0),
            failure: self.shared.files.failure(),
        }
    }

    /// Returns the events since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.shared.registry.take_notices()
    }

    /// Ends all connections and threads.
    pub fn stop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.files.close();
        self.shared.registry.end_all();
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
        // A connection that was accepted meanwhile is known now.
        self.shared.registry.end_all();
        let sessions = std::mem::take(&mut *self.sessions.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in sessions {
            drop(thread.join());
        }
    }
}

/// Looks for what is appended to the log, until the server is stopped.
fn watch(shared: &Shared, mut watcher: Watcher) {
    let (mut looks, mut failed) = (0_u32, false);
    while !shared.stopped.load(Ordering::SeqCst) {
        looks = looks.wrapping_add(1);
        if watcher.look(looks.is_multiple_of(FOLDER_LOOKS)) {
            continue;
        }
        if let Some(failure) = shared.files.failure().filter(|_| !failed) {
            failed = true;
            shared.registry.note("failed", None, failure.to_string());
        }
        thread::sleep(LOOK);
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener, sessions: &Mutex<Vec<JoinHandle<()>>>) {
    let next = AtomicU32::new(1);
    while !shared.stopped.load(Ordering::SeqCst) {
        let Ok((stream, address)) = listener.accept() else { continue };
        let id = next.fetch_add(1, Ordering::Relaxed);
        if !shared.registry.admit(id, &stream, shared.limits.connections, shared.limits.strangers) {
            shared.registry.note("refused", Some(address), "too many connections");
            drop(turn_away(stream));
            continue;
        }
        let mine = Arc::clone(shared);
        let session = move || {
            meet(&mine, stream, id, address);
            mine.registry.ended(id);
        };
        let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|session| !session.is_finished());
        match thread::Builder::new().name(format!("paraply-replica-{id}")).spawn(session) {
            Ok(thread) => sessions.push(thread),
            Err(error) => {
                shared.registry.ended(id);
                shared.registry.note("refused", Some(address), error.to_string());
            }
        }
    }
}

/// Tells a peer that there are too many connections.
fn turn_away(stream: TcpStream) -> io::Result<()> {
    Wire::new(Timed::new(stream, ACCEPT)?).error(&Refusal::new(1040, "08004", "Too many connections"))
}

/// Serves one connection from its greeting to its end.
fn meet(shared: &Arc<Shared>, stream: TcpStream, id: u32, address: SocketAddr) {
    let version = shared.greeted_version();
    let greeting = Greeting {
        version: &version,
        method: if shared.mariadb() { Method::Native } else { Method::CachingSha2 },
        connection_id: id,
        account: &shared.account,
        tls: shared.tls.as_ref(),
    };
    let opened = Timed::new(stream, shared.limits.patience).map_err(Denied::from);
    let wire = match opened.and_then(|stream| log_in(Link::Plain(stream), &greeting)) {
        Ok(wire) => wire,
        Err(denied) => {
            let text = match denied {
                Denied::Broken(error) => format!("the login was broken off: {error}"),
                Denied::Refused(reason) => format!("the login was refused: {reason}"),
            };
            return shared.registry.note("refused", Some(address), text);
        }
    };
    shared.registry.logged_in(id);
    match session::serve(shared, wire, id, address) {
        Ok(text) if text.is_empty() => {}
        Ok(text) => shared.registry.note("ended", Some(address), text),
        Err(error) => shared.registry.note("ended", Some(address), format!("the connection broke: {error}")),
    }
}

#[cfg(test)]
mod tests;
