//! Row events of a server with logged cascades (MySQL 9.6 and later) that differ from its changes of the rows.
//!
//! Such a server handles foreign keys itself and logs every row that a cascade changes. Four kinds of statements are
//! logged so that the server's own applier ends with other rows, or stops (seen on 9.7.4; similar reports are bugs 80821
//! and 102586 of bugs.mysql.com):
//!
//! - REPLACE of a parent's row keeps the children that refer to values of the new row. The log holds a deletion and an
//!   insertion, both with foreign keys checked, so that the deletion cascades once more. Here it is marked
//!   [`CHILDREN_STAY`]: the key comes back in the same statement, so no reference is left open if nothing is checked. A
//!   key that does not come back stays checked.
//! - DELETE from a parent and a child logs the child's row twice: deleted by the cascade, and deleted by the statement,
//!   which finds the row that is marked as deleted. Here the second deletion is left out. Where the cascade sets NULL,
//!   the statement's image is the row before the cascade; here it becomes the row after the cascade.
//! - UPDATE of a parent's key to one that its collation calls equal cascades to the children first. A later change of
//!   the parent with foreign keys checked is refused, because the children still refer to the key. Here such a change is
//!   marked [`CHILDREN_STAY`] too.
//! - UPDATE of a child and then its parent puts the cascaded changes of the child into the event of the child's own
//!   changes, which checks foreign keys, before the parent has the new key. Here the events of the child's rows are
//!   marked [`CHILDREN_STAY`].

mod repeated;
mod returned;
mod rewrite;

use std::ops::Range;

use paraply_core::schema::Catalog;

use crate::event::types::TABLE_MAP;
use crate::rows::filter::TableFilter;
use crate::rows::image_cursor::Decoded;
use crate::rows::known_tables::{KnownTable, KnownTables};
use crate::rows::row_walk::{RowPlan, RowsError, Step, event_bytes};
use crate::rows::{NO_FOREIGN_KEY_CHECKS, RowBuffer, RowsEvent, RowsHeader, SQL_FOREIGN_KEYS, STMT_END};
use crate::transaction::{Format, RawEvent, RowsKind, Transaction};
use repeated::Repeated;
use returned::Returned;
use rewrite::{Deletion, Rewritten, rewrite};

#[cfg(doc)]
use crate::rows::CHILDREN_STAY;

/// The first MySQL that carries out foreign keys above its storage engines, so that cascades can be logged.
const SQL_FOREIGN_KEYS_SINCE: (u8, u8, u8) = (9, 6, 0);

/// Return true if a server of this version may have logged what its foreign keys' cascades changed (rule R15a).
///
/// Each row event's own flag shows if it did.
pub fn may_log_cascades(format: &Format) -> bool {
    !format.mariadb && format.version >= SQL_FOREIGN_KEYS_SINCE
}

/// Returns the transaction as the server changed the rows; none where the log agrees.
///
/// # Errors
///
/// A row event is damaged.
pub fn corrected(
    transaction: &Transaction,
    catalog: &Catalog,
    filter: &TableFilter,
    known: &mut KnownTables,
) -> Result<Option<Transaction>, RowsError> {
    if !may_log_cascades(&transaction.format) {
        return Ok(None);
    }
    let statements = suspects(transaction)?;
    if statements.is_empty() {
        return Ok(None);
    }
    let mut plan = RowPlan::default();
    plan.prepare(transaction, catalog, known)?;
    let mut rewritten = Rewritten::default();
    for events in statements {
        let mut statement = Statement { transaction, known, catalog, filter };
        let steps: Vec<_> = plan.steps().iter().copied().filter(|step| events.contains(&step.event)).collect();
        statement.correct(&steps, &mut rewritten)?;
    }
    Ok(rewritten.into_transaction(transaction))
}

/// Effects of a statement's row events on one table.
#[derive(Clone, Copy, Default)]
struct Seen {
    deleted: bool,
    cascaded: bool,
}

/// Returns the statements that may be of one of these kinds, as ranges of the transaction's events.
fn suspects(transaction: &Transaction) -> Result<Vec<Range<usize>>, RowsError> {
    let mut found = Vec::new();
    let mut tables: Vec<(u64, Seen)> = Vec::new();
    let (mut begin, mut suspect) = (0, false);
    for (index, event) in transaction.events.iter().enumerate() {
        if event.type_code == TABLE_MAP {
            continue;
        }
        let at = |source| RowsError::new(transaction, event, source);
        let header =
            RowsHeader::parse(event_bytes(transaction, event).map_err(at)?, &transaction.format).map_err(at)?;
        if header.flags & SQL_FOREIGN_KEYS != 0 && !header.is_dummy() {
            suspect |= is_suspect(&mut tables, &header);
        }
        if header.flags & STMT_END != 0 {
            if suspect {
                found.push(begin..index + 1);
            }
            tables.clear();
            (begin, suspect) = (index + 1, false);
        }
    }
    Ok(found)
}

/// Notes a row event; returns true if a row may have come back, or be deleted a second time.
fn is_suspect(tables: &mut Vec<(u64, Seen)>, header: &RowsHeader<'_>) -> bool {
    let place = tables.iter().position(|(id, _)| *id == header.table_id).unwrap_or_else(|| {
        tables.push((header.table_id, Seen::default()));
        tables.len() - 1
    });
    let Some((_, seen)) = tables.get_mut(place) else { return false };
    let before = *seen;
    let is_checked = header.flags & NO_FOREIGN_KEY_CHECKS == 0;
    seen.cascaded |= !is_checked;
    match header.kind {
        RowsKind::Insert => before.deleted,
        RowsKind::Delete => {
            seen.deleted = true;
            before.cascaded
        }
        // A key that keeps its value but for upper and lower case is found by its children, which have the new one
        // already. A cascade may be in the event of the child's own changes, before the parent's.
        RowsKind::Update => {
            is_checked
                && (tables.iter().any(|(_, seen)| seen.cascaded) || tables.iter().any(|(id, _)| *id != header.table_id))
        }
        RowsKind::PartialUpdate => false,
    }
}

/// One statement of the source.
struct Statement<'a> {
    transaction: &'a Transaction,
    known: &'a KnownTables,
    catalog: &'a Catalog,
    filter: &'a TableFilter,
}

impl<'a> Statement<'a> {
    fn correct(&mut self, steps: &[Step], rewritten: &mut Rewritten) -> Result<(), RowsError> {
        let mut returned = Returned::new(self.catalog, self.filter);
        for step in steps {
            self.visit(step, |table, event| returned.note(step, table, event))?;
        }
        let mut repeated = Repeated::default();
        for step in steps {
            let deletions = self.visit(step, |table, event| {
                if event.header.kind == RowsKind::Delete {
                    return deletions(step, table, event, &returned, &mut repeated).map(Some);
                }
                repeated.note(step, table, event)?;
                if event.header.kind == RowsKind::Update {
                    return changes(step, table, event, &returned).map(Some);
                }
                Ok(None)
            })?;
            if let Some((head, deletions)) = deletions
                && let Some(events) = rewrite(head, &deletions)
            {
                rewritten.put(step.event, events);
            }
        }
        Ok(())
    }

    /// Calls a function with a row event and its table.
    fn visit<T>(
        &self,
        step: &Step,
        act: impl FnOnce(&'a KnownTable, &RowsEvent<'a>) -> Decoded<T>,
    ) -> Result<T, RowsError>
    where
        T: Default,
    {
        let (Some(event), Some(table)) = (self.transaction.events.get(step.event), self.known.get(step.table)) else {
            return Ok(T::default());
        };
        let parsed = |event: &RawEvent| {
            RowsEvent::parse(event_bytes(self.transaction, event)?, &table.map, &self.transaction.format)
        };
        let done = parsed(event).and_then(|rows| act(table, &rows));
        done.map_err(|source| RowsError::new(self.transaction, event, source))
    }
}

/// The head of an event of deletions, and the result for each of its rows.
type Deletions<'a> = (&'a [u8], Vec<Deletion<'a>>);

fn deletions<'a>(
    step: &Step,
    table: &'a KnownTable,
    event: &RowsEvent<'a>,
    returned: &Returned<'_>,
    repeated: &mut Repeated<'a>,
) -> Decoded<Deletions<'a>> {
    let mut found = Vec::new();
    let mut buffer = RowBuffer::default();
    let mut rows = event.rows(&mut buffer, Some(&table.hashed));
    while let Some(row) = rows.next_row() {
        let image = row?.before.unwrap_or_default();
        let key = repeated::key(table, |at| image.get(at).copied().flatten());
        let children_stay = returned.children_stay(step, event.header.flags, image);
        let bytes = rows.bytes().whole;
        found.push(match repeated.delete(step.table, key, event, bytes) {
            None => Deletion::LeftOut,
            Some(bytes) if children_stay => Deletion::ChildrenStay(bytes),
            Some(bytes) if bytes.as_ptr() == rows.bytes().whole.as_ptr() => Deletion::AsItIs(bytes),
            Some(bytes) => Deletion::Other(bytes),
        });
    }
    Ok((event.head(), found))
}

/// Returns the head of an event of changes, and the result for each of its rows.
fn changes<'a>(
    step: &Step,
    table: &'a KnownTable,
    event: &RowsEvent<'a>,
    returned: &Returned<'_>,
) -> Decoded<Deletions<'a>> {
    let mut found = Vec::new();
    let mut buffer = RowBuffer::default();
    let mut rows = event.rows(&mut buffer, Some(&table.hashed));
    while let Some(row) = rows.next_row() {
        let row = row?;
        let flags = event.header.flags;
        let children_stay = returned.children_stay_with_change(step, table, flags, row)
            || returned.parents_follow(step, table, flags, row);
        let bytes = rows.bytes().whole;
        found.push(if children_stay { Deletion::ChildrenStay(bytes) } else { Deletion::AsItIs(bytes) });
    }
    Ok((event.head(), found))
}

#[cfg(test)]
mod tests;
