//! Contribution of each row of a transaction to its write set, key by key, for debugging.

use paraply_binlog::rows::known_tables::KnownTables;
use paraply_binlog::rows::row_walk::{RowPlan, RowsError};
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::{Catalog, TableName};
use paraply_core::write_set::{Note, Row, WriteSet, WriteSetBuilder};

use crate::write_sets::{Options, may_be_checked};

/// One row and its hashes.
#[derive(Debug, Clone)]
pub struct ExplainedRow {
    /// Its table.
    pub table: TableName,
    /// Each key, in the order in which it was hashed; none where the table cannot be hashed.
    pub notes: Vec<Note>,
    /// The write set of this row alone.
    pub set: WriteSet,
    /// Reason why the table cannot be hashed.
    pub unusable: Option<&'static str>,
}

/// Explains the first rows of a transaction.
pub fn explain_transaction(
    transaction: &Transaction,
    catalog: &Catalog,
    options: Options,
    most: usize,
) -> Result<Vec<ExplainedRow>, RowsError> {
    let mut builder = WriteSetBuilder::new(options.for_format(&transaction.format));
    let (mut known, mut plan, mut rows) = (KnownTables::default(), RowPlan::default(), Vec::new());
    plan.prepare(transaction, catalog, &mut known)?;
    plan.walk(transaction, &known, |_, table, header, row| {
        if rows.len() >= most {
            return;
        }
        let name = table.map.name.clone();
        let plan = match table.definition {
            Err(unusable) => Err(unusable.reason()),
            Ok(_) => builder.plan(catalog, &name).ok_or("the table's keys are not known"),
        };
        rows.push(match plan {
            Err(reason) => ExplainedRow {
                table: name,
                notes: Vec::new(),
                set: WriteSet { barrier: true, ..WriteSet::default() },
                unusable: Some(reason),
            },
            Ok(plan) => {
                let foreign_key_checks = may_be_checked(table, header, false);
                let row = Row { before: row.before, after: row.after, foreign_key_checks };
                let (set, notes) = builder.explain(&plan, &row);
                ExplainedRow { table: name, notes, set, unusable: None }
            }
        });
    })?;
    Ok(rows)
}
