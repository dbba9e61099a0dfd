//! A source's log over a connection: registered as a replica, event by event, with the bytes as the source sent them.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use mysql::binlog::events::Event;
use mysql::{BinlogDumpFlags, BinlogRequest, BinlogStream};
use mysql_common::packets::{GnoInterval, Sid, Tag};
use paraply_binlog::checksum;
use paraply_binlog::event::{HEADER_LENGTH, types};
use paraply_binlog::relay::{RelayError, RelayWriter};
use paraply_core::gtid::{GtidSet, Origin};

use crate::mysql::connection::{Connection, Error};

/// Where the source is to begin.
#[derive(Debug, Clone)]
pub enum Begin {
    /// MySQL: with everything that is not in the set.
    Behind(GtidSet),
    /// At an offset of one of its files. MariaDB, told `slave_connect_state` before, takes an empty name for that.
    At {
        /// The file's name; empty for the first one.
        file: String,
        /// The offset of an event.
        position: u64,
    },
}

/// Why receiving ended.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The source or the connection to it.
    #[error(transparent)]
    Source(#[from] Error),
    /// The relay log.
    #[error(transparent)]
    Relay(#[from] RelayError),
}

/// What a receiver shows while it works.
#[derive(Debug, Default)]
pub struct Signals {
    /// Set by whoever wants it to end; looked at with every event and heartbeat.
    pub stop: AtomicBool,
    /// When the source was heard last, microseconds since 1970, UTC; 0 before that.
    pub heard_at: AtomicI64,
    /// When it said last that it has nothing more, likewise.
    pub idle_at: AtomicI64,
}

/// Receives into a relay log until the connection ends or somebody wants it to.
///
/// The caller has set the session's variables. Every whole transaction is published as it comes; what came of an unfinished one is
/// taken back at the end.
pub fn receive(
    connection: Connection,
    server_id: u32,
    begin: &Begin,
    writer: &Mutex<RelayWriter>,
    signals: &Signals,
) -> Result<(), ReceiveError> {
    let stream = connection.binlog_stream(request(server_id, begin)?)?;
    let received = take_in(stream, writer, signals);
    match &received {
        Err(ReceiveError::Relay(_)) => {}
        _ => locked(writer).interrupted()?,
    }
    received
}

/// The lock is taken for one event: it only keeps the threads apart that write.
fn locked(writer: &Mutex<RelayWriter>) -> MutexGuard<'_, RelayWriter> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take_in(stream: BinlogStream, writer: &Mutex<RelayWriter>, signals: &Signals) -> Result<(), ReceiveError> {
    let mut bytes = Vec::new();
    for event in stream {
        let event = event.map_err(Error::from)?;
        let heard = now();
        signals.heard_at.store(heard, Ordering::Relaxed);
        if signals.stop.load(Ordering::SeqCst) {
            return Ok(());
        }
        if matches!(event.header().event_type_raw(), types::HEARTBEAT | types::HEARTBEAT_V2) {
            signals.idle_at.store(heard, Ordering::Relaxed);
            continue;
        }
        let has_checksum = restore(&event, &mut bytes);
        let mut writer = locked(writer);
        writer.append(&bytes, has_checksum)?;
        if !writer.is_inside() {
            writer.publish()?;
        }
    }
    Err(Error::Lost("the source ended the connection".to_owned()).into())
}

/// The event as the source sent it, and whether it ends with a checksum.
fn restore(event: &Event, out: &mut Vec<u8>) -> bool {
    let header = event.header();
    out.clear();
    out.extend_from_slice(&header.timestamp().to_le_bytes());
    out.push(header.event_type_raw());
    out.extend_from_slice(&header.server_id().to_le_bytes());
    out.extend_from_slice(&header.event_size().to_le_bytes());
    out.extend_from_slice(&header.log_pos().to_le_bytes());
    out.extend_from_slice(&header.flags_raw().to_le_bytes());
    out.extend_from_slice(event.data());
    let cut = (header.event_size() as usize).saturating_sub(out.len());
    if header.event_type_raw() == types::FORMAT_DESCRIPTION {
        if cut > checksum::CHECKSUM_LENGTH {
            // The algorithm none: what the relay log uses is not the source's to say.
            out.push(0);
            out.extend_from_slice(&checksum::of_format(out).to_le_bytes());
        }
        return false;
    }
    if let Some(stored) = event.checksum().filter(|_| cut == checksum::CHECKSUM_LENGTH) {
        out.extend_from_slice(&stored);
        return true;
    }
    // Before the format description nobody knows whether there are checksums: the event itself tells.
    out.len() > HEADER_LENGTH && checksum::strip(out, true).is_ok()
}

fn request(server_id: u32, begin: &Begin) -> Result<BinlogRequest<'static>, Error> {
    let request = BinlogRequest::new(server_id);
    Ok(match begin {
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
