//! MariaDB's pieces of a row event that is larger than `binlog_row_event_fragment_threshold` (since 12.3, MDEV-32570).
//!
//! Each piece has its number, the number of all pieces, and flags; the first one has the size of the whole. Together
//! they are the row event with its header and without a checksum, according to `Partial_rows_log_event` in MariaDB's
//! `sql/log_event.h`. That text and the manual name the two numbers in a different order. In the first piece one of
//! them is 1, which shows the order.

use crate::error::Fault;
use crate::event::cursor::Cursor;
use crate::event::mariadb;
use crate::event::{EventHeader, HEADER_LENGTH, types};
use crate::transaction::Format;

/// Two numbers and the flags.
const POST_HEADER_LENGTH: usize = 4 + 4 + 1;
/// The size of the whole event follows.
const HAS_SIZE: u8 = 1;
const CHECKSUM_LENGTH: u64 = 4;

/// The pieces of one row event that have come so far.
#[derive(Debug)]
pub(crate) struct Pieces {
    /// The whole event's bytes up to now; only those of the first piece where rows are not kept.
    bytes: Vec<u8>,
    /// Number of bytes read.
    length: u64,
    /// Size of the whole event in bytes.
    size: u64,
    next: u32,
    count: u32,
    number_first: bool,
    keeps_rows: bool,
    /// Offset of the first piece.
    offset: u64,
}

/// A row event that is whole again.
#[derive(Debug)]
pub(crate) struct Joined {
    /// Header and body.
    pub(crate) bytes: Vec<u8>,
    /// The header.
    pub(crate) header: EventHeader,
    /// Size of the whole event, also where its bytes are not kept.
    pub(crate) length: u64,
    /// Offset of the first piece.
    pub(crate) offset: u64,
}

/// One piece.
struct Piece<'a> {
    numbers: (u32, u32),
    size: Option<u64>,
    content: &'a [u8],
}

impl Pieces {
    /// Creates the pieces with the first one.
    pub(crate) fn begin(body: &[u8], format: &Format, offset: u64, keeps_rows: bool) -> Result<Self, Fault> {
        let piece = Piece::parse(body, format)?;
        let number_first = piece.numbers.0 == 1;
        let (number, count) = if number_first { piece.numbers } else { (piece.numbers.1, piece.numbers.0) };
        let Some(size) = piece.size.filter(|_| number == 1 && count > 0) else {
            return Err(Fault::damaged("a piece of a row event is not the first one, and no first one precedes it"));
        };
        let bytes = piece.content.to_vec();
        Ok(Self { length: bytes.len() as u64, bytes, size, next: 2, count, number_first, keeps_rows, offset })
    }

    /// Adds the next piece.
    pub(crate) fn add(&mut self, body: &[u8], format: &Format) -> Result<(), Fault> {
        let piece = Piece::parse(body, format)?;
        let (number, count) = if self.number_first { piece.numbers } else { (piece.numbers.1, piece.numbers.0) };
        if number != self.next || count != self.count || piece.size.is_some() {
            return Err(Fault::damaged(format!(
                "piece {} of {} of a row event is missing: piece {number} of {count} was found instead",
                self.next, self.count
            )));
        }
        self.next += 1;
        self.length += piece.content.len() as u64;
        if self.length > self.size {
            return Err(self.wrong_size());
        }
        if self.keeps_rows {
            self.bytes.extend_from_slice(piece.content);
        }
        Ok(())
    }

    /// Returns the number of bytes read.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns true if the last piece has come.
    pub(crate) fn is_whole(&self) -> bool {
        self.next > self.count
    }

    /// Returns the row event that the pieces make up.
    pub(crate) fn join(self) -> Result<Joined, Fault> {
        if self.length != self.size && self.length + CHECKSUM_LENGTH != self.size {
            return Err(self.wrong_size());
        }
        let header = EventHeader::parse(&self.bytes)?;
        let rows = matches!(
            header.type_code,
            types::WRITE_ROWS_V1..=types::DELETE_ROWS_V1 | types::WRITE_ROWS..=types::DELETE_ROWS
        ) || mariadb::plain_rows_type(header.type_code).is_some();
        let told = u64::from(header.event_size);
        if !rows || self.bytes.len() < HEADER_LENGTH || (told != self.length && told != self.length + CHECKSUM_LENGTH) {
            return Err(Fault::not_understood(
                "the pieces of a row event are together no row event in the form that is known; replay the log with \
                 mariadb-binlog of the source's version, or raise binlog_row_event_fragment_threshold on the source",
            ));
        }
        Ok(Joined { bytes: self.bytes, header, length: self.length, offset: self.offset })
    }

    /// Returns the fault of another event between two pieces.
    pub(crate) fn interrupted(&self) -> Fault {
        Fault::damaged(format!("piece {} of {} of a row event is missing before it", self.next, self.count))
    }

    fn wrong_size(&self) -> Fault {
        Fault::damaged(format!(
            "the pieces of a row event have {} bytes together, the first one states {}",
            self.length, self.size
        ))
    }
}

impl<'a> Piece<'a> {
    fn parse(body: &'a [u8], format: &Format) -> Result<Self, Fault> {
        let described = format.post_header_length(types::MARIADB_PARTIAL_ROW_DATA);
        let mut cursor = Cursor::new(body);
        let numbers = (cursor.u32()?, cursor.u32()?);
        let flags = cursor.u8()?;
        if flags & !HAS_SIZE != 0 || described.is_some_and(|length| length != POST_HEADER_LENGTH) {
            return Err(Fault::not_understood(
                "it is a piece of a row event in a newer form; use a newer version, or replay the log with \
                 mariadb-binlog of the source's version",
            ));
        }
        let size = if flags & HAS_SIZE == 0 { None } else { Some(cursor.u64()?) };
        Ok(Self { numbers, size, content: cursor.rest() })
    }
}
