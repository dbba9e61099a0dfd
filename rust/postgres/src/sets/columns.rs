//! The values of a set, as one array for each column.

use std::sync::Arc;

use paraply_core::value::Value;

use super::super::conditions::write_value;
use super::super::error::RenderError;
use super::super::mapping::{ColumnMapping, Kind, TableMapping};
use super::super::render::{ANY_ROWS, Change, Image, Limits, Statement, missing};
use super::super::renderer::Renderer;
use super::statement::{Arguments, Shape};

/// The most rows that are cheaper alone if all their values find them: one alone reads the table up to it, a set reads all
/// of the table.
const MOST_WHOLE_ROWS_ALONE: usize = 16;

/// Factor by which a set that reads all of a table may be larger.
const LARGER: u64 = 20;

/// The plan of a set that finds whole rows needs what the session's settings forbid.
const WITH_HASHES: [&str; 2] = ["SET LOCAL enable_hashjoin=on", "SET LOCAL enable_hashjoin=off"];

/// A set that takes rows.
#[derive(Debug)]
pub(super) struct OpenSet {
    table: Arc<TableMapping>,
    shape: Shape,
    arrays: Vec<Vec<u8>>,
    /// The values of the first rows: so few are cheaper without arrays.
    first: Vec<Vec<Vec<u8>>>,
    literal: Vec<u8>,
    rows: u64,
}

impl OpenSet {
    /// Creates an empty set.
    pub(super) fn new(table: &Arc<TableMapping>, shape: Shape) -> Self {
        let arrays = vec![Vec::with_capacity(64); shape.columns(table).len()];
        Self { table: Arc::clone(table), shape, arrays, first: Vec::new(), literal: Vec::new(), rows: 0 }
    }

    /// Adds a row. The change has the set's shape; `table` is its mapping, whose character sets may be the row's own.
    pub(super) fn push(&mut self, table: &TableMapping, change: Change<'_, '_>) -> Result<(), RenderError> {
        let (found, new): (Image<'_, '_>, Image<'_, '_>) = match change {
            Change::Insert(after) => (&[], after),
            Change::Delete(before) => (before, &[]),
            Change::Update { before, after } => (before, after),
        };
        let key = self.shape.key(table);
        let columns = key.iter().map(|&i| (i, found)).chain(self.shape.written.iter().map(|&i| (i, new)));
        let is_alone = self.first.len() < self.most_alone();
        let mut alone = Vec::new();
        for ((index, image), array) in columns.zip(&mut self.arrays) {
            let Some(column) = table.columns.get(index) else { continue };
            let value = image.get(index).and_then(Option::as_ref).ok_or_else(|| missing(table, column))?;
            self.literal.clear();
            write_value(&mut self.literal, table, column, value, image)?;
            array.push(if self.rows == 0 { b'{' } else { b',' });
            push_element(array, &column.kind, value, &self.literal);
            if is_alone {
                alone.push(self.literal.clone());
            }
        }
        if is_alone {
            self.first.push(alone);
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns true if the set takes no more rows.
    pub(super) fn is_full(&self, limits: Limits) -> bool {
        let larger = if self.finds_whole_rows() { LARGER } else { 1 };
        let bytes = self.arrays.iter().map(Vec::len).sum::<usize>() as u64;
        self.rows >= limits.rows * larger || bytes >= limits.bytes as u64 * larger
    }

    /// Returns the set as statements.
    pub(super) fn statements(self, renderer: &Renderer) -> Vec<Statement> {
        if self.first.len() as u64 == self.rows {
            let alone = self.first.iter().map(|values| self.statement(renderer, Arguments::Values, values, 1));
            return alone.collect();
        }
        let array = |array: &Vec<u8>| [b"'".as_slice(), array, b"}'".as_slice()].concat();
        let arrays: Vec<Vec<u8>> = self.arrays.iter().map(array).collect();
        if !self.finds_whole_rows() {
            return vec![self.statement(renderer, Arguments::Arrays, &arrays, self.rows)];
        }
        let [before, after] = WITH_HASHES.map(|text| Statement {
            sql: text.into(),
            rows: ANY_ROWS,
            table: self.table.source.clone(),
            prepared: None,
        });
        let arguments = self.typed(&arrays);
        let sql = with_arguments(&self.shape, &self.table, Arguments::Arrays, &arguments);
        vec![before, Statement { sql, rows: self.rows, table: self.table.source.clone(), prepared: None }, after]
    }

    fn finds_whole_rows(&self) -> bool {
        self.shape.finds_whole_rows(&self.table)
    }

    fn most_alone(&self) -> usize {
        if self.finds_whole_rows() { MOST_WHOLE_ROWS_ALONE } else { 1 }
    }

    /// Returns a statement with values, which is prepared if it is used often enough.
    fn statement(&self, renderer: &Renderer, form: Arguments, values: &[Vec<u8>], rows: u64) -> Statement {
        let Self { table, shape, .. } = self;
        let prepared = renderer.prepared_name(&shape.preparation(table, form));
        let sql = match &prepared {
            Some(name) => {
                [b"EXECUTE ".as_slice(), name.as_bytes(), b"(".as_slice(), &values.join(&b','), b")".as_slice()]
                    .concat()
            }
            None if form == Arguments::Arrays => with_arguments(shape, table, form, &self.typed(values)),
            None => with_arguments(shape, table, form, values),
        };
        Statement { sql, rows, table: table.source.clone(), prepared }
    }

    /// Returns arrays with their types.
    fn typed(&self, arrays: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let columns = self.shape.columns(&self.table);
        let typed = |(array, column): (&Vec<u8>, &&ColumnMapping)| match column.free_type() {
            Some(element) => [array.as_slice(), format!("::{element}[]").as_bytes()].concat(),
            None => array.clone(),
        };
        arrays.iter().zip(&columns).map(typed).collect()
    }
}

/// Returns a statement with its arguments in the places of NUL bytes, which no name holds.
fn with_arguments(shape: &Shape, table: &TableMapping, form: Arguments, arguments: &[Vec<u8>]) -> Vec<u8> {
    let places: Vec<String> = (1..=arguments.len()).map(|n| format!("\0{n}\0")).collect();
    let text = shape.text(table, form, &places);
    let mut sql = Vec::with_capacity(text.len() + arguments.iter().map(Vec::len).sum::<usize>());
    for (n, part) in text.split('\0').enumerate() {
        let argument = part.parse::<usize>().ok().filter(|_| n % 2 == 1);
        match argument.and_then(|number| arguments.get(number - 1)) {
            Some(argument) => sql.extend_from_slice(argument),
            None => sql.extend_from_slice(part.as_bytes()),
        }
    }
    sql
}

/// Appends a literal as an element of an array that is itself inside a literal.
///
/// The literal has doubled each quote already. An element between double quotes needs a backslash before each backslash
/// and double quote; everything else stays as it is.
fn push_element(array: &mut Vec<u8>, kind: &Kind, value: &Value<'_>, literal: &[u8]) {
    let text = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    if value.is_null() {
        array.extend_from_slice(literal);
    } else if is_bare(kind) {
        array.extend_from_slice(text);
    } else {
        array.push(b'"');
        let mut rest = text;
        while let Some(at) = rest.iter().position(|&byte| byte == b'\\' || byte == b'"') {
            let (head, tail) = rest.split_at(at);
            array.extend_from_slice(head);
            array.push(b'\\');
            array.extend(tail.first());
            rest = tail.get(1..).unwrap_or_default();
        }
        array.extend_from_slice(rest);
        array.push(b'"');
    }
}

/// Returns true for values whose text has only letters, digits, signs, points and colons.
fn is_bare(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Integer
            | Kind::Unsigned
            | Kind::Decimal
            | Kind::Real
            | Kind::Double
            | Kind::Bit
            | Kind::Date
            | Kind::Interval
            | Kind::Year
            | Kind::Uuid
            | Kind::Inet4
            | Kind::Inet6
    )
}
