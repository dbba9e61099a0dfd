//! A stream whose peer has sent everything already, for tests of handshakes.

use std::io::{self, Read, Write};

/// A stream: it reads what the peer has sent, and keeps what is written.
pub(crate) struct Script {
    pub(crate) input: io::Cursor<Vec<u8>>,
    pub(crate) sent: Vec<u8>,
}

impl Read for Script {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.input.read(into)
    }
}

impl Write for Script {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.sent.extend_from_slice(from);
        Ok(from.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
