//! The tables of a batch: each table map read, checked and prepared once, however often the log repeats it.

use std::collections::HashMap;
use std::sync::Arc;

use paraply_core::schema::{Catalog, KeyPart, ReferenceAction, Table, TableName};
use xxhash_rust::xxh64::xxh64;

use crate::image_cursor::Decoded;
use crate::table_check::{Difference, compare};
use crate::table_map::{TableMap, split_table_id};
use crate::transaction::Format;

/// Why rows of a table cannot be hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unusable {
    /// No definition is known.
    UnknownTable,
    /// The known definition is not the one that the rows were written under.
    OtherDefinition(Difference),
}

impl Unusable {
    /// The reason as it is reported.
    pub fn reason(self) -> &'static str {
        match self {
            Self::UnknownTable => "the table's keys are not known",
            Self::OtherDefinition(difference) => difference.reason(),
        }
    }
}

/// A table as its rows need it.
#[derive(Debug)]
pub struct KnownTable {
    /// The table map, its signs completed from the definition.
    pub map: TableMap,
    /// The definition, or why there is none to use.
    pub definition: Result<Arc<Table>, Unusable>,
    /// The columns that some hash depends on; the others are passed over.
    pub hashed: Vec<bool>,
    /// Whether a change of this table's rows may go on to rows of its children (ON DELETE CASCADE and the like).
    pub cascades: bool,
    body: Vec<u8>,
    mariadb: bool,
}

/// Tables kept before everything is forgotten and read again; a log repeats far fewer.
const MOST_TABLES: usize = 10_000;

/// Finds tables by the bytes of their table maps.
#[derive(Debug, Default)]
pub struct KnownTables {
    version: u64,
    tables: Vec<KnownTable>,
    by_body: HashMap<u64, Vec<usize>>,
}

impl KnownTables {
    /// Must be called before a transaction's first table: what another catalog said is forgotten.
    pub fn begin(&mut self, catalog: &Catalog) {
        if self.version != catalog.version() || self.tables.len() > MOST_TABLES {
            self.tables.clear();
            self.by_body.clear();
            self.version = catalog.version();
        }
    }

    /// A table by the index that [`Self::find`] gave.
    pub fn get(&self, index: usize) -> Option<&KnownTable> {
        self.tables.get(index)
    }

    /// Reads a table-map event: the table id, and the index of the table.
    pub fn find(&mut self, event: &[u8], format: &Format, catalog: &Catalog) -> Decoded<(u64, usize)> {
        let (table_id, body) = split_table_id(event, format)?;
        let hash = xxh64(body, 0);
        let same = self.by_body.get(&hash).into_iter().flatten().copied();
        let is_same = |index: &usize| {
            self.tables.get(*index).is_some_and(|known| known.body == body && known.mariadb == format.mariadb)
        };
        if let Some(index) = same.into_iter().find(is_same) {
            return Ok((table_id, index));
        }
        let map = TableMap::parse(event, format)?;
        let index = self.tables.len();
        self.tables.push(prepare(map, catalog, body, format));
        self.by_body.entry(hash).or_default().push(index);
        Ok((table_id, index))
    }
}

fn prepare(mut map: TableMap, catalog: &Catalog, body: &[u8], format: &Format) -> KnownTable {
    let definition = match catalog.get(&map.name) {
        None => Err(Unusable::UnknownTable),
        Some(table) => match compare(&map, table, format.mariadb) {
            Err(difference) => Err(Unusable::OtherDefinition(difference)),
            Ok(()) => Ok(Arc::clone(table)),
        },
    };
    let mut hashed = vec![false; map.columns.len()];
    if let Ok(table) = &definition {
        map.take_signs(table);
        mark_hashed(table, catalog, &mut hashed);
    }
    let cascades = carries_on(&map.name, catalog);
    KnownTable { map, definition, hashed, cascades, body: body.to_vec(), mariadb: format.mariadb }
}

fn carries_on(name: &TableName, catalog: &Catalog) -> bool {
    let keys = catalog.children(name).iter().flat_map(|child| &child.foreign_keys);
    let refuses = |action| action == ReferenceAction::Refuse;
    keys.filter(|key| key.parent == *name).any(|key| !refuses(key.on_delete) || !refuses(key.on_update))
}

/// Marks the columns of unique keys, of foreign keys, and those that children's foreign keys point at.
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
