//! Packets of the client protocol: frames of three bytes length and one of sequence, joined to whole packets.

use std::io::{ErrorKind, Read, Write};

use mysql_common::proto::MySerialize;

use crate::connection::Error;

/// Length of a frame that is followed by another one, which may be empty.
const LONGEST_FRAME: usize = 0xff_ffff;
const FRAME_HEAD: usize = 4;
/// Longest packet of a source: an event has at most 1 GiB.
const LONGEST_PACKET: usize = (1 << 30) + (1 << 20);
const INPUT_BYTES: usize = 64 << 10;

/// Both directions of a connection.
pub(super) struct Packets<S> {
    stream: S,
    /// Bytes read ahead: `input[start..end]`.
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// The number of the next frame of either side; none where the source restarts its numbers at will.
    sequence: Option<u8>,
}

impl<S: Read + Write> Packets<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, input: vec![0; INPUT_BYTES], start: 0, end: 0, sequence: Some(0) }
    }

    /// Returns the stream.
    pub(super) fn stream(&self) -> &S {
        &self.stream
    }

    /// Replaces the stream, for example by TLS over it.
    ///
    /// # Errors
    ///
    /// The peer has already sent more: those bytes would be taken for a part of the new stream.
    pub(super) fn replace<T>(self, make: impl FnOnce(S) -> Result<T, Error>) -> Result<Packets<T>, Error> {
        if self.start != self.end {
            return Err(Error::Client("the server spoke ahead where TLS begins".to_owned()));
        }
        Ok(Packets { stream: make(self.stream)?, input: self.input, start: 0, end: 0, sequence: self.sequence })
    }

    /// Begins a new exchange: both sides count from 0.
    pub(super) fn begin(&mut self) {
        self.sequence = Some(0);
    }

    /// Accepts any first number in the peer's packets from now on: after acknowledgements sources restart their
    /// numbers.
    pub(super) fn count_loosely(&mut self) {
        self.sequence = None;
    }

    /// Returns true if a whole packet can be read without waiting.
    pub(super) fn has_whole(&self) -> bool {
        let mut rest = self.ahead();
        while let Some((length, _)) = frame_head(rest) {
            match rest.get(FRAME_HEAD + length..) {
                Some(_) if length < LONGEST_FRAME => return true,
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        false
    }

    /// Reads the next packet, which replaces the content of `packet`.
    pub(super) fn read(&mut self, packet: &mut Vec<u8>) -> Result<(), Error> {
        packet.clear();
        let mut expected = self.sequence;
        loop {
            self.fill(FRAME_HEAD)?;
            let (length, number) = frame_head(self.ahead()).ok_or_else(ended)?;
            self.start += FRAME_HEAD;
            if expected.is_some_and(|expected| expected != number) {
                return Err(Error::Lost("the server's packets are out of order".to_owned()));
            }
            expected = Some(number.wrapping_add(1));
            if packet.len() + length > LONGEST_PACKET {
                return Err(Error::Lost(format!("the server sent a packet of more than {LONGEST_PACKET} bytes")));
            }
            self.take(length, packet)?;
            if length < LONGEST_FRAME {
                break;
            }
        }
        if self.sequence.is_some() {
            self.sequence = expected;
        }
        Ok(())
    }

    /// Sends a packet; where both sides count loosely, with the numbers of a new exchange.
    pub(super) fn write(&mut self, packet: &[u8]) -> Result<(), Error> {
        let mut number = self.sequence.unwrap_or(0);
        let mut out = Vec::with_capacity(packet.len() + FRAME_HEAD);
        let mut rest = packet;
        loop {
            let (frame, behind) = rest.split_at(rest.len().min(LONGEST_FRAME));
            out.extend_from_slice(&(frame.len() as u32).to_le_bytes()[..3]);
            out.push(number);
            out.extend_from_slice(frame);
            number = number.wrapping_add(1);
            rest = behind;
            if frame.len() < LONGEST_FRAME {
                break;
            }
        }
        if self.sequence.is_some() {
            self.sequence = Some(number);
        }
        self.stream.write_all(&out).and_then(|()| self.stream.flush()).map_err(|error| lost(&error))
    }

    fn ahead(&self) -> &[u8] {
        self.input.get(self.start..self.end).unwrap_or_default()
    }

    /// Reads until `wanted` bytes are available.
    fn fill(&mut self, wanted: usize) -> Result<(), Error> {
        if self.end - self.start >= wanted {
            return Ok(());
        }
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < wanted {
            let free = self.input.get_mut(self.end..).unwrap_or_default();
            self.end += read_some(&mut self.stream, free)?;
        }
        Ok(())
    }

    /// Appends the next `length` bytes to a packet.
    fn take(&mut self, length: usize, packet: &mut Vec<u8>) -> Result<(), Error> {
        let from_input = self.ahead().len().min(length);
        packet.extend_from_slice(self.ahead().get(..from_input).unwrap_or_default());
        self.start += from_input;
        let mut missing = length - from_input;
        while missing > INPUT_BYTES {
            let before = packet.len();
            packet.resize(before + missing, 0);
            let count = read_some(&mut self.stream, packet.get_mut(before..).unwrap_or_default())?;
            packet.truncate(before + count);
            missing -= count;
        }
        if missing > 0 {
            self.fill(missing)?;
            packet.extend_from_slice(self.ahead().get(..missing).unwrap_or_default());
            self.start += missing;
        }
        Ok(())
    }
}

fn frame_head(bytes: &[u8]) -> Option<(usize, u8)> {
    let [one, two, three, number] = *bytes.first_chunk::<FRAME_HEAD>()?;
    Some((u32::from_le_bytes([one, two, three, 0]) as usize, number))
}

fn read_some(stream: &mut impl Read, into: &mut [u8]) -> Result<usize, Error> {
    loop {
        match stream.read(into) {
            Ok(0) => return Err(ended()),
            Ok(count) => return Ok(count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(lost(&error)),
        }
    }
}

fn ended() -> Error {
    Error::Lost("the server ended the connection".to_owned())
}

pub(super) fn lost(error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Lost("the server was silent for too long".to_owned()),
        ErrorKind::UnexpectedEof => ended(),
        _ => Error::Lost(error.to_string()),
    }
}

/// Return the bytes of a command.
pub(super) fn serialized(command: &impl MySerialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    command.serialize(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests;
