//! SQL statements for single rows, each with the exact row that it must find.

pub mod staged;

use std::sync::Arc;

use paraply_core::schema::TableName;

use staged::{StagedGroup, StagedRow, StagedStatement, staged_statement};

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

/// Values that an UPDATE gives to one row, in a form in which several rows can share a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowUpdate {
    /// The columns that are set, as identifiers.
    pub columns: Vec<Arc<str>>,
    /// Their values as literals.
    pub values: Vec<Vec<u8>>,
    /// The column of the key, as an identifier.
    pub key: Arc<str>,
    /// Its value as a literal.
    pub key_value: Vec<u8>,
    /// The condition for the whole row.
    pub condition: Vec<u8>,
}

impl RowUpdate {
    /// Returns true if another row may be changed by the same statement: other rows, and literals of the same kind.
    fn goes_with(&self, other: &Self) -> bool {
        let is_alike = |(one, other): (&Vec<u8>, &Vec<u8>)| match (literal_class(one), literal_class(other)) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        self.key == other.key
            && self.columns == other.columns
            && self.key_value != other.key_value
            && self.values.iter().zip(&other.values).all(is_alike)
    }
}

/// Returns a letter for a kind of literals, which a CASE may mix; none for NULL.
fn literal_class(literal: &[u8]) -> Option<u8> {
    match literal.first() {
        Some(b'N') => None,
        Some(letter @ (b'\'' | b'X' | b'_')) => Some(*letter),
        _ => Some(b'0'),
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
    /// The changes of an UPDATE whose row may share the statement with others.
    pub updates: Vec<RowUpdate>,
    /// The row, if many such rows may be changed by way of a table of the session.
    pub row: Option<StagedRow>,
    /// The statements for all rows, if they are changed in that way.
    pub staged: Option<StagedStatement>,
}

impl RowStatement {
    /// Returns the whole text, without a semicolon.
    pub fn sql(&self) -> Vec<u8> {
        if let Some(staged) = &self.staged {
            return staged.change.clone();
        }
        let mut sql = self.head.as_bytes().to_vec();
        if self.updates.len() > 1 {
            self.write_updates(&mut sql);
            return sql;
        }
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                sql.extend_from_slice(self.kind.separator());
            }
            sql.extend_from_slice(part);
        }
        sql.extend_from_slice(self.tail.as_bytes());
        sql
    }

    /// Returns the condition of each row of a statement that finds several.
    pub fn conditions(&self) -> Vec<Vec<u8>> {
        match self.kind {
            StatementKind::Update if self.updates.len() > 1 => {
                self.updates.iter().map(|update| update.condition.clone()).collect()
            }
            StatementKind::Delete if self.parts.len() > 1 => self.parts.clone(),
            _ => Vec::new(),
        }
    }

    fn write_updates(&self, sql: &mut Vec<u8>) {
        let Some(first) = self.updates.first() else { return };
        for (index, column) in first.columns.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            sql.extend_from_slice(format!("{comma}{column}=CASE {}", first.key).as_bytes());
            for update in &self.updates {
                let Some(value) = update.values.get(index) else { continue };
                sql.extend_from_slice(b" WHEN ");
                sql.extend_from_slice(&update.key_value);
                sql.extend_from_slice(b" THEN ");
                sql.extend_from_slice(value);
            }
            sql.extend_from_slice(b" END");
        }
        for (index, update) in self.updates.iter().enumerate() {
            sql.extend_from_slice(if index == 0 { b" WHERE (" } else { b"\n  OR (" });
            sql.extend_from_slice(&update.condition);
            sql.push(b')');
        }
    }
}

/// Most rows and bytes of one statement.
const MOST_INSERTED: usize = 500;
const MOST_DELETED: usize = 40;
const MOST_UPDATED: usize = 24;
const MOST_BYTES: usize = 256 * 1024;

/// Fewest rows that are changed by way of a table of the session.
const FEWEST_STAGED: usize = 32;

/// Statements in order; consecutive rows that fit into one statement are joined.
#[derive(Debug, Default)]
pub struct RowStatements {
    done: Vec<RowStatement>,
    /// Rows that may be changed by way of a table of the session, if they become enough.
    pending: Vec<RowStatement>,
    group: StagedGroup,
    bytes: usize,
    last_bytes: usize,
}

impl RowStatements {
    /// Adds the statement of one row.
    pub fn push(&mut self, statement: RowStatement) {
        self.bytes += statement.parts.iter().map(Vec::len).sum::<usize>();
        if let Some(row) = &statement.row {
            if !self.group.accepts(row) {
                self.end_group();
                self.group.accepts(row);
            }
            self.pending.push(statement);
        } else {
            self.end_group();
            self.join(statement);
        }
    }

    /// Ends the pending rows: many get one statement, few are joined like all others.
    fn end_group(&mut self) {
        self.group.clear();
        if self.pending.len() < FEWEST_STAGED {
            for statement in std::mem::take(&mut self.pending) {
                self.join(statement);
            }
            return;
        }
        let (mut rows, mut keys) = (Vec::new(), Vec::new());
        let mut first = None;
        for mut statement in self.pending.drain(..) {
            rows.extend(statement.row.take());
            keys.append(&mut statement.keys);
            first.get_or_insert(statement);
        }
        if let Some(statement) = first {
            let staged = staged_statement(&rows);
            self.done.push(RowStatement { parts: Vec::new(), updates: Vec::new(), keys, staged, ..statement });
        }
    }

    fn join(&mut self, statement: RowStatement) {
        let added: usize = statement.parts.iter().map(Vec::len).sum();
        if let Some(last) = self.done.last_mut().filter(|last| last.staged.is_none()) {
            if let [update] = statement.updates.as_slice()
                && last.head == statement.head
                && last.updates.len() < MOST_UPDATED
                && self.last_bytes < MOST_BYTES
                && !last.updates.is_empty()
                && last.updates.iter().all(|earlier| earlier.goes_with(update))
            {
                self.last_bytes += added;
                last.updates.extend(statement.updates);
                last.keys.extend(statement.keys);
                return;
            }
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
        self.end_group();
        self.bytes = 0;
        std::mem::take(&mut self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(key: &str, value: &str) -> RowStatement {
        let condition = format!("`id`={key}").into_bytes();
        let shared = RowUpdate {
            columns: vec!["`n`".into()],
            values: vec![value.into()],
            key: "`id`".into(),
            key_value: key.into(),
            condition: condition.clone(),
        };
        RowStatement {
            kind: StatementKind::Update,
            table: TableName::new("d", "t"),
            head: "UPDATE t SET ".into(),
            parts: vec![[format!("`n`={value} WHERE ").as_bytes(), &condition].concat()],
            tail: "",
            keys: vec![format!("id={key}")],
            updates: vec![shared],
            row: None,
            staged: None,
        }
    }

    fn texts(rows: &[(&str, &str)]) -> Vec<String> {
        let mut statements = RowStatements::default();
        for (key, value) in rows {
            statements.push(update(key, value));
        }
        statements.take().iter().map(|statement| String::from_utf8_lossy(&statement.sql()).into_owned()).collect()
    }

    fn staged(stage: &Arc<staged::StageTable>, number: usize) -> RowStatement {
        let key = number.to_string();
        let row = StagedRow {
            stage: Arc::clone(stage),
            key: key.clone().into(),
            found: vec![key.clone().into()],
            new: vec![(0, b"0".to_vec())],
        };
        RowStatement { row: Some(row), ..update(&key, "5") }
    }

    #[test]
    fn r38_many_rows_are_changed_by_way_of_a_table() {
        let stage = Arc::new(staged::StageTable {
            name: "s".into(),
            columns: vec![Some("t.id".into())],
            update: ("UPDATE ".into(), String::new()),
            delete: String::new(),
            search: String::new(),
            clear: "DELETE FROM",
        });
        let mut statements = RowStatements::default();
        for number in (0..FEWEST_STAGED).chain(0..2) {
            statements.push(staged(&stage, number));
        }
        let found = statements.take();
        assert_eq!(found.len(), 2);
        assert!(found[0].staged.is_some() && found[0].keys.len() == FEWEST_STAGED);
        assert!(found[1].staged.is_none(), "two rows do not need a table");
        assert_eq!(found[1].updates.len(), 2);
    }

    #[test]
    fn r38_updates_of_other_rows_share_a_statement() {
        let shared = "UPDATE t SET `n`=CASE `id` WHEN 1 THEN 5 WHEN 2 THEN NULL END WHERE (`id`=1)\n  OR (`id`=2)";
        assert_eq!(texts(&[("1", "5"), ("2", "NULL")]), [shared]);
    }

    #[test]
    fn r38_a_second_change_of_a_row_begins_a_new_statement() {
        assert_eq!(texts(&[("1", "5"), ("1", "6")]).len(), 2);
    }

    #[test]
    fn r38_literals_of_different_kinds_never_share_a_statement() {
        assert_eq!(texts(&[("1", "'a'"), ("2", "_latin1 X'E9'")]).len(), 2);
    }
}
