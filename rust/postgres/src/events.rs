//! The row events of transactions, decoded and rendered.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use paraply_binlog::rows::image_cursor::Malformed;
use paraply_binlog::rows::layout::Layout;
use paraply_binlog::rows::table_map::{MappedColumn, TableMap};
use paraply_binlog::rows::values::charset::Charset;
use paraply_binlog::rows::{NO_FOREIGN_KEY_CHECKS, Row, RowBuffer, RowsEvent, RowsHeader, SQL_FOREIGN_KEYS, rows_kind};
use paraply_binlog::transaction::{Format, RawEvent, Transaction};
use paraply_core::collation::name_of;

use super::generated::complete;
use super::mapping::{ColumnMapping, Kind, TableMapping, charset_of};
use super::render::{Change, Image, Limits, RenderError, Statement, StatementWriter, check_cascades};
use super::renderer::Renderer;
use super::sets::SetWriter;

const TABLE_MAP_EVENT: u8 = 19;

/// Form of the statements of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Few statements for many rows, in an order that leaves the same rows.
    Sets,
    /// Statements in the log's order.
    Rows,
}

/// A writer of one of the forms.
enum Writer<'r> {
    Sets(Box<SetWriter<'r>>),
    Rows(StatementWriter),
}

impl Writer<'_> {
    fn push(&mut self, table: &Arc<TableMapping>, change: Change<'_, '_>) -> Result<(), RenderError> {
        match self {
            Self::Sets(writer) => writer.push(table, change),
            Self::Rows(writer) => writer.push(table, change),
        }
    }

    fn finish(self) -> Vec<Statement> {
        match self {
            Self::Sets(writer) => writer.finish(),
            Self::Rows(writer) => writer.finish(),
        }
    }
}

/// Consecutive events of a transaction.
pub struct Part<'t> {
    /// The transaction.
    pub transaction: &'t Transaction,
    /// Indices of the table maps before the events that are in use.
    pub maps: &'t [usize],
    /// The events.
    pub events: Range<usize>,
}

impl<'t> Part<'t> {
    /// Iterates over the events with their indices in the transaction.
    fn numbered(&self) -> impl Iterator<Item = (usize, &'t RawEvent)> {
        let events = self.transaction.events.get(self.events.clone()).unwrap_or_default();
        (self.events.start..).zip(events)
    }
}

/// A table map and the mapping of its table.
struct Known {
    event: usize,
    map: TableMap,
    mapping: Arc<TableMapping>,
}

impl Renderer {
    /// Renders the wanted row events of a block's transactions, given by the indices of transaction and event.
    ///
    /// # Errors
    /// [`RenderError`]; nothing of the block must then be applied.
    pub fn render<'t>(
        &self,
        form: Form,
        transactions: impl IntoIterator<Item = &'t Transaction>,
        wanted: impl Fn(usize, usize) -> bool,
    ) -> Result<Vec<Statement>, RenderError> {
        let mut writer = self.writer(form);
        for (place, transaction) in transactions.into_iter().enumerate() {
            let part = Part { transaction, maps: &[], events: 0..transaction.events.len() };
            self.render_part(&part, &mut writer, |event| wanted(place, event))?;
        }
        Ok(writer.finish())
    }

    /// Renders the wanted row events of a part of a transaction.
    ///
    /// # Errors
    /// As for [`Renderer::render`].
    pub fn render_some(
        &self,
        form: Form,
        part: &Part<'_>,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<Statement>, RenderError> {
        let mut writer = self.writer(form);
        self.render_part(part, &mut writer, wanted)?;
        Ok(writer.finish())
    }

    fn writer(&self, form: Form) -> Writer<'_> {
        match form {
            Form::Sets => Writer::Sets(Box::new(SetWriter::new(self, Limits::default()))),
            Form::Rows => Writer::Rows(StatementWriter::default()),
        }
    }

    fn render_part(
        &self,
        part: &Part<'_>,
        writer: &mut Writer<'_>,
        wants: impl Fn(usize) -> bool,
    ) -> Result<(), RenderError> {
        let Part { transaction, .. } = part;
        if !part.numbered().any(|(event, raw)| raw.type_code != TABLE_MAP_EVENT && wants(event)) {
            return Ok(());
        }
        let tables = self.known_tables(part)?;
        let (before, within) = tables.split_at(part.maps.len());
        let mut next = within.iter().peekable();
        let mut current: HashMap<u64, &Known> = before.iter().map(|known| (known.map.table_id, known)).collect();
        for (index, event) in part.numbered() {
            if let Some(known) = next.next_if(|known| known.event == index) {
                current.insert(known.map.table_id, known);
            } else if rows_kind(event.type_code).is_some() && wants(index) {
                render_rows(transaction, event, &current, writer)?;
            }
        }
        Ok(())
    }

    /// Returns the tables of the maps before the part, and then of those in it.
    fn known_tables(&self, part: &Part<'_>) -> Result<Vec<Known>, RenderError> {
        let transaction = part.transaction;
        let before = part.maps.iter().filter_map(|&index| Some((index, transaction.events.get(index)?)));
        let maps = before.chain(part.numbered().filter(|(_, event)| event.type_code == TABLE_MAP_EVENT));
        maps.map(|(index, event)| {
            let damaged = |what| RenderError::Log { offset: event.offset, what };
            let mut map = TableMap::parse(bytes(transaction, event)?, &transaction.format).map_err(damaged)?;
            let mapping = self.table(&map.name)?;
            check_columns(&map, &mapping, &transaction.format)?;
            let mapping = logged_charsets(&map, mapping, transaction.format.mariadb)?;
            for (mapped, column) in map.columns.iter_mut().zip(&mapping.columns) {
                take_sign(mapped, column);
            }
            map.set_fractions(mapping.columns.iter().map(|column| column.decimals));
            check_fractions(&map, &mapping)?;
            Ok(Known { event: index, map, mapping })
        })
        .collect()
    }
}

fn render_rows(
    transaction: &Transaction,
    event: &RawEvent,
    tables: &HashMap<u64, &Known>,
    writer: &mut Writer<'_>,
) -> Result<(), RenderError> {
    let damaged = |what| RenderError::Log { offset: event.offset, what };
    let data = bytes(transaction, event)?;
    let header = RowsHeader::parse(data, &transaction.format).map_err(damaged)?;
    if header.is_dummy() {
        return Ok(());
    }
    let known = tables.get(&header.table_id);
    let known = known.ok_or_else(|| damaged(Malformed { what: "rows without their table map", at: 19 }))?;
    let rows = RowsEvent::with_header(header, data, &known.map).map_err(damaged)?;
    // Without foreign key checks nothing cascades, and a server that cascades itself logs it.
    let cascades_logged = header.flags & (NO_FOREIGN_KEY_CHECKS | SQL_FOREIGN_KEYS) != 0;
    let columns = known.mapping.columns.len();
    let mut buffer = RowBuffer::default();
    let mut rows = rows.rows(&mut buffer, None);
    while let Some(row) = rows.next_row() {
        let Row { before, after } = row.map_err(damaged)?;
        let (before, after) = (before.map(|row| own(row, columns)), after.map(|row| own(row, columns)));
        let completed = complete(&known.mapping, before, after)?;
        let Some(change) = completed.change() else { continue };
        if !cascades_logged {
            check_cascades(&known.mapping, change)?;
        }
        writer.push(&known.mapping, change)?;
    }
    Ok(())
}

/// Returns a row without the values after the table's own columns.
pub(super) fn own<'r, 'v>(image: Image<'r, 'v>, columns: usize) -> Image<'r, 'v> {
    image.get(..columns).unwrap_or(image)
}

fn bytes<'t>(transaction: &'t Transaction, event: &RawEvent) -> Result<&'t [u8], RenderError> {
    let missing = Malformed { what: "an event outside its transaction", at: 0 };
    transaction.data.get(event.range.clone()).ok_or(RenderError::Log { offset: event.offset, what: missing })
}

/// Takes a column's sign from the definition; logs with minimal metadata do not state which numbers are unsigned.
fn take_sign(mapped: &mut MappedColumn, column: &ColumnMapping) {
    if let (None, Layout::Int { width, .. }) = (mapped.unsigned, mapped.layout) {
        mapped.layout = Layout::Int { width, unsigned: column.kind == Kind::Unsigned };
    }
}

/// Versions of MySQL whose row events hold the hidden columns of functional indexes.
const LOGS_HIDDEN_COLUMNS: std::ops::RangeInclusive<(u8, u8, u8)> = (8, 0, 13)..=(8, 0, 17);

/// Compares the columns in the log with the known definition: count and names (R31).
pub(super) fn check_columns(map: &TableMap, mapping: &TableMapping, format: &Format) -> Result<(), RenderError> {
    let table = || mapping.source.clone();
    let (log, known) = (map.columns.len(), mapping.columns.len());
    let hashes = log.checked_sub(known).is_some_and(|more| more <= mapping.key_hashes) && map.ends_in_key_hashes(known);
    if log > known && !format.mariadb && LOGS_HIDDEN_COLUMNS.contains(&format.version) {
        return Err(RenderError::HiddenColumns { table: table(), log, known });
    }
    if log != known && !(format.mariadb && hashes) {
        return Err(RenderError::ColumnCount { table: table(), log, known });
    }
    for (mapped, column) in map.columns.iter().zip(&mapping.columns) {
        let differs = |log: String| RenderError::Column { table: table(), column: column.name.clone(), log };
        if let Some(name) = mapped.name.as_ref().filter(|name| !same_name(name, &column.name)) {
            return Err(differs(format!("the name {name}")));
        }
    }
    Ok(())
}

/// Refuses rows with values whose length is not known.
fn check_fractions(map: &TableMap, mapping: &TableMapping) -> Result<(), RenderError> {
    let Some(unknown) = map.unknown_fraction() else { return Ok(()) };
    let column = mapping.columns.get(unknown).map(|column| column.name.clone()).unwrap_or_default();
    Err(RenderError::UnknownFraction { table: mapping.source.clone(), column })
}

/// Replaces the definition's character sets by those of the log, which describe its bytes best.
pub(super) fn logged_charsets(
    map: &TableMap,
    mut mapping: Arc<TableMapping>,
    mariadb: bool,
) -> Result<Arc<TableMapping>, RenderError> {
    for (index, mapped) in map.columns.iter().enumerate() {
        let Some((column, known)) = mapping.columns.get(index).and_then(|column| match column.kind {
            Kind::Text(known) => Some((&column.name, known)),
            _ => None,
        }) else {
            continue;
        };
        let Some(collation) = mapped.collation_id else { continue };
        let logged = charset_of_collation(collation, mariadb).ok_or_else(|| RenderError::Column {
            table: map.name.clone(),
            column: column.clone(),
            log: format!("a character set that cannot be converted (collation {collation})"),
        })?;
        if Some(logged) != known {
            mapping = Arc::new(TableMapping::clone(&mapping).with_charset(index, logged));
        }
    }
    Ok(mapping)
}

fn same_name(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

/// Returns the character set of a collation's number, if it can be converted.
fn charset_of_collation(id: u32, mariadb: bool) -> Option<Charset> {
    let name = name_of(u16::try_from(id).ok()?, mariadb)?;
    charset_of(name).ok()
}
