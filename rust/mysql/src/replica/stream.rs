//! The events of a source, packet by packet, and the acknowledgements that it asks for.

use mysql_common::packets::SemiSyncAckPacket;

use crate::connection::Error;
use crate::replica::handshake::{odd, server_error};
use crate::replica::packets::{Packets, serialized};
use crate::replica::transport::Transport;

const EVENT: u8 = 0x00;
const END: u8 = 0xfe;
/// Length beyond which a packet that begins with `END` is no end.
const LONGEST_END: usize = 8;
/// Begins the header of semi-synchronous replication, and acknowledgements.
const SEMI_SYNC: u8 = 0xef;
const WANTS_ACKNOWLEDGEMENT: u8 = 0x01;

/// A source's log as it comes; a test has one without a connection.
pub(crate) trait SourceEvents {
    /// Waits for the next event; none where the source has ended the log.
    fn next(&mut self) -> Result<Option<Arrived<'_>>, Error>;

    /// Returns true if an event is available already.
    fn has_more(&self) -> bool;

    /// Tells the source that everything before this position in its log is safe.
    fn acknowledge(&mut self, file: &str, position: u64) -> Result<(), Error>;
}

/// The log of a server, over a connection.
pub(crate) struct EventStream {
    packets: Packets<Transport>,
    packet: Vec<u8>,
    semi_sync: bool,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arrived<'a> {
    /// As the source sent it, with its checksum if it has one.
    pub(crate) event: &'a [u8],
    /// True if a session of the source waits until the event is safe here.
    pub(crate) wants_acknowledgement: bool,
}

impl EventStream {
    pub(super) fn new(packets: Packets<Transport>, semi_sync: bool) -> Self {
        Self { packets, packet: Vec::new(), semi_sync }
    }
}

impl SourceEvents for EventStream {
    fn next(&mut self) -> Result<Option<Arrived<'_>>, Error> {
        self.packets.read(&mut self.packet)?;
        unpack(&self.packet, self.semi_sync)
    }

    fn has_more(&self) -> bool {
        self.packets.has_whole()
    }

    fn acknowledge(&mut self, file: &str, position: u64) -> Result<(), Error> {
        self.packets.write(&serialized(&SemiSyncAckPacket::new(position, file.as_bytes())))
    }
}

fn unpack(packet: &[u8], semi_sync: bool) -> Result<Option<Arrived<'_>>, Error> {
    if let Some(error) = server_error(packet) {
        return Err(error);
    }
    match packet {
        [END, ..] if packet.len() <= LONGEST_END => Ok(None),
        [EVENT, SEMI_SYNC, flag, event @ ..] if semi_sync => {
            Ok(Some(Arrived { event, wants_acknowledgement: flag & WANTS_ACKNOWLEDGEMENT != 0 }))
        }
        [EVENT, event @ ..] if !semi_sync => Ok(Some(Arrived { event, wants_acknowledgement: false })),
        [EVENT, ..] => Err(odd("event without the header of semi-synchronous replication")),
        _ => Err(odd("packet between events")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(event: &[u8], wants_acknowledgement: bool) -> Arrived<'_> {
        Arrived { event, wants_acknowledgement }
    }

    #[test]
    fn the_header_of_semi_synchronous_replication_is_taken_off() {
        assert_eq!(unpack(b"\0\xef\x01event", true).unwrap(), Some(event(b"event", true)));
        assert_eq!(unpack(b"\0\xef\0event", true).unwrap(), Some(event(b"event", false)));
        assert_eq!(unpack(b"\0\xef\0", true).unwrap(), Some(event(b"", false)));
        // Without the header these bytes are the event's own: a timestamp.
        assert_eq!(unpack(b"\0\xef\x01event", false).unwrap(), Some(event(b"\xef\x01event", false)));
    }

    #[test]
    fn torn_and_odd_packets_are_errors() {
        for packet in [&b""[..], b"\0", b"\0\xef", b"\0event", b"\0\xee\x01event", b"\x01", b"\xfe12345678", b"\xff"] {
            assert!(matches!(unpack(packet, true), Err(Error::Client(_))), "{packet:?}");
        }
        let refused = unpack(b"\xff\xd4\x04#HY000purged", true);
        assert!(matches!(refused, Err(Error::Server { code: 1236, message, .. }) if message == "purged"));
        assert_eq!(unpack(b"\xfe\0\0\x02\0", true).unwrap(), None);
    }

    #[test]
    fn an_acknowledgement_is_a_position_of_eight_bytes_and_a_name() {
        let bytes = serialized(&SemiSyncAckPacket::new(0x0102_0304_0506, &b"binlog.000041"[..]));
        assert_eq!(bytes, b"\xef\x06\x05\x04\x03\x02\x01\0\0binlog.000041");
    }

    proptest! {
        #[test]
        fn no_packet_makes_it_panic(packet: Vec<u8>, semi_sync: bool) {
            let _ = unpack(&packet, semi_sync);
        }
    }
}
