//! The requests of one peer, up to its request for the log.

pub(in crate::serve) mod login;
pub(in crate::serve) mod request;
mod variables;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use paraply_core::gtid::GtidSet;

use crate::serve::link::Link;
use crate::serve::log::dump::Dump;
use crate::serve::log::start::{self, Start};
use crate::serve::log::terms::{End, Terms};
use crate::serve::registry::{Progress, Replica, now};
use crate::serve::session::request::{DumpRequest, Registration, commands};
use crate::serve::session::variables::{Answer, Variables, answer};
use crate::serve::shared::Shared;
use crate::serve::stream::Stream;
use crate::serve::wire::{EventSink, Refusal, Wire};

/// Longest request: a GTID set of a hundred thousand intervals has two megabytes.
const LONGEST_REQUEST: usize = 16 << 20;
/// Time that a peer may take for a request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for which a request waits for new numbers: less than a replica waits for an answer.
const NUMBERS: Duration = Duration::from_secs(30);
/// Pause between two looks at the numbers, or at whether a replica was recorded.
const LOOK: Duration = Duration::from_millis(100);

/// Answers a peer that has logged in, until it leaves; returns what there is to say about its end.
pub(in crate::serve) fn serve(
    shared: &Arc<Shared>,
    mut wire: Wire<Link>,
    id: u32,
    address: SocketAddr,
) -> io::Result<String> {
    let mut variables = Variables::default();
    let mut registration = Registration::default();
    loop {
        wire.begin();
        let packet = limited(&mut wire, |wire| wire.read(LONGEST_REQUEST))?;
        let Some((&command, body)) = packet.split_first() else { return Ok(String::new()) };
        match command {
            commands::QUIT => return Ok(String::new()),
            commands::PING => wire.ok()?,
            commands::QUERY => query(shared, &mut wire, &mut variables, &String::from_utf8_lossy(body))?,
            commands::REGISTER_REPLICA => match request::registration(body) {
                Ok(read) => {
                    registration = read;
                    wire.ok()?;
                }
                Err(_) => wire.error(&malformed())?,
            },
            commands::BINLOG_DUMP | commands::BINLOG_DUMP_GTID => {
                let read = if command == commands::BINLOG_DUMP { request::dump } else { request::dump_gtid };
                let Ok(request) = read(body) else {
                    wire.error(&malformed())?;
                    continue;
                };
                let replica = Replica {
                    connection_id: id,
                    address: address.to_string(),
                    server_id: request.server_id,
                    uuid: variables.replica_uuid.clone(),
                    host: registration.host,
                    port: registration.port,
                    connected_at: now(),
                    received: request.received.clone().or_else(|| position(shared, &variables)),
                    ..Replica::default()
                };
                return dump(shared, wire, &variables, &request, (replica, address));
            }
            _ => wire.error(&Refusal::new(1047, "08S01", "Unknown command"))?,
        }
    }
}

/// Returns the position of a replica of MariaDB, which states it before it asks for the log.
fn position(shared: &Shared, variables: &Variables) -> Option<GtidSet> {
    variables.connect_state.clone().filter(|_| shared.mariadb())
}

fn malformed() -> Refusal {
    Refusal::new(1835, "HY000", "Malformed communication packet.")
}

/// Runs a part of the exchange within the peer's patience.
fn limited<T>(wire: &mut Wire<Link>, part: impl FnOnce(&mut Wire<Link>) -> io::Result<T>) -> io::Result<T> {
    wire.stream_mut().limit(Some(PATIENCE))?;
    part(wire)
}

fn query(shared: &Shared, wire: &mut Wire<Link>, variables: &mut Variables, text: &str) -> io::Result<()> {
    match answer(shared, variables, text) {
        Answer::Ok => wire.ok(),
        Answer::Rows(columns, rows) => wire.rows(&columns, &rows),
        Answer::Refused(refusal) => wire.error(&refusal),
    }
}

fn dump(
    shared: &Arc<Shared>,
    mut wire: Wire<Link>,
    variables: &Variables,
    request: &DumpRequest,
    (replica, address): (Replica, SocketAddr),
) -> io::Result<String> {
    if let Some(stream) = &shared.stream {
        return send_stream(shared, wire, stream, (replica, address));
    }
    let start = match find(shared, request, wire.stream()) {
        Found::Start(start) => start,
        Found::Refused(refusal) => {
            wire.error(&refusal)?;
            return Ok(format!("refused its log (error {}): {}", refusal.code, refusal.message));
        }
        Found::NotYet => {
            return Ok("the new numbers are not there yet for the position that it asks for; it comes again".to_owned());
        }
    };
    let (who, from) = (of(&replica), place(request));
    let progress = shared.registry.begin(replica);
    shared.registry.note("replica", Some(address), format!("{who} reads {from}"));
    if !recorded(shared, &progress, wire.stream()) {
        return Ok("it has left, or this server was stopped, before anything was sent".to_owned());
    }
    wire.stream_mut().limit(None)?;
    let terms = Terms {
        server_id: shared.identity.server_id,
        checksums: variables.checksums,
        heartbeat: variables.heartbeat,
        heartbeats_v2: request.heartbeats_v2,
        waits: request.waits,
    };
    let (link, sequence) = wire.into_parts();
    let mut dump = Dump::new(EventSink::new(link, sequence), terms, &shared.files, &progress, start)?;
    Ok(match dump.run(Link::is_closed)? {
        End::Whole => "everything was sent".to_owned(),
        End::Stopped => "this server was stopped".to_owned(),
        End::Gone => "it has closed the connection".to_owned(),
        End::Failed(refusal) => format!("the log cannot be sent: {}", refusal.message),
    })
}

/// Waits until a replica was recorded: what it needs is kept from then on. Returns false if it is not served.
fn recorded(shared: &Shared, progress: &Progress, link: &Link) -> bool {
    while shared.records_replicas && !progress.is_recorded() {
        if link.is_closed() || shared.stopped.load(Ordering::SeqCst) {
            return false;
        }
        thread::sleep(LOOK);
    }
    true
}

/// Sends transactions that are made meanwhile, until they or the peer end.
fn send_stream(
    shared: &Shared,
    mut wire: Wire<Link>,
    stream: &Stream,
    (replica, address): (Replica, SocketAddr),
) -> io::Result<String> {
    let Some(received) = replica.received.clone() else {
        wire.error(&Refusal::log("This source sends transactions by GTIDs only: use SOURCE_AUTO_POSITION = 1, or MASTER_USE_GTID = slave_pos"))?;
        return Ok("asked by file and position for transactions that are in no file".to_owned());
    };
    let who = of(&replica);
    let _progress = shared.registry.begin(replica);
    shared.registry.note("replica", Some(address), format!("{who} reads by GTIDs, and has {received}"));
    wire.stream_mut().limit(None)?;
    let (mut link, sequence) = wire.into_parts();
    let mut packets = stream.transactions.begin(&received, sequence);
    while let Some(bytes) = packets.next() {
        link.write_all(&bytes)?;
        link.flush()?;
    }
    Ok("nothing more is sent to it".to_owned())
}

/// Start of a request, as far as it is known.
enum Found {
    Start(Start),
    Refused(Refusal),
    /// The transactions of the log have no new numbers yet. An error would end the replica's receiver for good.
    NotYet,
}

/// Finds the start of a request; waits for the new numbers of the transactions before it.
fn find(shared: &Shared, request: &DumpRequest, link: &Link) -> Found {
    let began = Instant::now();
    // A file may have been removed a moment ago: the replica is told that it comes too late.
    shared.files.forget_removed();
    loop {
        let numbered = shared.files.is_numbered();
        let refusal = match start::find(&shared.files, request) {
            Ok(start) => return Found::Start(start),
            Err(refusal) => refusal,
        };
        if numbered {
            return Found::Refused(refusal);
        }
        if began.elapsed() > NUMBERS || link.is_closed() || shared.stopped.load(Ordering::SeqCst) {
            return Found::NotYet;
        }
        thread::sleep(LOOK);
    }
}

fn of(replica: &Replica) -> String {
    if replica.uuid.is_empty() {
        return format!("a client with the server id {}", replica.server_id);
    }
    let host = if replica.host.is_empty() { String::new() } else { format!(" at {}:{}", replica.host, replica.port) };
    format!("the replica {} (server id {}){host}", replica.uuid, replica.server_id)
}

fn place(request: &DumpRequest) -> String {
    match &request.received {
        Some(received) if received.is_empty() => "by GTIDs, and has none".to_owned(),
        Some(received) => format!("by GTIDs, and has {received}"),
        None => format!("from {}:{}", request.file, request.position),
    }
}
