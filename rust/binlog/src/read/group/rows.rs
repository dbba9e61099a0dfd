//! Row events of the transaction that is open, whole or in pieces.

use std::sync::Arc;

use super::{Assembler, Taken};
use crate::error::Fault;
use crate::event::cursor::Cursor;
use crate::event::mariadb;
use crate::event::partial_rows::Pieces;
use crate::event::refusal;
use crate::event::{Event, types};
use crate::read::start::{Group, is_without_begin};
use crate::rows::STMT_END;
use crate::transaction::{Kind, RawEvent};

/// The flag in a row event's own header.
const NO_FOREIGN_KEY_CHECKS: u16 = 2;
/// Position of an event's size in its header.
const SIZE_OFFSET: usize = 9;
const TYPE_OFFSET: usize = 4;

impl Assembler {
    /// Adds a row event or a table map; returns the transaction that it ends.
    pub(super) fn row_event(&mut self, event: &Event<'_>, plain_type: Option<u8>, name: &Arc<str>, file: u32) -> Taken {
        if self.open.is_none() && is_without_begin(event.format) {
            let group = Group { begun: true, one_statement: true, ..Group::without_gtid(event, name, file) };
            self.open = Some(group);
        }
        self.check_before_text()?;
        let length = event.bytes.len() as u64;
        self.add_rows(event, length, plain_type)?;
        match &self.open {
            Some(group) if group.one_statement && !group.inside_statement => self.end(event, Kind::Dml),
            _ => Ok(None),
        }
    }

    /// Adds a row event or a table map to the open transaction; `length` is its length in the log.
    fn add_rows(&mut self, event: &Event<'_>, length: u64, plain_type: Option<u8>) -> Result<(), Fault> {
        let (most_bytes, keeps_rows) = (self.most_bytes, self.keeps_rows);
        let group = self.open_group(event)?;
        let transaction = &mut group.transaction;
        group.inside_statement = event.header.type_code == types::TABLE_MAP;
        if event.header.type_code != types::TABLE_MAP {
            let flags = row_flags(event)?;
            transaction.no_foreign_key_checks |= flags & NO_FOREIGN_KEY_CHECKS != 0;
            group.inside_statement = flags & STMT_END == 0;
        }
        let type_code = plain_type.unwrap_or(event.header.type_code);
        let data = &mut transaction.data;
        let mut range = match plain_type {
            _ if !keeps_rows => 0..0,
            Some(plain) => data.append_with(|out| mariadb::append_plain_rows(event.bytes, plain, event.format, out))?,
            None => data.append(event.bytes),
        };
        group.row_bytes += if keeps_rows { range.len() as u64 } else { length };
        if group.row_bytes > most_bytes {
            return Err(refusal::too_large(most_bytes));
        }
        if !keeps_rows && !transaction.events.is_empty() {
            return Ok(());
        }
        transaction.data.change(&mut range, |event| correct_header(event, type_code));
        transaction.events.push(RawEvent { type_code, range, offset: event.offset });
        Ok(())
    }

    /// Adds a piece of a row event; the last piece completes it.
    pub(super) fn piece(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        let (most_bytes, keeps_rows) = (self.most_bytes, self.keeps_rows);
        let group = self.open_group(event)?;
        let pieces = match group.pieces.take() {
            None => Pieces::begin(event.body(), event.format, event.offset, keeps_rows)?,
            Some(mut pieces) => {
                pieces.add(event.body(), event.format)?;
                pieces
            }
        };
        if group.row_bytes + pieces.length() > most_bytes {
            return Err(refusal::too_large(most_bytes));
        }
        if !pieces.is_whole() {
            group.pieces = Some(pieces);
            return Ok(());
        }
        let joined = pieces.join()?;
        let whole = Event { header: joined.header, bytes: &joined.bytes, offset: joined.offset, ..*event };
        self.add_rows(&whole, joined.length, mariadb::plain_rows_type(joined.header.type_code))
    }

    /// Refuses an event between the pieces of a row event, except those that the receiver of a relay log may write
    /// there.
    pub(super) fn check_pieces(&self, event: &Event<'_>) -> Result<(), Fault> {
        let Some(pieces) = self.open.as_ref().and_then(|group| group.pieces.as_ref()) else { return Ok(()) };
        let begins = event.header.type_code == types::MARIADB_GTID;
        let of_receiver = matches!(event.header.type_code, types::FORMAT_DESCRIPTION | types::ROTATE | types::STOP);
        if event.header.type_code == types::MARIADB_PARTIAL_ROW_DATA || begins || of_receiver {
            return Ok(());
        }
        Err(pieces.interrupted())
    }
}

/// Returns the flags after a row event's table number.
fn row_flags(event: &Event<'_>) -> Result<u16, Fault> {
    let old = event.format.post_header_length(event.header.type_code) == Some(6);
    let mut cursor = Cursor::new(event.body());
    cursor.take(if old { 4 } else { 6 })?;
    cursor.u16()
}

/// Corrects the header of a changed event: the size without a checksum, and the type of an event that was compressed.
fn correct_header(event: &mut [u8], type_code: u8) {
    let size = (event.len() as u32).to_le_bytes();
    if let Some(field) = event.get_mut(SIZE_OFFSET..SIZE_OFFSET + size.len()) {
        field.copy_from_slice(&size);
    }
    if let Some(field) = event.get_mut(TYPE_OFFSET) {
        *field = type_code;
    }
}
