//! Reading a file once, without its rows: positions where it can be cut, its number of transactions, its statements.

use std::path::Path;
use std::sync::Arc;

use paraply_spool::Data;

use crate::error::LogError;
use crate::event::{Event, types};
use crate::read::file::EventReader;
use crate::read::group::Assembler;
use crate::read::piece::{Piece, Resume};
use crate::read::reader::ReaderOptions;
use crate::transaction::{Kind, Transaction};

/// Positions at which a file is cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Split<'c> {
    /// Bytes after which the file is cut at the next transaction boundary.
    pub bytes: u64,
    /// Further offsets at which it is cut, where they are boundaries.
    pub at: &'c [u64],
}

/// A part of a file and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScannedPiece {
    /// Position of the part.
    pub piece: Piece,
    /// Number of transactions in it.
    pub transactions: u64,
    /// Earliest and latest commit time of transactions that have one, microseconds since 1970.
    pub committed: Option<(i64, i64)>,
}

/// Result of a scan.
#[derive(Debug)]
pub struct Scan {
    /// The pieces in order; the last one ends after the last whole transaction.
    pub pieces: Vec<ScannedPiece>,
    /// Transactions with statements, each with the index of its piece.
    pub statements: Vec<(usize, Transaction)>,
    /// Position after the last whole transaction, or after the last event where none is open: a later scan continues
    /// there.
    pub end: Resume,
    /// Error that ended the scan before the file's end; an incomplete transaction is `Truncated`.
    pub failure: Option<LogError>,
}

/// Cuts a file at transaction boundaries.
///
/// Checksums are not compared and rows are not decoded: reading the pieces does both. Damage ends the scan and is kept
/// in [`Scan::failure`].
///
/// # Errors
/// The file cannot be opened, or is no log.
pub fn scan_transactions(path: &Path, from: Resume, split: Split<'_>) -> Result<Scan, LogError> {
    let mut scanner = Scanner::open(path, from, split)?;
    let mut assembler = Assembler::without_rows(ReaderOptions::default().max_transaction_bytes);
    loop {
        let name = Arc::clone(scanner.reader.name());
        match scanner.reader.next_event() {
            Ok(Some(event)) => {
                // The context belongs to the transaction after it, so it is read with that.
                let leads = event.header.type_code == types::TRANSACTION_CONTEXT;
                match assembler.accept(&event, &name, 0) {
                    Ok(Some(transaction)) => scanner.take(transaction),
                    Ok(None) if assembler.is_open() || leads => {}
                    Ok(None) => scanner.go_on(scanner.reader.place()),
                    Err(error) => return Ok(scanner.finish(Some(error))),
                }
            }
            Ok(None) => {
                let open = assembler.end_of_file(false, false).err();
                return Ok(scanner.finish(open));
            }
            Err(error) => return Ok(scanner.finish(Some(error))),
        }
    }
}

/// Cuts a file like [`scan_transactions`], but by events: only where a GTID event begins a transaction.
///
/// # Errors
/// The file cannot be opened, or is no log.
pub fn scan_events(path: &Path, from: Resume, split: Split<'_>) -> Result<Scan, LogError> {
    let mut scanner = Scanner::open(path, from, split)?;
    loop {
        let before = scanner.reader.place();
        match scanner.reader.next_event() {
            Ok(Some(event)) => {
                let begins = begins_transaction(&event);
                scanner.go_on(before);
                if begins {
                    scanner.cut();
                    scanner.open_piece().transactions += 1;
                }
            }
            Ok(None) => {
                scanner.go_on(scanner.reader.place());
                return Ok(scanner.finish(None));
            }
            Err(error) => {
                scanner.go_on(before);
                return Ok(scanner.finish(Some(error)));
            }
        }
    }
}

/// Returns true if an event is the first of a transaction.
pub fn begins_transaction(event: &Event<'_>) -> bool {
    matches!(event.header.type_code, types::GTID | types::GTID_TAGGED | types::ANONYMOUS_GTID)
        || (event.header.type_code == types::MARIADB_GTID && event.format.mariadb)
}

struct Scanner<'c> {
    reader: EventReader<'static>,
    split: Split<'c>,
    pieces: Vec<ScannedPiece>,
    statements: Vec<(usize, Transaction)>,
    end: Resume,
}

impl<'c> Scanner<'c> {
    fn open(path: &Path, from: Resume, split: Split<'c>) -> Result<Self, LogError> {
        let reader = if from == Resume::BEGIN {
            EventReader::open(path, false)?
        } else {
            EventReader::open_at(path, from, None, false)?
        };
        let mut scanner = Self { reader, split, pieces: Vec::new(), statements: Vec::new(), end: from };
        scanner.begin();
        Ok(scanner)
    }

    fn begin(&mut self) {
        let piece = Piece { start: self.end, end: Some(self.end.offset) };
        self.pieces.push(ScannedPiece { piece, transactions: 0, committed: None });
    }

    #[allow(clippy::indexing_slicing)] // the list has just been filled, and the index is not from the log
    fn open_piece(&mut self) -> &mut ScannedPiece {
        if self.pieces.is_empty() {
            self.begin();
        }
        let last = self.pieces.len() - 1;
        &mut self.pieces[last]
    }

    fn take(&mut self, mut transaction: Transaction) {
        self.cut();
        let piece = self.open_piece();
        piece.transactions += 1;
        if let Some(time) = transaction.committed_at {
            piece.committed =
                Some(piece.committed.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        }
        if transaction.kind == Kind::Ddl {
            (transaction.events, transaction.data) = (Vec::new(), Data::default());
            self.statements.push((self.pieces.len() - 1, transaction));
        }
        self.end = self.reader.place();
    }

    /// Moves on to a later position outside of any transaction.
    fn go_on(&mut self, place: Resume) {
        if self.split.at.contains(&self.end.offset) {
            self.cut();
        }
        self.end = place;
    }

    /// Ends the piece after the last whole transaction, if it is large enough.
    fn cut(&mut self) {
        let end = self.end.offset;
        let split = self.split;
        let piece = self.open_piece();
        piece.piece.end = Some(end);
        let length = end - piece.piece.start.offset;
        if length > 0 && ((piece.transactions > 0 && length >= split.bytes) || split.at.contains(&end)) {
            self.begin();
        }
    }

    fn finish(mut self, failure: Option<LogError>) -> Scan {
        let end = self.end.offset;
        self.open_piece().piece.end = Some(end);
        Scan { pieces: self.pieces, statements: self.statements, end: self.end, failure }
    }
}
