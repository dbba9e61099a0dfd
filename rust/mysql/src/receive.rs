//! Receiving a source's log over a connection: registered as a replica, event by event, with the bytes as the source
//! sent them.

// These bytes come from others: an access outside of them is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use mysql_common::packets::binlog_request::BinlogRequest;
use mysql_common::packets::{BinlogDumpFlags, GnoInterval, Sid, Tag};
use paraply_binlog::event::checksum;
use paraply_binlog::event::{EventHeader, HEADER_LENGTH, types};
use paraply_binlog::transaction::Format;
use paraply_binlog::write::relay::{RelayError, RelayWriter};
use paraply_core::gtid::{GtidSet, Origin};

use crate::connection::Error;
pub use crate::replica::Identity;
use crate::replica::{ReplicaConnection, SourceEvents};

pub mod copying;
#[cfg(test)]
mod tests;

/// Start in the source's log.
#[derive(Debug, Clone)]
pub enum Begin {
    /// MySQL: after everything in this set.
    Behind(GtidSet),
    /// At an offset of one of its files. MariaDB, whose `slave_connect_state` is then set, takes an empty name.
    At {
        /// The file's name; empty for the first one.
        file: String,
        /// The offset of an event.
        position: u64,
    },
}

/// Reason why receiving ended.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// An error of the source or the connection to it.
    #[error(transparent)]
    Source(#[from] Error),
    /// An error of the relay log.
    #[error(transparent)]
    Relay(#[from] RelayError),
}

/// State of a receiver, for other threads.
#[derive(Debug, Default)]
pub struct Signals {
    /// Set to end receiving; checked with every event and heartbeat.
    pub stop: AtomicBool,
    /// Time when the source was heard last, microseconds since 1970, UTC; 0 before that.
    pub heard_at: AtomicI64,
    /// Time of its last report that it has nothing more, likewise.
    pub idle_at: AtomicI64,
    /// Number of these reports.
    pub heartbeats: AtomicU64,
    /// Number of acknowledgements sent to the source.
    pub acknowledgements: AtomicU64,
}

/// Receives into a relay log until the connection ends or [`Signals::stop`] is set.
///
/// The caller has set the session's variables, with `semi_sync` those of semi-synchronous replication too. Every whole
/// transaction is published as it comes, and acknowledged where the source asks for it; an unfinished one is removed at
/// the end.
pub fn receive(
    connection: ReplicaConnection,
    identity: &Identity,
    begin: &Begin,
    semi_sync: bool,
    writer: &Mutex<RelayWriter>,
    signals: &Signals,
) -> Result<(), ReceiveError> {
    let stream = connection.dump(identity, &request(identity.server_id, begin)?, semi_sync)?;
    receive_from(stream, semi_sync, writer, signals)
}

fn receive_from(
    stream: impl SourceEvents,
    semi_sync: bool,
    writer: &Mutex<RelayWriter>,
    signals: &Signals,
) -> Result<(), ReceiveError> {
    let state = Receiver { stream, writer, signals, checksums: None, semi_sync, due: false, told: None };
    let received = state.run();
    match &received {
        Err(ReceiveError::Relay(_)) => {}
        _ => locked(writer).interrupted()?,
    }
    received
}

/// Locks the writer for one event: the lock only separates the threads that write.
fn locked(writer: &Mutex<RelayWriter>) -> MutexGuard<'_, RelayWriter> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Receiver<'a, S> {
    stream: S,
    writer: &'a Mutex<RelayWriter>,
    signals: &'a Signals,
    /// True if events end with a checksum; unknown before the format description.
    checksums: Option<bool>,
    semi_sync: bool,
    /// True if the source waits for an acknowledgement.
    due: bool,
    /// The position of the last acknowledgement.
    told: Option<(String, u64)>,
}

/// Kind of a packet.
enum Kind {
    Event,
    /// The source has nothing after this position.
    Heartbeat(Option<(String, u64)>),
}

impl<S: SourceEvents> Receiver<'_, S> {
    fn run(mut self) -> Result<(), ReceiveError> {
        loop {
            // Everything that has arrived in the meantime is written to disk and acknowledged together.
            if self.due && !self.stream.has_more() {
                self.acknowledge(None)?;
            }
            let Some(arrived) = self.stream.next()? else {
                return Err(Error::Lost("the source ended the connection".to_owned()).into());
            };
            let heard = now();
            self.signals.heard_at.store(heard, Ordering::Relaxed);
            if self.signals.stop.load(Ordering::SeqCst) {
                return Ok(());
            }
            self.due |= arrived.wants_acknowledgement;
            match kind(arrived.event) {
                Kind::Event => append(self.writer, arrived.event, &mut self.checksums)?,
                Kind::Heartbeat(place) => {
                    self.signals.idle_at.store(heard, Ordering::Relaxed);
                    self.signals.heartbeats.fetch_add(1, Ordering::Relaxed);
                    if self.semi_sync {
                        self.acknowledge(place)?;
                    }
                }
            }
        }
    }

    /// Writes everything to disk and acknowledges it up to the end of the last whole transaction, or, where the source
    /// reports that it has nothing more, up to the position that it names. After a reconnect the source does not send
    /// what was already received, and would otherwise wait for an acknowledgement of that.
    fn acknowledge(&mut self, idle_at: Option<(String, u64)>) -> Result<(), ReceiveError> {
        if idle_at.is_some() && idle_at == self.told && !self.due {
            return Ok(());
        }
        let place = {
            let mut writer = locked(self.writer);
            writer.sync()?;
            let received = writer.received();
            idle_at
                .filter(|_| !writer.is_inside())
                .unwrap_or_else(|| (received.source_file.to_string(), received.source_position))
        };
        self.due = false;
        if place.0.is_empty() {
            return Ok(());
        }
        self.stream.acknowledge(&place.0, place.1)?;
        self.signals.acknowledgements.fetch_add(1, Ordering::Relaxed);
        self.told = Some(place);
        Ok(())
    }
}

fn kind(event: &[u8]) -> Kind {
    match EventHeader::parse(event) {
        Ok(header) if matches!(header.type_code, types::HEARTBEAT | types::HEARTBEAT_V2) => {
            Kind::Heartbeat(heartbeat_place(&header, event))
        }
        _ => Kind::Event,
    }
}

/// Returns the position in a heartbeat; a position beyond 4 GiB does not fit and is left out.
fn heartbeat_place(header: &EventHeader, event: &[u8]) -> Option<(String, u64)> {
    let body = event.get(HEADER_LENGTH..).filter(|_| header.type_code == types::HEARTBEAT && header.log_pos != 0)?;
    let with_checksum = checksum::strip(event, true).is_ok();
    let end = body.len().checked_sub(if with_checksum { checksum::CHECKSUM_LENGTH } else { 0 })?;
    let file = std::str::from_utf8(body.get(..end)?).ok()?;
    (!file.is_empty()).then(|| (file.to_owned(), u64::from(header.log_pos)))
}

fn append(writer: &Mutex<RelayWriter>, event: &[u8], checksums: &mut Option<bool>) -> Result<(), RelayError> {
    let mut writer = locked(writer);
    let header = EventHeader::parse(event).ok();
    match header.map(|header| (header.type_code, header.log_pos)) {
        Some((types::FORMAT_DESCRIPTION, _)) => match Format::parse(event, false) {
            Ok(format) => {
                *checksums = Some(format.checksum);
                // The algorithm none: the source does not decide what the relay log uses.
                writer.append(&format.event, false)?;
            }
            Err(_) => writer.append(event, false)?,
        },
        // A connection begins with a made-up rotate event, and only the event itself shows if it has a checksum.
        Some((types::ROTATE, 0)) => writer.append(event, has_checksum(event))?,
        _ => writer.append(event, checksums.unwrap_or_else(|| has_checksum(event)))?,
    }
    if !writer.is_inside() {
        writer.publish()?;
    }
    Ok(())
}

fn has_checksum(event: &[u8]) -> bool {
    event.len() > HEADER_LENGTH + checksum::CHECKSUM_LENGTH && checksum::strip(event, true).is_ok()
}

fn request(server_id: u32, begin: &Begin) -> Result<BinlogRequest<'static>, Error> {
    let request = BinlogRequest::new(server_id);
    Ok(match begin {
        Begin::At { position, .. } if u32::try_from(*position).is_err() => {
            return Err(Error::Client("a source can be asked for a place up to 4 GiB of a file only".to_owned()));
        }
        Begin::At { file, position } => request.with_filename(file.clone().into_bytes()).with_pos(*position),
        Begin::Behind(gtids) => {
            request.with_use_gtid(true).with_flags(BinlogDumpFlags::BINLOG_THROUGH_GTID).with_sids(sids(gtids)?)
        }
    })
}

fn sids(gtids: &GtidSet) -> Result<Vec<Sid<'static>>, Error> {
    let mut sids: Vec<(Origin, Sid<'static>)> = Vec::new();
    for (origin, first, last) in gtids.iter() {
        let Origin::MySql { uuid, tag } = &origin else { continue };
        let interval = GnoInterval::new(first, last + 1);
        match sids.pop() {
            Some((known, sid)) if known == origin => sids.push((known, sid.with_interval(interval))),
            before => {
                sids.extend(before);
                let mut sid = Sid::new(*uuid);
                if !tag.is_empty() {
                    let tag = Tag::new(tag.clone()).map_err(|error| Error::Client(error.to_string()))?;
                    sid = sid.with_tag(tag);
                }
                sids.push((origin, sid.with_interval(interval)));
            }
        }
    }
    Ok(sids.into_iter().map(|(_, sid)| sid).collect())
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as i64)
}
