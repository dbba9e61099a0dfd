//! The text of a set's statement.

use std::fmt::Write as _;

use super::super::conditions::text_type;
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
    /// Returns the columns that find a row: those of the best key, else all; none for new rows.
    pub(super) fn key(&self, table: &TableMapping) -> Vec<usize> {
        match (self.kind, table.keys.first()) {
            (SetKind::Insert, _) => Vec::new(),
            (_, Some(key)) => key.clone(),
            (_, None) => table.own_columns().collect(),
        }
    }

    /// Returns true if rows are found by all their values.
    pub(super) fn finds_whole_rows(&self, table: &TableMapping) -> bool {
        self.kind != SetKind::Insert && table.keys.is_empty()
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
        let key = self.key(table);
        let (found, new) = values.split_at(key.len().min(values.len()));
        if self.finds_whole_rows(table) {
            let head = match self.kind {
                SetKind::Delete => format!("DELETE FROM {target} AS t"),
                _ => format!("UPDATE {target} AS t SET {}", equations(table, &self.written, "", new, ",")),
            };
            return if arrays {
                self.whole_rows(table, &head, &all, arguments.len())
            } else {
                one_of_equal_rows(table, &key, &head, found)
            };
        }
        let mut text = match self.kind {
            SetKind::Delete => format!("DELETE FROM {target} AS t"),
            _ => format!("UPDATE {target} AS t SET {}", equations(table, &self.written, "", new, ",")),
        };
        if arrays {
            let source = if self.kind == SetKind::Delete { "USING" } else { "FROM" };
            let columns: Vec<String> = (1..=arguments.len()).map(|n| format!("v{n}")).collect();
            let _ = write!(text, " {source} unnest({all}) AS v({})", columns.join(","));
        }
        let _ = write!(text, " WHERE {}", equations(table, &key, "t.", found, " AND "));
        text
    }

    /// Returns a statement that finds each row by all its values, as one of the rows that are equal to it.
    ///
    /// Equal rows are numbered, in the table and in the set. Values are compared as the text of the row, where NULL is
    /// a value, and which can be hashed for every type.
    fn whole_rows(&self, table: &TableMapping, head: &str, all: &str, count: usize) -> String {
        let target = table.target();
        let source = if self.kind == SetKind::Delete { "USING" } else { "FROM" };
        let columns: Vec<String> = (1..=count).map(|n| format!("v{n}")).collect();
        let found = columns.get(..self.key(table).len()).unwrap_or_default().join(",");
        let stored: Vec<String> =
            table.own_columns().filter_map(|i| Some(format!("s.{}", table.columns.get(i)?.quoted()))).collect();
        format!(
            "WITH w AS MATERIALIZED (SELECT a.*, row_number() OVER (PARTITION BY a.paraply_row) AS paraply_number FROM \
             (SELECT u.*, ROW({found})::text AS paraply_row FROM unnest({all}) AS u({columns})) AS a) \
             {head} {source} (SELECT f.part, f.place, v.* FROM (SELECT q.part, q.place, q.paraply_row, row_number() OVER \
             (PARTITION BY q.paraply_row) AS paraply_number FROM (SELECT s.tableoid AS part, s.ctid AS place, \
             ROW({stored})::text AS paraply_row FROM {target} AS s) AS q WHERE q.paraply_row IN (SELECT w.paraply_row \
             FROM w)) AS f JOIN w AS v USING (paraply_row, paraply_number)) AS v WHERE t.tableoid=v.part AND t.ctid=v.place",
            columns = columns.join(","),
            stored = stored.join(","),
        )
    }
}

/// Returns a statement for one of the rows that have these values.
///
/// Documents and floating-point numbers are compared as text, because values that the target calls equal differ there.
fn one_of_equal_rows(table: &TableMapping, columns: &[usize], head: &str, values: &[String]) -> String {
    let conditions = columns.iter().filter_map(|&i| table.columns.get(i)).zip(values).map(|(column, value)| {
        let name = column.quoted();
        match text_type(column) {
            Some(sql_type) => format!("s.{name}::text IS NOT DISTINCT FROM ({value}::{sql_type})::text"),
            None => format!("s.{name} IS NOT DISTINCT FROM {value}"),
        }
    });
    let conditions = conditions.collect::<Vec<_>>().join(" AND ");
    format!("{head} WHERE t.ctid=(SELECT s.ctid FROM {} AS s WHERE {conditions} LIMIT 1 FOR UPDATE)", table.target())
}

/// Returns `column=value` for each of the columns.
fn equations(table: &TableMapping, columns: &[usize], prefix: &str, values: &[String], separator: &str) -> String {
    let columns = columns.iter().filter_map(|&i| table.columns.get(i));
    let parts: Vec<String> =
        columns.zip(values).map(|(column, value)| format!("{prefix}{}={value}", column.quoted())).collect();
    parts.join(separator)
}
