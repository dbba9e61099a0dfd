//! Many rows that one statement changes, by way of a table of the session that holds what they must be and what they become.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use paraply_core::schema::{Catalog, KeyPart, Table};

/// Table of a session for the rows of another table.
///
/// Its columns are `n`, the number of a row, `f` and an index, the value that the column of this index must have, and `v` and an index,
/// the value that it gets. They have the types of the other table's columns, so that a comparison is that of two values of a column.
#[derive(Debug, PartialEq, Eq)]
pub struct StageTable {
    /// Its name, as SQL.
    pub name: String,
    /// For each column of the other table its name in an assignment, as SQL; none for a generated column.
    pub columns: Vec<Option<String>>,
    /// An UPDATE before its assignments, and after them.
    pub update: (String, String),
    /// A DELETE.
    pub delete: String,
    /// A SELECT of the number of the first row that is not found.
    pub search: String,
    /// A statement that empties the table within a transaction.
    pub clear: &'static str,
}

/// One row for such a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedRow {
    /// The table.
    pub stage: Arc<StageTable>,
    /// Bytes that no other row of the table has at the same time.
    pub key: Vec<u8>,
    /// For each column the literal of the value that it must have; empty for a generated column.
    pub found: Vec<Vec<u8>>,
    /// Indexes of the columns that the row gets other values of, and the literals; empty for a row that is deleted.
    pub new: Vec<(usize, Vec<u8>)>,
}

/// Statements that change staged rows: they are run in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedStatement {
    /// Puts the rows into the table of the session.
    pub fill: Vec<u8>,
    /// Changes the rows; it must affect all of them.
    pub change: Vec<u8>,
    /// Empties the table of the session.
    pub clear: String,
    /// Selects the number of the first row that the change would not find.
    pub search: String,
}

/// Most rows and bytes that are staged at once.
const MOST_ROWS: usize = 2000;
const MOST_BYTES: usize = 512 * 1024;

/// Consecutive rows that may be changed together: the order among them does not matter.
#[derive(Debug, Default)]
pub struct StagedGroup {
    keys: HashSet<Vec<u8>>,
    bytes: usize,
    stage: Option<Arc<StageTable>>,
    is_update: bool,
}

impl StagedGroup {
    /// Returns true if the row can be added, and counts it.
    pub fn accepts(&mut self, row: &StagedRow) -> bool {
        let fits = match &self.stage {
            None => true,
            Some(stage) => {
                Arc::ptr_eq(stage, &row.stage)
                    && self.is_update != row.new.is_empty()
                    && self.keys.len() < MOST_ROWS
                    && self.bytes < MOST_BYTES
                    && !self.keys.contains(&row.key)
            }
        };
        if fits {
            self.stage.get_or_insert_with(|| Arc::clone(&row.stage));
            self.is_update = !row.new.is_empty();
            self.bytes +=
                row.found.iter().chain(row.new.iter().map(|(_, literal)| literal)).map(Vec::len).sum::<usize>();
            self.keys.insert(row.key.clone());
        }
        fits
    }

    /// Forgets the rows.
    pub fn clear(&mut self) {
        self.keys.clear();
        (self.bytes, self.stage) = (0, None);
    }
}

/// Returns the statements for rows that a [`StagedGroup`] accepted; none without rows.
pub fn staged_statement(rows: &[StagedRow]) -> Option<StagedStatement> {
    let stage = Arc::clone(&rows.first()?.stage);
    let assigned: BTreeSet<usize> = rows.iter().flat_map(|row| row.new.iter().map(|(index, _)| *index)).collect();
    let held: Vec<usize> =
        stage.columns.iter().enumerate().filter_map(|(index, column)| column.as_ref().map(|_| index)).collect();
    let mut insert = format!("INSERT INTO {} (n", stage.name);
    for index in &held {
        let _ = write!(insert, ",f{index}");
    }
    for index in &assigned {
        let _ = write!(insert, ",v{index}");
    }
    insert.push_str(") VALUES\n");
    let mut fill = insert.into_bytes();
    for (number, row) in rows.iter().enumerate() {
        fill.extend_from_slice(if number == 0 { b"(" } else { b",\n(" });
        fill.extend_from_slice(number.to_string().as_bytes());
        let found = |index: &usize| row.found.get(*index).map_or(&[][..], Vec::as_slice);
        let new = |index: &usize| {
            let given = row.new.iter().find(|(column, _)| column == index);
            given.map_or_else(|| found(index), |(_, literal)| literal)
        };
        for literal in held.iter().map(found).chain(assigned.iter().map(new)) {
            fill.push(b',');
            fill.extend_from_slice(literal);
        }
        fill.push(b')');
    }
    let change = if assigned.is_empty() { stage.delete.clone() } else { update(&stage, &assigned) };
    Some(StagedStatement {
        fill,
        change: change.into_bytes(),
        clear: format!("{} {}", stage.clear, stage.name),
        search: stage.search.clone(),
    })
}

/// Returns the columns whose changes are made in the log's order: those of unique keys, and those that other tables refer to.
pub fn ordered_columns(table: &Table, catalog: &Catalog) -> HashSet<usize> {
    let parts = || table.unique_keys.iter().flat_map(|key| &key.parts);
    if parts().any(|part| matches!(part, KeyPart::Expression)) {
        return (0..table.columns.len()).collect();
    }
    let own = parts().filter_map(|part| match part {
        KeyPart::Column(index) | KeyPart::Prefix { column: index, .. } => Some(*index),
        KeyPart::Expression => None,
    });
    let children = catalog.children(&table.name).iter().flat_map(|child| &child.foreign_keys);
    let referred = children.filter(|key| key.parent == table.name).flat_map(|key| &key.parent_columns);
    own.chain(referred.filter_map(|name| table.column_index(name))).collect()
}

fn update(stage: &StageTable, assigned: &BTreeSet<usize>) -> String {
    let name = |index: &usize| stage.columns.get(*index).and_then(Option::as_deref);
    let assignments: Vec<String> =
        assigned.iter().filter_map(|index| Some(format!("{}=s.v{index}", name(index)?))).collect();
    format!("{}{}{}", stage.update.0, assignments.join(", "), stage.update.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage() -> Arc<StageTable> {
        Arc::new(StageTable {
            name: "stage".into(),
            columns: vec![Some("t.id".into()), None, Some("t.n".into()), Some("t.m".into())],
            update: ("UPDATE stage s STRAIGHT_JOIN x t ON t.id=s.f0 SET ".into(), String::new()),
            delete: "DELETE t FROM stage s STRAIGHT_JOIN x t ON t.id=s.f0".into(),
            search: "SELECT".into(),
            clear: "DELETE FROM",
        })
    }

    fn row(stage: &Arc<StageTable>, key: &str, new: &[(usize, &str)]) -> StagedRow {
        StagedRow {
            stage: Arc::clone(stage),
            key: key.into(),
            found: vec![key.into(), Vec::new(), b"1".to_vec(), b"NULL".to_vec()],
            new: new.iter().map(|(index, literal)| (*index, literal.as_bytes().to_vec())).collect(),
        }
    }

    #[test]
    fn r38_rows_that_change_in_different_columns_keep_the_others() {
        let stage = stage();
        let found = staged_statement(&[row(&stage, "7", &[(2, "5")]), row(&stage, "8", &[(3, "'x'")])]).unwrap();
        let fill = "INSERT INTO stage (n,f0,f2,f3,v2,v3) VALUES\n(0,7,1,NULL,5,NULL),\n(1,8,1,NULL,1,'x')";
        assert_eq!(String::from_utf8_lossy(&found.fill), fill);
        let change = "UPDATE stage s STRAIGHT_JOIN x t ON t.id=s.f0 SET t.n=s.v2, t.m=s.v3";
        assert_eq!(String::from_utf8_lossy(&found.change), change);
    }

    #[test]
    fn r38_a_row_is_never_twice_in_a_group() {
        let (stage, mut group) = (stage(), StagedGroup::default());
        assert!(group.accepts(&row(&stage, "7", &[(2, "5")])));
        assert!(group.accepts(&row(&stage, "8", &[(2, "5")])));
        assert!(!group.accepts(&row(&stage, "7", &[(2, "6")])));
        assert!(!group.accepts(&row(&stage, "9", &[])), "a deletion");
        group.clear();
        assert!(group.accepts(&row(&stage, "7", &[(2, "6")])));
    }
}
