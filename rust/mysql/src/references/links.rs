//! Columns that refer to keys, the text of a key in a query, and the queries.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;

use paraply_binlog::rows::Row;
use paraply_core::schema::{Catalog, Column, ForeignKey, KeyPart, Table};
use paraply_core::value::Value;

/// Number of keys in one query.
const ASKED_AT_ONCE: usize = 1000;

/// A query, and the number that it must return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// A `SELECT` of one number: how many of the named keys exist. It locks them against deletion.
    pub sql: String,
    /// The number of keys that it names.
    pub expected: usize,
}

/// A row's columns of a link.
pub(super) enum Key {
    /// As a row of literals.
    Text(String),
    /// One of them is NULL.
    Null,
    /// One of them is not in the image.
    Missing,
}

/// Columns of a table that refer to a key, or are referred to.
pub(super) struct Link {
    /// Indices in the order of the parent's key.
    columns: Vec<usize>,
    /// The parent's columns, which determine the form of literals.
    forms: Vec<Column>,
    /// The parent's key, if it can be queried.
    pub(super) parent: Option<usize>,
}

type Image<'a, 'r> = Option<&'r [Option<Value<'a>>]>;

fn value_of<'a>(image: &[Option<Value<'a>>], column: usize) -> Option<Value<'a>> {
    image.get(column).copied().flatten()
}

impl Link {
    /// Returns true if a row is inserted, deleted, or changed in these columns.
    pub(super) fn is_touched(&self, row: Row<'_, '_>) -> bool {
        let (Some(before), Some(after)) = (row.before, row.after) else { return true };
        // A minimal image leaves out unchanged columns.
        self.columns
            .iter()
            .any(|&column| value_of(after, column).is_some_and(|new| value_of(before, column) != Some(new)))
    }

    /// Returns the key of a row; a column that is not in the image after a change is unchanged.
    pub(super) fn key<'a>(&self, before: Image<'a, '_>, after: Image<'a, '_>) -> Key {
        let mut text = String::from("ROW(");
        for (&column, form) in self.columns.iter().zip(&self.forms) {
            let new = after.and_then(|image| value_of(image, column));
            let Some(value) = new.or_else(|| value_of(before?, column)) else { return Key::Missing };
            if value == Value::Null {
                return Key::Null;
            }
            if text.len() > 4 {
                text.push(',');
            }
            if write_literal(form, value, &mut text).is_none() {
                return Key::Missing;
            }
        }
        text.push(')');
        Key::Text(text)
    }
}

/// A table's foreign keys, and those that refer to it.
pub(super) struct TableLinks {
    pub(super) refers: Vec<Link>,
    pub(super) referred: Vec<Link>,
    /// True if all of its foreign keys' columns were found.
    pub(super) understood: bool,
}

impl TableLinks {
    /// Returns true if the table has foreign keys or is referred to by one.
    pub(super) fn any(&self) -> bool {
        !self.refers.is_empty() || !self.referred.is_empty()
    }
}

/// A unique key of a parent.
struct ParentKey {
    table: Arc<Table>,
    key: usize,
    columns: Vec<usize>,
}

/// The links of the tables of a block's rows.
pub(super) struct Links<'c> {
    catalog: &'c Catalog,
    tables: HashMap<usize, Arc<TableLinks>>,
    parents: Vec<ParentKey>,
}

impl<'c> Links<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        Self { catalog, tables: HashMap::new(), parents: Vec::new() }
    }

    /// Returns a table's links, by the table's number in the block's walk.
    pub(super) fn of(&mut self, index: usize, table: &Arc<Table>) -> Arc<TableLinks> {
        if let Some(links) = self.tables.get(&index) {
            return Arc::clone(links);
        }
        let refers: Vec<_> = table.foreign_keys.iter().map(|key| self.link(table, key, true)).collect();
        let catalog = self.catalog;
        let children = catalog.children(&table.name).iter();
        let to_this = children.flat_map(|child| child.foreign_keys.iter().map(move |key| (child, key)));
        let to_this = to_this.filter(|(_, key)| key.parent == table.name);
        let referred: Vec<_> = to_this.map(|(child, key)| self.link(child, key, false)).collect();
        let understood = refers.iter().chain(&referred).all(Option::is_some);
        let mut links = TableLinks { refers: refers.into_iter().flatten().collect(), referred: Vec::new(), understood };
        for link in referred.into_iter().flatten() {
            if !links.referred.iter().any(|known| known.columns == link.columns && known.parent == link.parent) {
                links.referred.push(link);
            }
        }
        let links = Arc::new(links);
        self.tables.insert(index, Arc::clone(&links));
        links
    }

    /// Returns one side of a foreign key: the child's, or the parent's. None where a column of that side is not known.
    fn link(&mut self, child: &Table, key: &ForeignKey, child_side: bool) -> Option<Link> {
        let parent = self.parent(child, key);
        let table = self.catalog.get(&key.parent);
        let places =
            |table: &Table| key.parent_columns.iter().map(|name| table.column_index(name)).collect::<Option<Vec<_>>>();
        let Some((parent, order)) = parent else {
            let columns = if child_side { key.columns.clone() } else { places(table?)? };
            return Some(Link { columns, forms: Vec::new(), parent: None });
        };
        let ParentKey { table, columns: own, .. } = &self.parents[parent];
        let forms = own.iter().map(|&column| table.columns[column].clone()).collect();
        let columns = if child_side { order } else { own.clone() };
        Some(Link { columns, forms, parent: Some(parent) })
    }

    /// Returns the unique key that a foreign key refers to, with the child's columns in that key's order; none where a
    /// query could give another result than the server's check.
    fn parent(&mut self, child: &Table, key: &ForeignKey) -> Option<(usize, Vec<usize>)> {
        let table = self.catalog.get(&key.parent)?;
        let referred: Vec<usize> =
            key.parent_columns.iter().map(|name| table.column_index(name)).collect::<Option<_>>()?;
        let whole = |parts: &[KeyPart]| {
            let columns =
                parts.iter().map(|part| if let KeyPart::Column(column) = part { Some(*column) } else { None });
            columns.collect::<Option<Vec<_>>>()
        };
        let mut keys =
            table.unique_keys.iter().enumerate().filter_map(|(place, key)| Some((place, whole(&key.parts)?)));
        let (place, columns) = keys.find(|(_, columns)| {
            columns.len() == referred.len() && columns.iter().all(|column| referred.contains(column))
        })?;
        let own = |column: &usize| key.columns.get(referred.iter().position(|at| at == column)?).copied();
        let order: Vec<usize> = columns.iter().map(own).collect::<Option<_>>()?;
        let alike = |(&ours, &theirs): (&usize, &usize)| {
            child.columns.get(ours).is_some_and(|column| are_alike(column, &table.columns[theirs]))
        };
        if !order.iter().zip(&columns).all(alike) {
            return None;
        }
        let known = self.parents.iter().position(|known| known.table.name == table.name && known.key == place);
        let parent = known.unwrap_or_else(|| {
            self.parents.push(ParentKey { table: Arc::clone(table), key: place, columns });
            self.parents.len() - 1
        });
        Some((parent, order))
    }

    /// Returns the queries for the keys of a parent that are needed and that the block did not insert itself.
    pub(super) fn questions(&self, parent: usize, keys: &BTreeMap<String, bool>) -> Vec<Question> {
        let needed: Vec<&str> = keys.iter().filter(|(_, needed)| **needed).map(|(key, _)| key.as_str()).collect();
        let ParentKey { table, key, columns } = &self.parents[parent];
        let columns = columns.iter().map(|&column| &table.columns[column]).enumerate();
        let names: Vec<String> = columns.clone().map(|(place, _)| format!("c{place}")).collect();
        let on = columns.map(|(place, column)| {
            let collation = column.collation.as_deref().filter(|name| *name != "binary");
            let collate = collation.map_or_else(String::new, |name| format!(" COLLATE {name}"));
            format!("p.{}=k.c{place}{collate}", quoted(&column.name))
        });
        let on = on.collect::<Vec<_>>().join(" AND ");
        let source = format!(
            "k({}) STRAIGHT_JOIN {}.{} p FORCE INDEX ({}) ON {on} FOR SHARE OF p",
            names.join(","),
            quoted(&table.name.database),
            quoted(&table.name.table),
            quoted(&table.unique_keys[*key].name)
        );
        let some = needed.chunks(ASKED_AT_ONCE);
        some.map(|some| Question {
            sql: format!("SELECT COUNT(*) FROM (VALUES {}) {source}", some.join(",")),
            expected: some.len(),
        })
        .collect()
    }
}

/// Returns true if equal values of a child's and a parent's column are written alike, and compared as in the server's
/// check.
fn are_alike(child: &Column, parent: &Column) -> bool {
    match parent.data_type.as_str() {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" => {
            child.data_type == parent.data_type && child.unsigned == parent.unsigned
        }
        "char" | "varchar" => {
            matches!(child.data_type.as_str(), "char" | "varchar")
                && charset(child).is_some()
                && charset(child) == charset(parent)
        }
        "binary" => child.data_type == "binary" && child.length == parent.length,
        "varbinary" => child.data_type == "varbinary",
        _ => false,
    }
}

fn charset(column: &Column) -> Option<&str> {
    column.collation.as_deref().and_then(|name| name.split('_').next())
}

/// Writes a value as the server stores it in a column.
fn write_literal(column: &Column, value: Value<'_>, text: &mut String) -> Option<()> {
    let (bytes, charset, length) = match value {
        Value::Int(number) => return write!(text, "{number}").ok(),
        Value::UInt(number) => return write!(text, "{number}").ok(),
        // The trailing zero bytes of a BINARY are not in the image.
        Value::Bytes(bytes) if column.data_type == "binary" => {
            (bytes, "binary", column.length.unwrap_or_default() as usize)
        }
        Value::Bytes(bytes) if column.data_type == "varbinary" => (bytes, "binary", 0),
        Value::Bytes(bytes) => (bytes, charset(column)?, 0),
        _ => return None,
    };
    write!(text, "_{charset} x'").ok()?;
    for byte in bytes {
        write!(text, "{byte:02x}").ok()?;
    }
    for _ in bytes.len()..length {
        text.push_str("00");
    }
    text.push('\'');
    Some(())
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
