//! SQL statements for single rows, each with the exact row that it must find.

use std::sync::Arc;

use paraply_core::schema::TableName;

/// Kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    /// INSERT: its parts are the rows, with commas between.
    Insert,
    /// UPDATE of one row.
    Update,
    /// DELETE: its parts are the conditions of the rows, with OR between.
    Delete,
}

impl StatementKind {
    /// Returns the kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    fn separator(self) -> &'static [u8] {
        match self {
            Self::Insert => b",\n  ",
            Self::Update => b"",
            Self::Delete => b"\n  OR ",
        }
    }
}

/// One statement for one row or several. It must affect exactly as many rows as it has parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowStatement {
    /// The kind.
    pub kind: StatementKind,
    /// The source's table.
    pub table: TableName,
    /// The text before the parts.
    pub head: Arc<str>,
    /// The parts, one for each row.
    pub parts: Vec<Vec<u8>>,
    /// The text after the parts.
    pub tail: &'static str,
    /// The key of each row, for messages.
    pub keys: Vec<String>,
}

impl RowStatement {
    /// Returns the whole text, without a semicolon.
    pub fn sql(&self) -> Vec<u8> {
        let mut sql = self.head.as_bytes().to_vec();
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                sql.extend_from_slice(self.kind.separator());
            }
            sql.extend_from_slice(part);
        }
        sql.extend_from_slice(self.tail.as_bytes());
        sql
    }
}

/// Most rows and bytes of one statement.
const MOST_INSERTED: usize = 500;
const MOST_DELETED: usize = 40;
const MOST_BYTES: usize = 256 * 1024;

/// Statements in order; consecutive rows that fit into one statement are joined.
#[derive(Debug, Default)]
pub struct RowStatements {
    done: Vec<RowStatement>,
    bytes: usize,
    last_bytes: usize,
}

impl RowStatements {
    /// Adds the statement of one row.
    pub fn push(&mut self, statement: RowStatement) {
        let added: usize = statement.parts.iter().map(Vec::len).sum();
        self.bytes += added;
        if let Some(last) = self.done.last_mut() {
            let most = match last.kind {
                StatementKind::Insert => MOST_INSERTED,
                StatementKind::Update => 1,
                StatementKind::Delete => MOST_DELETED,
            };
            let alike = last.kind == statement.kind && last.tail.is_empty() && statement.tail.is_empty();
            if alike && last.parts.len() < most && self.last_bytes < MOST_BYTES && last.head == statement.head {
                self.last_bytes += added;
                last.parts.extend(statement.parts);
                last.keys.extend(statement.keys);
                return;
            }
        }
        self.last_bytes = added;
        self.bytes += statement.head.len();
        self.done.push(statement);
    }

    /// Returns the number of bytes of the statements.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the statements, and begins anew.
    pub fn take(&mut self) -> Vec<RowStatement> {
        self.bytes = 0;
        std::mem::take(&mut self.done)
    }
}
