//! The values of a set, as one array for each column.

use std::sync::Arc;

use paraply_core::value::Value;

use super::super::conditions::write_value;
use super::super::error::RenderError;
use super::super::mapping::{Kind, TableMapping};
use super::super::render::{Change, Image, Limits, Statement, missing};
use super::super::renderer::Renderer;
use super::statement::{Arguments, Shape};

/// A set that takes rows.
#[derive(Debug)]
pub(super) struct OpenSet {
    table: Arc<TableMapping>,
    shape: Shape,
    arrays: Vec<Vec<u8>>,
    /// The first row's values: one row alone is cheaper without arrays.
    first: Vec<Vec<u8>>,
    literal: Vec<u8>,
    rows: u64,
}

impl OpenSet {
    /// Creates an empty set.
    pub(super) fn new(table: &Arc<TableMapping>, shape: Shape) -> Self {
        let arrays = vec![Vec::with_capacity(64); shape.columns(table).len()];
        let first = Vec::with_capacity(arrays.len());
        Self { table: Arc::clone(table), shape, arrays, first, literal: Vec::new(), rows: 0 }
    }

    /// Adds a row. The change has the set's shape; `table` is its mapping, whose character sets may be the row's own.
    pub(super) fn push(&mut self, table: &TableMapping, change: Change<'_, '_>) -> Result<(), RenderError> {
        let (found, new): (Image<'_, '_>, Image<'_, '_>) = match change {
            Change::Insert(after) => (&[], after),
            Change::Delete(before) => (before, &[]),
            Change::Update { before, after } => (before, after),
        };
        let key = self.shape.key(table).iter().map(|&i| (i, found));
        let columns = key.chain(self.shape.written.iter().map(|&i| (i, new)));
        for ((index, image), array) in columns.zip(&mut self.arrays) {
            let Some(column) = table.columns.get(index) else { continue };
            let value = image.get(index).and_then(Option::as_ref).ok_or_else(|| missing(table, column))?;
            self.literal.clear();
            write_value(&mut self.literal, table, column, value, image)?;
            array.push(if self.rows == 0 { b'{' } else { b',' });
            push_element(array, &column.kind, value, &self.literal);
            if self.rows == 0 {
                self.first.push(self.literal.clone());
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Returns true if the set takes no more rows.
    pub(super) fn is_full(&self, limits: Limits) -> bool {
        self.rows >= limits.rows || self.arrays.iter().map(Vec::len).sum::<usize>() >= limits.bytes
    }

    /// Returns the set as a statement.
    pub(super) fn statement(self, renderer: &Renderer) -> Statement {
        let Self { table, shape, arrays, first, rows, .. } = self;
        let form = if rows == 1 { Arguments::Values } else { Arguments::Arrays };
        let prepared = renderer.prepared_name(&shape.preparation(&table, form));
        let types = if prepared.is_none() { shape.columns(&table) } else { Vec::new() };
        let mut arguments = first;
        if form == Arguments::Arrays {
            for (n, (argument, array)) in arguments.iter_mut().zip(&arrays).enumerate() {
                argument.clear();
                for part in [b"'".as_slice(), array.as_slice(), b"}'".as_slice()] {
                    argument.extend_from_slice(part);
                }
                if let Some(element) = types.get(n).and_then(|column| column.free_type()) {
                    argument.extend_from_slice(format!("::{element}[]").as_bytes());
                }
            }
        }
        let sql = match &prepared {
            Some(name) => {
                [b"EXECUTE ".as_slice(), name.as_bytes(), b"(".as_slice(), &arguments.join(&b','), b")".as_slice()]
                    .concat()
            }
            None => with_arguments(&shape, &table, form, &arguments),
        };
        Statement { sql, rows, table: table.source.clone(), prepared }
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
