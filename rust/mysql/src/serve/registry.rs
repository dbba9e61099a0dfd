//! List of the connections: for status queries, for the log of a running server, and to end them.

use std::collections::{HashMap, VecDeque};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use paraply_core::gtid::GtidSet;

use crate::serve::log::files::LogFile;
use crate::serve::log::log_position::LogPosition;

/// Bytes that were sent after a file before a replica is known to have received that file: more than the buffers of both
/// ends of a connection hold.
const MARGIN: u64 = 64 << 20;
/// Notices that are kept until they are asked for; older ones are dropped.
const MOST_NOTICES: usize = 1000;

/// State of one replica's dump.
#[derive(Debug, Clone, Default)]
pub struct Replica {
    /// Number of its connection.
    pub connection_id: u32,
    /// Its address, with the port of the connection.
    pub address: String,
    /// Its server id.
    pub server_id: u32,
    /// Its UUID; empty for a client such as mysqlbinlog.
    pub uuid: String,
    /// Host and port that it reports; empty and 0 for none.
    pub host: String,
    /// See `host`.
    pub port: u16,
    /// Time when its dump began, microseconds since 1970, UTC.
    pub connected_at: i64,
    /// Transactions that it had then; none for a request by file and position.
    pub received: Option<GtidSet>,
    /// File and position up to which it was sent everything, as it counts them.
    pub file: String,
    /// See `file`.
    pub position: u64,
    /// Number of the log file that is being sent.
    pub log_number: u64,
    /// Number of the log file before which it has received everything; none where that is not known.
    pub received_before: Option<u64>,
    /// Files that were begun, and the number of bytes sent before each.
    pub(super) begun: VecDeque<(u64, u64)>,
    /// True if its arrival was recorded outside of this process.
    pub recorded: bool,
    /// Bytes sent.
    pub bytes: u64,
    /// Transactions sent.
    pub transactions: u64,
    /// Transactions left out, because it had them.
    pub skipped: u64,
    /// True if everything was sent.
    pub waiting: bool,
}

/// Something that a server's operator may want to know.
#[derive(Debug, Clone)]
pub struct Notice {
    /// Microseconds since 1970, UTC.
    pub at: i64,
    /// `replica`, `ended`, `refused` or `failed`.
    pub kind: &'static str,
    /// The peer's address; empty for the log itself.
    pub address: String,
    /// Description of the event.
    pub text: String,
}

/// Totals of a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Connections accepted.
    pub connections: u64,
    /// Logins refused, and connections that broke before one.
    pub refused: u64,
    /// Dumps begun.
    pub dumps: u64,
    /// Bytes sent by dumps that have ended.
    pub bytes: u64,
    /// Transactions sent by these.
    pub transactions: u64,
}

#[derive(Debug)]
struct Peer {
    stream: TcpStream,
    logged_in: bool,
    replica: Option<Arc<Mutex<Replica>>>,
}

#[derive(Debug, Default)]
struct State {
    peers: HashMap<u32, Peer>,
    notices: VecDeque<Notice>,
    /// The last state of each replica that has left, by UUID.
    left: HashMap<String, Replica>,
    totals: Totals,
}

/// All connections of one server.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<State>);

impl Registry {
    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a connection, unless there are too many.
    pub(super) fn admit(&self, id: u32, stream: &TcpStream, most: usize, most_strangers: usize) -> bool {
        let mut state = self.locked();
        state.totals.connections += 1;
        let strangers = state.peers.values().filter(|peer| !peer.logged_in).count();
        let Ok(stream) = stream.try_clone() else { return false };
        if state.peers.len() >= most || strangers >= most_strangers {
            return false;
        }
        state.peers.insert(id, Peer { stream, logged_in: false, replica: None });
        true
    }

    pub(super) fn logged_in(&self, id: u32) {
        if let Some(peer) = self.locked().peers.get_mut(&id) {
            peer.logged_in = true;
        }
    }

    /// Registers a dump. A replica that comes again ends its earlier connection, as on a server.
    pub(super) fn begin(&self, replica: Replica) -> Progress {
        let mut state = self.locked();
        let (id, uuid) = (replica.connection_id, replica.uuid.clone());
        state.totals.dumps += 1;
        state.left.remove(&uuid);
        for peer in state.peers.values() {
            let same = |replica: &Arc<Mutex<Replica>>| locked(replica).uuid == uuid;
            if !uuid.is_empty() && peer.replica.as_ref().is_some_and(same) {
                shut(&peer.stream);
            }
        }
        let replica = Arc::new(Mutex::new(replica));
        if let Some(peer) = state.peers.get_mut(&id) {
            peer.replica = Some(Arc::clone(&replica));
        }
        Progress(replica)
    }

    /// Forgets a connection.
    pub(super) fn ended(&self, id: u32) {
        let mut state = self.locked();
        if let Some(replica) = state.peers.remove(&id).and_then(|peer| peer.replica) {
            let replica = locked(&replica).clone();
            state.totals.bytes += replica.bytes;
            state.totals.transactions += replica.transactions;
            if !replica.uuid.is_empty() {
                state.left.insert(replica.uuid.clone(), replica);
            }
        }
    }

    /// Returns the last state of each replica that has ever come and is not connected, if it named its UUID.
    pub(super) fn left(&self) -> Vec<Replica> {
        self.locked().left.values().cloned().collect()
    }

    pub(super) fn note(&self, kind: &'static str, address: Option<SocketAddr>, text: impl Into<String>) {
        let address = address.map(|address| address.to_string()).unwrap_or_default();
        let mut state = self.locked();
        if kind == "refused" {
            state.totals.refused += 1;
        }
        if state.notices.len() == MOST_NOTICES {
            state.notices.pop_front();
        }
        state.notices.push_back(Notice { at: now(), kind, address, text: text.into() });
    }

    pub(super) fn take_notices(&self) -> Vec<Notice> {
        self.locked().notices.drain(..).collect()
    }

    pub(super) fn replicas(&self) -> Vec<Replica> {
        let state = self.locked();
        let mut found: Vec<_> = state
            .peers
            .values()
            .filter_map(|peer| peer.replica.as_ref())
            .map(|replica| locked(replica).clone())
            .collect();
        found.sort_by_key(|replica| replica.connection_id);
        found
    }

    /// Notes that the replicas of these connections were recorded.
    pub(super) fn recorded(&self, connections: &[u32]) {
        let state = self.locked();
        for replica in connections.iter().filter_map(|id| state.peers.get(id)?.replica.as_ref()) {
            locked(replica).recorded = true;
        }
    }

    pub(super) fn totals(&self) -> Totals {
        let mut totals = self.locked().totals;
        for replica in self.replicas() {
            totals.bytes += replica.bytes;
            totals.transactions += replica.transactions;
        }
        totals
    }

    /// Ends all connections.
    pub(super) fn end_all(&self) {
        for peer in self.locked().peers.values() {
            shut(&peer.stream);
        }
    }
}

/// A dump's report of how far it is.
#[derive(Debug)]
pub(super) struct Progress(Arc<Mutex<Replica>>);

impl Progress {
    pub(super) fn moved(&self, log: &LogFile, log_position: Option<&LogPosition>, bytes: u64) {
        let mut replica = locked(&self.0);
        if let Some(log_position) = log_position {
            if *replica.file != *log_position.file {
                replica.file = log_position.file.to_string();
            }
            replica.position = log_position.position;
        }
        if replica.begun.back().is_none_or(|&(number, _)| number != log.number) {
            replica.begun.push_back((log.number, bytes));
        }
        while let Some(&(number, before)) = replica.begun.front()
            && before + MARGIN <= bytes
        {
            replica.received_before = Some(number);
            replica.begun.pop_front();
        }
        (replica.log_number, replica.bytes) = (log.number, bytes);
    }

    pub(super) fn is_recorded(&self) -> bool {
        locked(&self.0).recorded
    }

    pub(super) fn counted(&self, sent: bool) {
        let mut replica = locked(&self.0);
        if sent {
            replica.transactions += 1;
        } else {
            replica.skipped += 1;
        }
    }

    pub(super) fn wait(&self, waiting: bool) {
        locked(&self.0).waiting = waiting;
    }
}

fn locked(replica: &Mutex<Replica>) -> MutexGuard<'_, Replica> {
    replica.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a connection, whose thread notices it; one that is gone already needs no more.
fn shut(stream: &TcpStream) {
    drop(stream.shutdown(Shutdown::Both));
}

pub(super) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as i64)
}
