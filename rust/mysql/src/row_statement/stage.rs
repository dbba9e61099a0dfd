//! A table of the session through which many rows are changed at once, each as exactly as by a statement of its own.

use std::sync::Arc;

use paraply_binlog::rows::row_statement::staged::{StageTable, StagedRow};
use paraply_binlog::rows::step_rows::{StepRow, Values};

use super::literal::{ColumnKind, StatementColumn};
use super::table::{StatementError, StatementTable};

/// Returns the table of a session for rows that a key finds.
pub(super) fn stage_table(name: &str, table: &str, columns: &[StatementColumn], key: &[usize]) -> Arc<StageTable> {
    let mut conditions: Vec<String> =
        key.iter().filter_map(|index| Some(format!("t.{}=s.f{index}", columns.get(*index)?.quoted))).collect();
    for (index, column) in columns.iter().enumerate().filter(|(_, column)| !column.generated) {
        let name = &column.quoted;
        conditions.push(match &column.kind {
            ColumnKind::Text { .. } => format!("CAST(t.{name} AS BINARY)<=>CAST(s.f{index} AS BINARY)"),
            ColumnKind::Json => {
                format!("CAST(CAST(t.{name} AS CHAR) AS BINARY)<=>CAST(CAST(s.f{index} AS CHAR) AS BINARY)")
            }
            ColumnKind::Opaque => format!("HEX(t.{name})<=>HEX(s.f{index})"),
            _ if key.contains(&index) => continue,
            ColumnKind::Number | ColumnKind::Quoted | ColumnKind::Binary => format!("t.{name}<=>s.f{index}"),
        });
    }
    let condition = conditions.join(" AND ");
    let first = key.first().and_then(|index| columns.get(*index)).map_or("", |column| &column.quoted);
    Arc::new(StageTable {
        name: name.to_owned(),
        columns: columns.iter().map(|column| (!column.generated).then(|| format!("t.{}", column.quoted))).collect(),
        update: (format!("UPDATE {name} s STRAIGHT_JOIN {table} t ON {condition} SET "), String::new()),
        delete: format!("DELETE t FROM {name} s STRAIGHT_JOIN {table} t ON {condition}"),
        search: format!(
            "SELECT s.n FROM {name} s LEFT JOIN {table} t ON {condition} WHERE t.{first} IS NULL ORDER BY s.n LIMIT 1"
        ),
        // Its next rows have the same numbers, and take the places of these.
        clear: "DELETE FROM",
    })
}

impl StatementTable {
    /// Returns the row for the table of the session, if the order among such rows does not matter.
    pub(super) fn staged_row(
        &self,
        row: &StepRow<'_>,
        assignments: &[(usize, Vec<u8>)],
    ) -> Result<Option<StagedRow>, StatementError> {
        let (Some(stage), Some(before), Some(key)) = (&self.stage, &row.before, self.keys.first()) else {
            return Ok(None);
        };
        let in_order = |index: &usize| self.columns.get(*index).is_none_or(|column| column.in_key);
        if self.usable_key(before) != Some(key.as_slice()) || assignments.iter().any(|(index, _)| in_order(index)) {
            return Ok(None);
        }
        let found = self.literals(before)?;
        let held = key.iter().filter_map(|index| found.get(*index));
        let key = held.fold(Vec::new(), |mut key, literal| {
            key.extend_from_slice(&literal.len().to_le_bytes());
            key.extend_from_slice(literal);
            key
        });
        Ok(Some(StagedRow { stage: Arc::clone(stage), key, found, new: assignments.to_vec() }))
    }

    fn literals(&self, image: &Values<'_>) -> Result<Vec<Vec<u8>>, StatementError> {
        let literal = |(index, column): (usize, &StatementColumn)| {
            let mut literal = Vec::new();
            if !column.generated {
                self.write(column, self.value(image, index, column)?, &mut literal)?;
            }
            Ok(literal)
        };
        self.columns.iter().enumerate().map(literal).collect()
    }
}
