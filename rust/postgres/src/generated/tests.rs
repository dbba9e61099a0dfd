use paraply_core::generated::Computed;
use paraply_core::schema::{Column, Table, TableName};

use super::*;
use crate::mapping::{ColumnMapping, Kind};
use crate::render::StatementWriter;

/// Returns a table of `id`, `a`, and `x` with an expression.
fn table(expression: &str, keys: Vec<Vec<usize>>) -> TableMapping {
    let source = TableName::new("d", "t");
    let column = |name: &str, generated: Option<&str>| Column {
        name: name.to_owned(),
        data_type: "int".to_owned(),
        unsigned: false,
        nullable: true,
        collation: None,
        labels: Vec::new(),
        length: None,
        decimals: None,
        generated: generated.map(str::to_owned),
    };
    let columns = vec![column("id", None), column("a", None), column("x", Some(expression))];
    let definition = Table { name: source.clone(), columns, unique_keys: Vec::new(), foreign_keys: Vec::new() };
    let mapped = |(name, generated): (&str, bool)| ColumnMapping::new(name, Kind::Integer, generated);
    let mapped = [("id", false), ("a", false), ("x", true)].map(mapped).to_vec();
    let mapping = TableMapping::new(source, "d", "t", mapped, keys).unwrap();
    mapping.with_computed((0..3).filter_map(|index| Computed::of(&definition, index)).collect())
}

type Values<'a> = &'a [Option<i64>];

fn image(values: Values<'_>) -> Vec<Option<Value<'static>>> {
    values.iter().map(|value| value.map(Value::Int)).collect()
}

fn rendered(
    table: &TableMapping,
    before: Option<Values<'_>>,
    after: Option<Values<'_>>,
) -> Result<String, RenderError> {
    let (before, after) = (before.map(image), after.map(image));
    let completed = complete(table, before.as_deref(), after.as_deref())?;
    let mut writer = StatementWriter::default();
    writer.push(&std::sync::Arc::new(table.clone()), completed.change().unwrap())?;
    Ok(writer.finish().into_iter().map(|statement| String::from_utf8(statement.sql).unwrap()).collect())
}

#[test]
fn an_update_without_the_generated_column_sets_its_value() {
    let table = table("a * 2", vec![vec![0]]);
    let got = rendered(&table, Some(&[Some(1), Some(3), None]), Some(&[Some(1), Some(5), None])).unwrap();
    assert_eq!(got, r#"UPDATE "d"."t" SET "a"='5',"x"='10' WHERE "id"='1'"#);
    // The column from which it is computed is in the before image alone.
    let got = rendered(&table, Some(&[Some(1), Some(3), None]), Some(&[Some(2), None, None])).unwrap();
    assert_eq!(got, r#"UPDATE "d"."t" SET "id"='2',"x"='6' WHERE "id"='1'"#);
    // A minimal image: the column from which it is computed has not changed.
    let got = rendered(&table, Some(&[Some(1), None, None]), Some(&[Some(2), None, None])).unwrap();
    assert_eq!(got, r#"UPDATE "d"."t" SET "id"='2' WHERE "id"='1'"#);
}

#[test]
fn a_new_row_without_the_generated_column_gets_its_value() {
    let got = rendered(&table("a * 2", vec![vec![0]]), None, Some(&[Some(1), Some(3), None])).unwrap();
    assert_eq!(got, r#"INSERT INTO "d"."t" ("id","a","x") VALUES ('1','3','6')"#);
}

#[test]
fn a_logged_value_over_the_rows_number_is_not_used() {
    let table = table("a * 2", vec![vec![0]]).with_recomputed(vec![2]);
    let got = rendered(&table, None, Some(&[Some(1), Some(3), Some(0)])).unwrap();
    assert_eq!(got, r#"INSERT INTO "d"."t" ("id","a","x") VALUES ('1','3','6')"#);
}

#[test]
fn what_cannot_be_computed_is_refused_by_the_columns_name() {
    for (table, after) in [
        (table("a / 2", vec![vec![0]]), [Some(1), Some(5), None]),
        (table("a * 1000000", vec![vec![0]]), [Some(1), Some(1_000_000), None]),
    ] {
        for before in [None, Some(&[Some(1), Some(3), None][..])] {
            let got = rendered(&table, before, Some(&after));
            assert!(matches!(got, Err(RenderError::GeneratedColumn { column, .. }) if column == "x"));
        }
    }
}

#[test]
fn a_row_without_a_key_is_found_by_its_other_columns() {
    let got = rendered(&table("a / 2", Vec::new()), Some(&[Some(1), Some(3), None]), None).unwrap();
    let same = r#""id" IS NOT DISTINCT FROM '1' AND "a" IS NOT DISTINCT FROM '3'"#;
    assert_eq!(
        got,
        format!(r#"DELETE FROM "d"."t" WHERE ctid=(SELECT ctid FROM "d"."t" WHERE {same} LIMIT 1 FOR UPDATE)"#)
    );
    let got = rendered(&table("a / 2", Vec::new()), Some(&[Some(1), None, None]), None);
    assert!(matches!(got, Err(RenderError::NoKey { .. })));
}
