//! Table definitions, as far as hashing needs them: columns, unique keys and foreign keys.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Begin of a label of ENUM or SET that is no text, or has a NUL character; the hexadecimal digits of its bytes follow.
///
/// U+FFFF is no character of Unicode.
pub const NO_TEXT: &str = "\u{ffff}0x";

/// Returns the bytes of a label that is no text; none for all others.
///
/// ```
/// use paraply_core::schema::label_bytes;
/// assert_eq!(label_bytes("\u{ffff}0xe420"), Some(vec![0xE4, 0x20]));
/// assert_eq!(label_bytes("0xe4"), None);
/// ```
pub fn label_bytes(label: &str) -> Option<Vec<u8>> {
    let digits = label.strip_prefix(NO_TEXT)?.as_bytes().chunks(2);
    digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// A database and a table name, as the source spells them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName {
    /// The database.
    pub database: String,
    /// The table.
    pub table: String,
}

impl TableName {
    /// Makes a name out of its two parts.
    pub fn new(database: impl Into<String>, table: impl Into<String>) -> Self {
        Self { database: database.into(), table: table.into() }
    }
}

impl std::fmt::Display for TableName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.database, self.table)
    }
}

/// One column, in the order of the row image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name as declared.
    pub name: String,
    /// The type's keyword in lower case, without length or sign: `bigint`, `varchar`, `enum`.
    pub data_type: String,
    /// True if a number is UNSIGNED.
    pub unsigned: bool,
    /// True if NULL may be stored.
    pub nullable: bool,
    /// The collation's full name for character types, `binary` for binary strings, else none.
    pub collation: Option<String>,
    /// The labels of ENUM and SET.
    pub labels: Vec<String>,
    /// The declared length in characters or bytes, the BIT width, or the digits of a DECIMAL.
    pub length: Option<u32>,
    /// Digits after the point of DECIMAL, and of the seconds of TIME, DATETIME and TIMESTAMP; none where they are not known.
    pub decimals: Option<u8>,
    /// The expression of a generated column, empty where it is not known; none for other columns.
    pub generated: Option<String>,
}

/// One part of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyPart {
    /// A whole column, by its index in [`Table::columns`].
    Column(usize),
    /// The first characters (or bytes) of a column.
    Prefix {
        /// The column's index.
        column: usize,
        /// Characters of text, bytes of binary.
        length: u32,
    },
    /// An expression (functional or multi-valued key): not known from the row image.
    Expression,
}

/// A primary or unique key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKey {
    /// The key's name; `PRIMARY` for the primary key.
    pub name: String,
    /// Its parts in order.
    pub parts: Vec<KeyPart>,
}

/// Effect of a foreign key on the children when the parent is deleted or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReferenceAction {
    /// The change is refused while children exist.
    #[default]
    Refuse,
    /// The children are deleted or changed too.
    Cascade,
    /// The children's columns become NULL.
    SetNull,
}

/// A foreign key of a child table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// The child's columns, by index.
    pub columns: Vec<usize>,
    /// The parent table.
    pub parent: TableName,
    /// The parent's columns, by name.
    pub parent_columns: Vec<String>,
    /// ON DELETE.
    pub on_delete: ReferenceAction,
    /// ON UPDATE.
    pub on_update: ReferenceAction,
}

/// One table's definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Database and table.
    pub name: TableName,
    /// Columns in row-image order.
    pub columns: Vec<Column>,
    /// Primary key first, then the unique keys in the order in which the server keeps them.
    pub unique_keys: Vec<UniqueKey>,
    /// Foreign keys of this table as a child.
    pub foreign_keys: Vec<ForeignKey>,
}

impl Table {
    /// Returns the index of a column by its name, without regard to ASCII case (as the server compares column names).
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name.eq_ignore_ascii_case(name))
    }
}

/// All tables known at one position of a log.
///
/// Cloning is cheap: a batch of transactions keeps the catalog that was valid when it was read.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    tables: HashMap<TableName, Arc<Table>>,
    children: HashMap<TableName, Vec<Arc<Table>>>,
    /// Previous definitions of tables, newest last.
    previous: HashMap<TableName, Vec<Arc<Table>>>,
    version: u64,
}

/// Number of earlier definitions that are kept of one table; rows come late by one statement, seldom by two.
const MOST_PREVIOUS: usize = 8;

/// Number of tables of which earlier definitions are kept before all of them are forgotten.
const MOST_CHANGED: usize = 10_000;

impl Catalog {
    /// Returns a number that no other content has in this process: catalogs with equal versions are equal.
    pub fn version(&self) -> u64 {
        self.version
    }

    fn touch(&mut self) {
        static LAST: AtomicU64 = AtomicU64::new(0);
        self.version = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    }

    /// Adds a table, or replaces its definition, which is kept as a previous one.
    pub fn put(&mut self, table: Table) {
        self.retire(&table.name);
        let table = Arc::new(table);
        for key in &table.foreign_keys {
            let children = self.children.entry(key.parent.clone()).or_default();
            if !children.iter().any(|c| c.name == table.name) {
                children.push(Arc::clone(&table));
            }
        }
        self.tables.insert(table.name.clone(), table);
    }

    /// Forgets a table and its previous definitions; unknown names are ignored.
    pub fn remove(&mut self, name: &TableName) {
        self.take(name);
        self.previous.remove(name);
    }

    /// Removes a table whose name no longer exists, but keeps its definition as a previous one.
    pub fn retire(&mut self, name: &TableName) {
        let Some(old) = self.take(name) else { return };
        if self.previous.len() > MOST_CHANGED {
            self.previous.clear();
        }
        let kept = self.previous.entry(name.clone()).or_default();
        kept.retain(|table| *table != old);
        if kept.len() >= MOST_PREVIOUS {
            kept.remove(0);
        }
        kept.push(old);
    }

    fn take(&mut self, name: &TableName) -> Option<Arc<Table>> {
        self.touch();
        let old = self.tables.remove(name)?;
        for key in &old.foreign_keys {
            if let Some(children) = self.children.get_mut(&key.parent) {
                children.retain(|c| c.name != *name);
            }
        }
        Some(old)
    }

    /// Iterates over a table's previous definitions, newest first.
    ///
    /// A member of a group may write rows under an old definition that are certified after the statement that changed
    /// it.
    pub fn previous(&self, name: &TableName) -> impl Iterator<Item = &Arc<Table>> {
        self.previous.get(name).into_iter().flatten().rev()
    }

    /// Returns the definition of a table, if known.
    pub fn get(&self, name: &TableName) -> Option<&Arc<Table>> {
        self.tables.get(name)
    }

    /// Returns the tables with a foreign key to this one.
    pub fn children(&self, parent: &TableName) -> &[Arc<Table>] {
        self.children.get(parent).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the names of all known tables, in no order.
    pub fn names(&self) -> impl Iterator<Item = &TableName> {
        self.tables.keys()
    }

    /// Returns the number of known tables.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Returns true if no table is known.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}
