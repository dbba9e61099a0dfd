use super::*;
use crate::mapping::Kind;
use paraply_binlog::rows::values::charset::Charset;

fn table(keys: &[&[usize]]) -> Arc<TableMapping> {
    let columns = vec![
        ColumnMapping::new("id", Kind::Integer, false),
        ColumnMapping::new("name", Kind::Text(Some(Charset::Utf8)), false),
        ColumnMapping::new("price", Kind::Double, false),
    ];
    let keys = keys.iter().map(|k| k.to_vec()).collect();
    Arc::new(TableMapping::new(TableName::new("d", "t"), "d", "t", columns, keys).unwrap())
}

fn row(id: i64, name: &str) -> Vec<Option<Value<'_>>> {
    vec![Some(Value::Int(id)), Some(Value::Bytes(name.as_bytes())), Some(Value::Null)]
}

fn rendered(table: &Arc<TableMapping>, changes: &[Change<'_, '_>]) -> Result<Vec<(String, u64)>, RenderError> {
    let mut writer = StatementWriter::default();
    for change in changes {
        writer.push(table, *change)?;
    }
    Ok(writer.finish().into_iter().map(|s| (String::from_utf8(s.sql).unwrap(), s.rows)).collect())
}

#[test]
fn consecutive_inserts_become_one_statement() {
    let (a, b) = (row(1, "a"), row(2, "it's"));
    let got = rendered(&table(&[&[0]]), &[Change::Insert(&a), Change::Insert(&b)]).unwrap();
    let sql = r#"INSERT INTO "d"."t" ("id","name","price") VALUES ('1','a',NULL),('2','it''s',NULL)"#;
    assert_eq!(got, [(sql.to_owned(), 2)]);
}

#[test]
fn a_run_is_bounded_by_rows_and_by_bytes() {
    let a = row(1, "a");
    for limits in [Limits { rows: 2, bytes: 1 << 20 }, Limits { rows: 100, bytes: 70 }] {
        let mut writer = StatementWriter::new(limits);
        for _ in 0..4 {
            writer.push(&table(&[&[0]]), Change::Insert(&a)).unwrap();
        }
        let counts: Vec<u64> = writer.finish().iter().map(|s| s.rows).collect();
        assert_eq!(counts.iter().sum::<u64>(), 4);
        assert!(counts.len() > 1, "{counts:?}");
    }
}

#[test]
fn order_is_kept_between_kinds_of_changes() {
    let (a, b) = (row(1, "a"), row(2, "b"));
    let table = table(&[&[0]]);
    let changes = [
        Change::Delete(&a),
        Change::Insert(&a),
        Change::Insert(&b),
        Change::Update { before: &a, after: &b },
        Change::Delete(&a),
        Change::Delete(&b),
    ];
    let got = rendered(&table, &changes).unwrap();
    let heads: Vec<(&str, u64)> = got.iter().map(|(sql, rows)| (&sql[..6], *rows)).collect();
    assert_eq!(heads, [("DELETE", 1), ("INSERT", 2), ("UPDATE", 1), ("DELETE", 2)]);
    assert_eq!(got[3].0, r#"DELETE FROM "d"."t" WHERE "id" IN ('1','2')"#);
}

#[test]
fn a_key_of_several_columns_is_compared_as_a_row() {
    let (a, b) = (row(1, "a"), row(2, "b"));
    let got = rendered(&table(&[&[1, 0]]), &[Change::Delete(&a), Change::Delete(&b)]).unwrap();
    assert_eq!(got, [(r#"DELETE FROM "d"."t" WHERE ("name","id") IN (('a','1'),('b','2'))"#.to_owned(), 2)]);
}

#[test]
fn r32_an_update_sets_every_column_of_the_image_but_an_unchanged_key() {
    let (a, b) = (row(1, "a"), row(1, "b"));
    let got = rendered(&table(&[&[0]]), &[Change::Update { before: &a, after: &b }]).unwrap();
    assert_eq!(got, [(r#"UPDATE "d"."t" SET "name"='b',"price"=NULL WHERE "id"='1'"#.to_owned(), 1)]);
    let c = row(7, "a");
    let got = rendered(&table(&[&[0]]), &[Change::Update { before: &a, after: &c }]).unwrap();
    assert_eq!(got[0].0, r#"UPDATE "d"."t" SET "id"='7',"name"='a',"price"=NULL WHERE "id"='1'"#);
}

#[test]
fn r32_an_update_that_changes_nothing_still_counts() {
    let a = vec![Some(Value::Int(1)), None, None];
    let got = rendered(&table(&[&[0]]), &[Change::Update { before: &a, after: &a }]).unwrap();
    assert_eq!(got, [(r#"UPDATE "d"."t" SET "id"='1' WHERE "id"='1'"#.to_owned(), 1)]);
    let none = vec![None; 3];
    let got = rendered(&table(&[&[0]]), &[Change::Update { before: &a, after: &none }]).unwrap();
    assert_eq!(got[0].0, r#"UPDATE "d"."t" SET "id"="id" WHERE "id"='1'"#);
}

#[test]
fn minimal_images_use_what_they_hold() {
    let before = vec![Some(Value::Int(1)), None, None];
    let after = vec![None, Some(Value::Bytes(b"x")), None];
    let got = rendered(&table(&[&[0]]), &[Change::Update { before: &before, after: &after }]).unwrap();
    assert_eq!(got[0].0, r#"UPDATE "d"."t" SET "name"='x' WHERE "id"='1'"#);
}

#[test]
fn a_minimal_insert_is_refused_because_defaults_are_the_sources() {
    let after = vec![Some(Value::Int(1)), None, None];
    let got = rendered(&table(&[&[0]]), &[Change::Insert(&after)]);
    assert!(matches!(got, Err(RenderError::MissingColumn { column, .. }) if column == "name"));
}

#[test]
fn without_a_key_exactly_one_equal_row_is_changed() {
    let a = vec![Some(Value::Int(1)), Some(Value::Null), Some(Value::Double(-0.0))];
    let got = rendered(&table(&[]), &[Change::Delete(&a)]).unwrap();
    let sql = r#"DELETE FROM "d"."t" WHERE ctid=(SELECT ctid FROM "d"."t" WHERE "id" IS NOT DISTINCT FROM '1' AND "name" IS NULL AND "price"::text=('-0e0'::double precision)::text LIMIT 1 FOR UPDATE)"#;
    assert_eq!(got, [(sql.to_owned(), 1)]);
}

#[test]
fn a_null_in_the_best_key_leads_to_the_next_with_a_statement_for_each_row() {
    let a = vec![Some(Value::Int(1)), Some(Value::Null), Some(Value::Null)];
    let got = rendered(&table(&[&[1], &[0]]), &[Change::Delete(&a), Change::Delete(&a)]).unwrap();
    let sql = r#"DELETE FROM "d"."t" WHERE "id"='1'"#.to_owned();
    assert_eq!(got, [(sql.clone(), 1), (sql, 1)]);
}

#[test]
fn a_part_of_a_row_without_a_key_identifies_nothing() {
    let a = vec![Some(Value::Int(1)), None, None];
    let got = rendered(&table(&[]), &[Change::Delete(&a)]);
    assert!(matches!(got, Err(RenderError::NoKey { .. })));
}

#[test]
fn r31_another_number_of_columns_is_refused() {
    let a = vec![Some(Value::Int(1))];
    let got = rendered(&table(&[&[0]]), &[Change::Insert(&a)]);
    assert!(matches!(got, Err(RenderError::ColumnCount { log: 1, known: 3, .. })));
}

#[test]
fn a_value_that_cannot_be_stored_names_table_column_and_key() {
    let a = row(5, "a\0b");
    let error = rendered(&table(&[&[0]]), &[Change::Insert(&a)]).unwrap_err();
    assert_eq!(error.to_string(), "column name of d.t holds text with a NUL byte");
    assert!(matches!(error, RenderError::NotStorable { key: Some(key), .. } if key == "'5'"));
}

#[test]
fn r15a_an_unlogged_cascade_is_refused() {
    let parent = TableMapping::clone(&table(&[&[0]])).with_cascades(true, vec![0]);
    let (a, b, c) = (row(1, "a"), row(1, "b"), row(2, "a"));
    assert!(check_cascades(&parent, Change::Delete(&a)).is_err());
    assert!(check_cascades(&parent, Change::Insert(&a)).is_ok());
    assert!(check_cascades(&parent, Change::Update { before: &a, after: &b }).is_ok(), "the key stays");
    assert!(check_cascades(&parent, Change::Update { before: &a, after: &c }).is_err());
    assert!(check_cascades(&table(&[&[0]]), Change::Delete(&a)).is_ok());
}
