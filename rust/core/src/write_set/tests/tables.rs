//! Small tables and rows for the tests.

use crate::schema::{Catalog, Column, ForeignKey, KeyPart, ReferenceAction, Table, TableName, UniqueKey};
use crate::value::Value;
use crate::write_set::{Options, Row, WriteSet, WriteSetBuilder};

/// Returns a table's name in the tests' database.
pub fn name(table: &str) -> TableName {
    TableName::new("test", table)
}

/// Makes a table with columns from `name type [collation] [null]`, for example `s varchar utf8mb4_0900_ai_ci null`.
pub fn table(table: &str, columns: &[&str], keys: &[(&str, &[KeyPart])]) -> Table {
    let column = |text: &&str| {
        let words: Vec<&str> = text.split(' ').collect();
        let collation = words.get(2).filter(|w| **w != "null").map(ToString::to_string);
        Column {
            name: words[0].into(),
            data_type: words[1].into(),
            unsigned: false,
            nullable: words.last() == Some(&"null"),
            collation,
            labels: Vec::new(),
            length: Some(10),
            decimals: None,
            generated: None,
        }
    };
    let key = |(name, parts): &(&str, &[KeyPart])| UniqueKey { name: (*name).into(), parts: parts.to_vec() };
    Table {
        name: name(table),
        columns: columns.iter().map(column).collect(),
        unique_keys: keys.iter().map(key).collect(),
        foreign_keys: Vec::new(),
    }
}

/// Returns the same table with one more foreign key of one column.
pub fn referring(mut table: Table, column: usize, parent: &str, to: &str, delete: ReferenceAction) -> Table {
    table.foreign_keys.push(ForeignKey {
        name: format!("fk{column}"),
        columns: vec![column],
        parent: name(parent),
        parent_columns: vec![to.into()],
        on_delete: delete,
        on_update: delete,
    });
    table
}

/// Returns a catalog of these tables.
pub fn catalog(tables: impl IntoIterator<Item = Table>) -> Catalog {
    let mut catalog = Catalog::default();
    tables.into_iter().for_each(|table| catalog.put(table));
    catalog
}

/// Returns a full image.
pub fn image<'v>(values: &[Value<'v>]) -> Vec<Option<Value<'v>>> {
    values.iter().copied().map(Some).collect()
}

/// One row of one table.
pub type Change<'v> = (&'static str, Option<Vec<Option<Value<'v>>>>, Option<Vec<Option<Value<'v>>>>);

pub fn insert<'v>(table: &'static str, values: &[Value<'v>]) -> Change<'v> {
    (table, None, Some(image(values)))
}

pub fn delete<'v>(table: &'static str, values: &[Value<'v>]) -> Change<'v> {
    (table, Some(image(values)), None)
}

pub fn update<'v>(table: &'static str, before: &[Value<'v>], after: &[Value<'v>]) -> Change<'v> {
    (table, Some(image(before)), Some(image(after)))
}

/// Returns the write set of one transaction, and the fallbacks by text.
pub fn write_set(catalog: &Catalog, options: Options, rows: &[Change<'_>]) -> (WriteSet, Vec<(String, u64)>) {
    let mut builder = WriteSetBuilder::new(options);
    for (table, before, after) in rows {
        let Some(plan) = builder.plan(catalog, &name(table)) else {
            builder.add_unknown_table(&name(table));
            continue;
        };
        let row = Row { before: before.as_deref(), after: after.as_deref(), foreign_key_checks: true };
        builder.add_row(&plan, &row);
    }
    let result = builder.finish();
    let fallbacks = builder.take_fallbacks();
    let counted = fallbacks.sorted().into_iter().map(|(r, t, n)| (format!("{}: {r}", t.table), n)).collect();
    (result, counted)
}

/// Returns true if two transactions must keep their order.
pub fn conflict(a: &WriteSet, b: &WriteSet) -> bool {
    let touches =
        |a: &WriteSet, b: &WriteSet| a.exclusive.iter().any(|i| b.exclusive.contains(i) || b.shared.contains(i));
    a.barrier || b.barrier || touches(a, b) || touches(b, a)
}

/// Returns true if two single-row transactions must keep their order.
pub fn conflicting(catalog: &Catalog, options: Options, a: &Change<'_>, b: &Change<'_>) -> bool {
    let set = |change: &Change<'_>| write_set(catalog, options, std::slice::from_ref(change)).0;
    conflict(&set(a), &set(b))
}
