//! The text of a set's statement.

use std::fmt::Write as _;

use super::super::mapping::{ColumnMapping, TableMapping};

/// Kind of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SetKind {
    Insert,
    Update,
    Delete,
}

/// Common properties of the rows of a set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    /// The table's number in its block.
    pub(super) table: usize,
    pub(super) kind: SetKind,
    /// The columns that get values.
    pub(super) written: Vec<usize>,
}

/// Form of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// One value for each column, for one row.
    Values,
    /// One array for each column.
    Arrays,
}

impl Shape {
    /// Returns the columns that find a row; none for new rows.
    pub(super) fn key<'t>(&self, table: &'t TableMapping) -> &'t [usize] {
        let key = table.keys.first().map(Vec::as_slice).unwrap_or_default();
        if self.kind == SetKind::Insert { &[] } else { key }
    }

    /// Returns the columns of the arguments in order: those of the key, then the written ones.
    pub(super) fn columns<'t>(&self, table: &'t TableMapping) -> Vec<&'t ColumnMapping> {
        self.key(table).iter().chain(&self.written).filter_map(|&i| table.columns.get(i)).collect()
    }

    /// Returns the text after `PREPARE name`: the types of the arguments, and the statement.
    pub(super) fn preparation(&self, table: &TableMapping, form: Arguments) -> String {
        let columns = self.columns(table);
        let of_form = if form == Arguments::Arrays { "[]" } else { "" };
        let types: Vec<String> =
            columns.iter().filter_map(|column| Some(format!("{}{of_form}", column.free_type()?))).collect();
        let places: Vec<String> = (1..=columns.len()).map(|n| format!("${n}")).collect();
        format!("({}) AS {}", types.join(","), self.text(table, form, &places))
    }

    /// Returns the statement with the given arguments.
    pub(super) fn text(&self, table: &TableMapping, form: Arguments, arguments: &[String]) -> String {
        let target = table.target();
        let arrays = form == Arguments::Arrays;
        let all = arguments.join(",");
        if self.kind == SetKind::Insert {
            let names: Vec<&str> = self.columns(table).into_iter().map(ColumnMapping::quoted).collect();
            let source = if arrays { format!("SELECT * FROM unnest({all})") } else { format!("VALUES ({all})") };
            return format!("INSERT INTO {target} ({}) {source}", names.join(","));
        }
        let names: Vec<String> = (1..=arguments.len()).map(|n| format!("v.v{n}")).collect();
        let values: &[String] = if arrays { &names } else { arguments };
        let (found, new) = values.split_at(self.key(table).len().min(values.len()));
        let mut text = match self.kind {
            SetKind::Delete => format!("DELETE FROM {target} AS t"),
            _ => format!("UPDATE {target} AS t SET {}", equations(table, &self.written, "", new, ",")),
        };
        if arrays {
            let source = if self.kind == SetKind::Delete { "USING" } else { "FROM" };
            let columns: Vec<String> = (1..=arguments.len()).map(|n| format!("v{n}")).collect();
            let _ = write!(text, " {source} unnest({all}) AS v({})", columns.join(","));
        }
        let _ = write!(text, " WHERE {}", equations(table, self.key(table), "t.", found, " AND "));
        text
    }
}

/// Returns `column=value` for each of the columns.
fn equations(table: &TableMapping, columns: &[usize], prefix: &str, values: &[String], separator: &str) -> String {
    let columns = columns.iter().filter_map(|&i| table.columns.get(i));
    let parts: Vec<String> =
        columns.zip(values).map(|(column, value)| format!("{prefix}{}={value}", column.quoted())).collect();
    parts.join(separator)
}
