//! The tables of a batch: each table map read, checked and prepared once, however often the log repeats it.

use std::collections::HashMap;
use std::sync::Arc;

use paraply_core::generated::Computed;
use paraply_core::schema::{Catalog, ForeignKey, KeyPart, ReferenceAction, Table, TableName};
use xxhash_rust::xxh64::xxh64;

use crate::rows::image_cursor::Decoded;
use crate::rows::table_check::{Difference, compare};
use crate::rows::table_map::{TableMap, split_table_id};
use crate::transaction::Format;

/// Reason why rows of a table cannot be hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unusable {
    /// No definition is known.
    UnknownTable,
    /// The known definition differs from the one that the rows were written under.
    OtherDefinition(Difference),
}

impl Unusable {
    /// Returns the reason for reports.
    pub fn reason(self) -> &'static str {
        match self {
            Self::UnknownTable => "the table's keys are not known",
            Self::OtherDefinition(difference) => difference.reason(),
        }
    }
}

/// Tables that foreign keys' cascades reach from a change of a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cascades {
    /// None.
    Nowhere,
    /// Other tables only.
    ToOthers,
    /// Other rows of the same table too, possibly by way of other tables.
    ToItself,
}

/// A table with what its rows need.
#[derive(Debug)]
pub struct KnownTable {
    /// The table map, its signs completed from the definition.
    pub map: TableMap,
    /// The definition, or the reason why there is none to use.
    pub definition: Result<Arc<Table>, Unusable>,
    /// For each column: true if some hash depends on it; the others are skipped.
    pub hashed: Vec<bool>,
    /// Tables that cascades reach from a change of this table's rows (ON DELETE CASCADE and the like).
    pub cascades: Cascades,
    /// True if it is read under a previous definition because its table id meant that definition before.
    by_sight: bool,
    body: Vec<u8>,
    mariadb: bool,
}

/// Number of tables kept before all are forgotten and read again; a log repeats far fewer.
const MOST_TABLES: usize = 10_000;

/// Number of table ids remembered before all of them are forgotten.
const MOST_SEEN: usize = 100_000;

/// The definition that a server's table id referred to, with the hash of the table map.
///
/// A server gives a table a new id when it opens it anew, as it has to after each change of its definition.
#[derive(Debug)]
struct Seen {
    body: u64,
    definition: Arc<Table>,
}

/// Finds tables by the bytes of their table maps.
#[derive(Debug, Default)]
pub struct KnownTables {
    version: u64,
    tables: Vec<KnownTable>,
    by_body: HashMap<u64, Vec<usize>>,
    /// True if rows may be read under a previous definition; else they are not usable where the present one does not
    /// fit.
    previous: bool,
    seen: HashMap<(u32, u64), Seen>,
}

impl KnownTables {
    /// Creates the tables of a log whose rows may have been written under the definition before the last statement.
    ///
    /// A group's member may certify rows after a statement that another member ran meanwhile. The server hashed them
    /// under the old definition, so its numbers are found only with that definition. An applier must not use this mode:
    /// there the statement comes first.
    pub fn with_previous() -> Self {
        Self { previous: true, ..Self::default() }
    }

    /// Sets the catalog. Must be called before a transaction's first table: results of another catalog are forgotten.
    pub fn begin(&mut self, catalog: &Catalog) {
        if self.version != catalog.version() || self.tables.len() > MOST_TABLES {
            self.tables.clear();
            self.by_body.clear();
            self.version = catalog.version();
        }
    }

    /// Returns a table by the index that [`Self::find`] returned.
    pub fn get(&self, index: usize) -> Option<&KnownTable> {
        self.tables.get(index)
    }

    /// Reads a table-map event of a server: the table id, and the index of the table.
    pub fn find(&mut self, event: &[u8], format: &Format, catalog: &Catalog, server_id: u32) -> Decoded<(u64, usize)> {
        let (table_id, body) = split_table_id(event, format)?;
        let hash = xxh64(body, 0);
        let seen = self.seen.get(&(server_id, table_id)).filter(|seen| seen.body == hash).map(|s| &s.definition);
        let index = if let Some(index) = self.same(hash, body, format, seen) {
            index
        } else {
            let map = TableMap::parse(event, format)?;
            let kept = self.kept(&map, catalog, seen);
            let by_sight = kept.is_some();
            let definition = kept.map_or_else(|| self.definition(&map, catalog, format), Ok);
            let table = prepare(map, definition, catalog, body, format);
            self.tables.push(KnownTable { by_sight, ..table });
            let index = self.tables.len() - 1;
            self.by_body.entry(hash).or_default().push(index);
            index
        };
        self.note((server_id, table_id), hash, index);
        Ok((table_id, index))
    }

    /// Returns a table that was read before from the same bytes, and under the same definition if `wanted` is given.
    fn same(&self, hash: u64, body: &[u8], format: &Format, wanted: Option<&Arc<Table>>) -> Option<usize> {
        let agrees = |known: &KnownTable| match wanted {
            Some(wanted) => known.definition.as_ref().is_ok_and(|own| Arc::ptr_eq(own, wanted)),
            None => !known.by_sight,
        };
        let is_same = |known: &KnownTable| known.body == body && known.mariadb == format.mariadb && agrees(known);
        let candidates = self.by_body.get(&hash)?;
        candidates.iter().copied().find(|index| self.tables.get(*index).is_some_and(is_same))
    }

    /// Returns the previous definition that a table id referred to before.
    fn kept(&self, map: &TableMap, catalog: &Catalog, seen: Option<&Arc<Table>>) -> Option<Arc<Table>> {
        let seen = seen.filter(|_| self.previous)?;
        catalog.previous(&map.name).find(|table| Arc::ptr_eq(table, seen)).map(Arc::clone)
    }

    /// Returns the present definition, else the newest previous one that fits.
    fn definition(&self, map: &TableMap, catalog: &Catalog, format: &Format) -> Result<Arc<Table>, Unusable> {
        let fits = |table: &Arc<Table>| compare(map, table, format.mariadb);
        let unusable = match catalog.get(&map.name) {
            None => Unusable::UnknownTable,
            Some(table) => match fits(table) {
                Ok(()) => return Ok(Arc::clone(table)),
                Err(difference) => Unusable::OtherDefinition(difference),
            },
        };
        let mut previous = catalog.previous(&map.name).filter(|_| self.previous);
        previous.find(|table| fits(table).is_ok()).map(Arc::clone).ok_or(unusable)
    }

    fn note(&mut self, place: (u32, u64), body: u64, index: usize) {
        let Some(definition) = self.tables.get(index).and_then(|known| known.definition.as_ref().ok()) else { return };
        if !self.previous || self.seen.get(&place).is_some_and(|seen| Arc::ptr_eq(&seen.definition, definition)) {
            return;
        }
        let seen = Seen { body, definition: Arc::clone(definition) };
        if self.seen.len() > MOST_SEEN {
            self.seen.clear();
        }
        self.seen.insert(place, seen);
    }
}

fn prepare(
    mut map: TableMap,
    definition: Result<Arc<Table>, Unusable>,
    catalog: &Catalog,
    body: &[u8],
    format: &Format,
) -> KnownTable {
    let mut hashed = vec![false; map.columns.len()];
    if let Ok(table) = &definition {
        map.take_signs(table);
        map.take_fractions(table);
        mark_hashed(table, catalog, &mut hashed);
        if format.mariadb {
            mark_sources(table, &mut hashed);
        }
    }
    let cascades = cascades(&map.name, catalog);
    KnownTable { map, definition, hashed, cascades, by_sight: false, body: body.to_vec(), mariadb: format.mariadb }
}

/// Iterates over the tables whose rows foreign keys change where a row of this one changes.
fn affected<'c>(name: &'c TableName, catalog: &'c Catalog) -> impl Iterator<Item = &'c TableName> {
    let acts = |key: &ForeignKey| key.on_delete != ReferenceAction::Refuse || key.on_update != ReferenceAction::Refuse;
    let is_affected = move |child: &&Arc<Table>| child.foreign_keys.iter().any(|key| key.parent == *name && acts(key));
    catalog.children(name).iter().filter(is_affected).map(|child| &child.name)
}

/// Returns the tables that a cascade reaches which begins in a table.
fn cascades(name: &TableName, catalog: &Catalog) -> Cascades {
    let mut seen: Vec<&TableName> = Vec::new();
    let mut next: Vec<&TableName> = affected(name, catalog).collect();
    while let Some(table) = next.pop() {
        if !seen.contains(&table) {
            seen.push(table);
            next.extend(affected(table, catalog));
        }
    }
    match seen.as_slice() {
        [] => Cascades::Nowhere,
        tables if tables.contains(&name) => Cascades::ToItself,
        _ => Cascades::ToOthers,
    }
}

/// Marks the columns of unique keys, of foreign keys, and those that children's foreign keys refer to.
fn mark_hashed(table: &Table, catalog: &Catalog, hashed: &mut [bool]) {
    let mut mark = |column: usize| {
        if let Some(flag) = hashed.get_mut(column) {
            *flag = true;
        }
    };
    for part in table.unique_keys.iter().flat_map(|key| &key.parts) {
        match part {
            KeyPart::Column(column) | KeyPart::Prefix { column, .. } => mark(*column),
            KeyPart::Expression => {}
        }
    }
    for key in &table.foreign_keys {
        key.columns.iter().for_each(|&column| mark(column));
    }
    let pointing = catalog.children(&table.name).iter().flat_map(|child| &child.foreign_keys);
    for key in pointing.filter(|key| key.parent == table.name) {
        key.parent_columns.iter().filter_map(|name| table.column_index(name)).for_each(&mut mark);
    }
}

/// Marks the columns from which marked generated columns are computed where an image leaves them out. An expression
/// reads only generated columns before its own.
fn mark_sources(table: &Table, hashed: &mut [bool]) {
    for index in (0..table.columns.len()).rev() {
        if hashed.get(index) == Some(&true)
            && let Some(computed) = Computed::of(table, index)
        {
            for source in computed.sources() {
                if let Some(flag) = hashed.get_mut(*source) {
                    *flag = true;
                }
            }
        }
    }
}
