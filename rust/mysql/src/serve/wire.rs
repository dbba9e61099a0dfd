//! Packets of the client protocol, as a server reads and writes them.

// These bytes come from others: an access outside of them is an error, never a panic.
#![cfg_attr(not(test), warn(clippy::indexing_slicing))]

use std::io::{self, Read, Write};

/// Length of a frame that is followed by another one, which may be empty.
const LONGEST_FRAME: usize = 0xff_ffff;
const FRAME_HEAD: usize = 4;
/// Bytes that are collected before they are sent.
const SENT_AT_ONCE: usize = 256 << 10;
/// The byte before an event.
const EVENT: u8 = 0x00;
const AUTOCOMMIT: u8 = 0x02;
const UTF8MB4: u16 = 255;
const VAR_STRING: u8 = 0xfd;
/// Longest string whose length is one byte.
const LONGEST_TEXT: usize = 250;

/// Reads requests and writes answers of one connection.
pub(super) struct Wire<S> {
    stream: S,
    /// Number of the next packet.
    sequence: u8,
}

impl<S: Read + Write> Wire<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, sequence: 0 }
    }

    /// Replaces the stream, for example by TLS over it; the packets' numbers go on.
    pub(super) fn replace<T>(self, make: impl FnOnce(S) -> io::Result<T>) -> io::Result<Wire<T>> {
        Ok(Wire { stream: make(self.stream)?, sequence: self.sequence })
    }

    pub(super) fn stream(&self) -> &S {
        &self.stream
    }

    pub(super) fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Returns the stream and the number of the next packet.
    pub(super) fn into_parts(self) -> (S, u8) {
        (self.stream, self.sequence)
    }

    /// Begins a new exchange of packets.
    pub(super) fn begin(&mut self) {
        self.sequence = 0;
    }

    /// Reads one packet of at most `longest` bytes; nothing is reserved for a longer one.
    pub(super) fn read(&mut self, longest: usize) -> io::Result<Vec<u8>> {
        let mut head = [0; FRAME_HEAD];
        self.stream.read_exact(&mut head)?;
        let [one, two, three, number] = head;
        let length = u32::from_le_bytes([one, two, three, 0]) as usize;
        if number != self.sequence {
            return Err(invalid("a packet is out of order"));
        }
        if length > longest || length >= LONGEST_FRAME {
            return Err(invalid("a packet is too long"));
        }
        self.sequence = number.wrapping_add(1);
        let mut packet = vec![0; length];
        self.stream.read_exact(&mut packet)?;
        Ok(packet)
    }

    /// Sends packets, each shorter than a frame.
    pub(super) fn write(&mut self, packets: &[&[u8]]) -> io::Result<()> {
        let mut out = Vec::new();
        for packet in packets {
            out.extend_from_slice(&frame_head(packet.len(), self.sequence));
            out.extend_from_slice(packet);
            self.sequence = self.sequence.wrapping_add(1);
        }
        self.stream.write_all(&out)?;
        self.stream.flush()
    }

    /// Sends an OK answer.
    pub(super) fn ok(&mut self) -> io::Result<()> {
        self.write(&[&[0, 0, 0, AUTOCOMMIT, 0, 0, 0]])
    }

    /// Sends an error.
    pub(super) fn error(&mut self, refusal: &Refusal) -> io::Result<()> {
        self.write(&[&refusal.packet()])
    }

    /// Sends one result set of text columns.
    pub(super) fn rows(&mut self, columns: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
        let end = [0xfe, 0, 0, AUTOCOMMIT, 0];
        let mut packets = vec![vec![columns.len() as u8]];
        packets.extend(columns.iter().map(|name| column(name)));
        packets.push(end.to_vec());
        packets.extend(rows.iter().map(|row| row.iter().flat_map(|value| text(value)).collect()));
        packets.push(end.to_vec());
        let packets: Vec<&[u8]> = packets.iter().map(Vec::as_slice).collect();
        self.write(&packets)
    }
}

/// An error as a server answers with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) state: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(code: u16, state: &'static str, message: impl Into<String>) -> Self {
        Self { code, state, message: message.into() }
    }

    /// Returns the error by which a source refuses to send its log.
    pub(super) fn log(message: impl Into<String>) -> Self {
        Self::new(1236, "HY000", message)
    }

    pub(super) fn packet(&self) -> Vec<u8> {
        let mut packet = vec![0xff];
        packet.extend_from_slice(&self.code.to_le_bytes());
        packet.push(b'#');
        packet.extend_from_slice(self.state.as_bytes());
        packet.extend_from_slice(self.message.as_bytes());
        packet
    }
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

fn frame_head(length: usize, number: u8) -> [u8; FRAME_HEAD] {
    let [one, two, three, _] = (length as u32).to_le_bytes();
    [one, two, three, number]
}

/// Returns a string with its length before it, cut where the length would need more than one byte.
fn text(value: &str) -> Vec<u8> {
    let bytes = value.as_bytes();
    let bytes = bytes.get(..bytes.len().min(LONGEST_TEXT)).unwrap_or_default();
    [&[bytes.len() as u8], bytes].concat()
}

fn column(name: &str) -> Vec<u8> {
    let mut packet: Vec<u8> = ["def", "", "", "", name, ""].into_iter().flat_map(text).collect();
    packet.push(0x0c);
    packet.extend_from_slice(&UTF8MB4.to_le_bytes());
    packet.extend_from_slice(&1024_u32.to_le_bytes());
    packet.extend_from_slice(&[VAR_STRING, 0, 0, 0, 0, 0]);
    packet
}

/// Sends events of any size, each as one packet, with a buffer of fixed size: a slow peer makes the writer wait.
pub(super) struct EventSink<W> {
    out: W,
    buffer: Vec<u8>,
    sequence: u8,
    /// Bytes of the present frame and of the present packet that are still to come.
    frame: usize,
    packet: usize,
    /// True if the present frame has the greatest length, so that another one follows.
    full: bool,
    sent: u64,
}

impl<W: Write> EventSink<W> {
    /// Creates a sink whose first packet has this number.
    pub(super) fn new(out: W, sequence: u8) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(SENT_AT_ONCE + (64 << 10)),
            sequence,
            frame: 0,
            packet: 0,
            full: false,
            sent: 0,
        }
    }

    pub(super) fn stream(&self) -> &W {
        &self.out
    }

    /// Returns the number of bytes that were handed to the peer's connection.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends an event that is in memory.
    pub(super) fn event(&mut self, event: &[u8]) -> io::Result<()> {
        self.begin_event(event.len())?;
        self.push(event)
    }

    /// Begins an event of `size` bytes, which [`push`](Self::push) sends.
    pub(super) fn begin_event(&mut self, size: usize) -> io::Result<()> {
        self.packet = size + 1;
        self.begin_frame();
        self.push(&[EVENT])
    }

    /// Sends the next bytes of an event, no more than were announced.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && self.frame > 0 {
            let (now, rest) = bytes.split_at(bytes.len().min(self.frame));
            self.buffer.extend_from_slice(now);
            self.frame -= now.len();
            bytes = rest;
            if self.frame == 0 && self.full {
                self.begin_frame();
            }
            if self.buffer.len() >= SENT_AT_ONCE {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Sends an error, and everything before it.
    pub(super) fn refuse(&mut self, refusal: &Refusal) -> io::Result<()> {
        self.whole(&refusal.packet())
    }

    /// Tells the peer that the log has ended, for a request that does not wait for more.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.whole(&[0xfe, 0, 0, AUTOCOMMIT, 0])
    }

    /// Sends what was collected.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        self.sent += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn whole(&mut self, packet: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(&frame_head(packet.len(), self.sequence));
        self.buffer.extend_from_slice(packet);
        self.sequence = self.sequence.wrapping_add(1);
        self.flush()
    }

    /// Begins a frame; a packet whose last frame is full is followed by an empty one.
    fn begin_frame(&mut self) {
        let length = self.packet.min(LONGEST_FRAME);
        self.buffer.extend_from_slice(&frame_head(length, self.sequence));
        self.sequence = self.sequence.wrapping_add(1);
        self.frame = length;
        self.packet -= length;
        self.full = length == LONGEST_FRAME;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins frames to packets, as a client does.
    fn packets(mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let (mut found, mut open) = (Vec::new(), Vec::new());
        while let Some((head, rest)) = bytes.split_first_chunk::<FRAME_HEAD>() {
            let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
            open.extend_from_slice(&rest[..length]);
            bytes = &rest[length..];
            if length < LONGEST_FRAME {
                found.push(std::mem::take(&mut open));
            }
        }
        assert!(open.is_empty() && bytes.is_empty());
        found
    }

    #[test]
    fn events_of_every_size_are_whole_packets() {
        for size in [0, 1, 300, LONGEST_FRAME - 2, LONGEST_FRAME - 1, LONGEST_FRAME, 2 * LONGEST_FRAME - 1] {
            let event: Vec<u8> = (0..size).map(|at| at as u8).collect();
            let mut sink = EventSink::new(Vec::new(), 250);
            sink.event(&event).unwrap();
            sink.begin_event(size).unwrap();
            for part in event.chunks(1 << 20) {
                sink.push(part).unwrap();
            }
            sink.end().unwrap();
            let found = packets(sink.stream());
            assert_eq!(found.len(), 3, "{size}");
            assert!(found[..2].iter().all(|packet| packet[0] == 0 && packet[1..] == event[..]), "{size}");
        }
    }

    #[test]
    fn a_request_that_is_too_long_or_out_of_order_is_refused_before_it_is_read() {
        let read = |bytes: &[u8]| Wire::new(io::Cursor::new(bytes.to_vec())).read(100);
        assert_eq!(read(b"\x02\0\0\0ab").unwrap(), b"ab");
        for bytes in [&b"\xff\xff\xff\0"[..], b"\x65\0\0\0", b"\x02\0\0\x01ab", b"\x02\0\0\0a", b"\x02"] {
            assert!(read(bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn an_error_has_number_state_and_text() {
        assert_eq!(Refusal::log("purged").packet(), b"\xff\xd4\x04#HY000purged");
    }
}
