use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::mapping::{ColumnMapping, Kind};
use paraply_binlog::rows::values::charset::Charset;

fn table(name: &str, keys: &[&[usize]], other_keys: &[&[usize]]) -> Arc<TableMapping> {
    let columns = vec![
        ColumnMapping::new("id", Kind::Integer, false).with_type("integer"),
        ColumnMapping::new("u", Kind::Integer, false).with_type("bigint"),
        ColumnMapping::new("name", Kind::Text(Some(Charset::Utf8)), false).with_type("character varying(20)"),
    ];
    let owned = |keys: &[&[usize]]| keys.iter().map(|k| k.to_vec()).collect();
    let mapping = TableMapping::new(TableName::new("d", name), "d", name, columns, owned(keys)).unwrap();
    Arc::new(mapping.with_other_keys(owned(other_keys)))
}

fn row(id: i64, u: i64, name: &str) -> Vec<Option<Value<'_>>> {
    vec![Some(Value::Int(id)), Some(Value::Int(u)), Some(Value::Bytes(name.as_bytes()))]
}

fn rendered(changes: &[(&Arc<TableMapping>, Change<'_, '_>)]) -> Vec<(String, u64)> {
    let renderer = Renderer::new();
    let mut writer = SetWriter::new(&renderer, Limits::default());
    for (table, change) in changes {
        writer.push(table, *change).unwrap();
    }
    writer.finish().into_iter().map(|statement| (text_of(&renderer, &statement), statement.rows)).collect()
}

/// Returns a statement's text; that of a prepared one with its arguments in their places.
fn text_of(renderer: &Renderer, statement: &Statement) -> String {
    let sql = String::from_utf8(statement.sql.clone()).unwrap();
    let Some(name) = &statement.prepared else { return sql };
    let prepared = renderer.preparation(name).unwrap();
    let (_, text) = prepared.split_once(") AS ").unwrap();
    let list = sql.strip_prefix(&format!("EXECUTE {name}(")).and_then(|list| list.strip_suffix(')')).unwrap();
    let arguments: Vec<String> = if list.starts_with("'{") {
        list.split_inclusive("}'").map(|array| array.trim_start_matches(',').to_owned()).collect()
    } else {
        list.split(',').map(str::to_owned).collect()
    };
    let numbered = arguments.iter().enumerate().rev();
    numbered.fold(text.to_owned(), |text, (n, argument)| text.replace(&format!("${}", n + 1), argument))
}

#[test]
fn rows_of_one_shape_become_one_statement() {
    let t = table("t", &[&[0]], &[]);
    let (a, b, c) = (row(1, 1, "a"), row(2, 2, "it's"), row(1, 1, r"b\"));
    let update = |before, after| (&t, Change::Update { before, after });
    let got = rendered(&[update(&a, &c), update(&b, &b)]);
    let sql = r#"UPDATE "d"."t" AS t SET "u"=v.v2,"name"=v.v3 FROM unnest('{1,2}'::integer[],'{1,2}'::bigint[],'{"b\\","it''s"}'::character varying[]) AS v(v1,v2,v3) WHERE t."id"=v.v1"#;
    assert_eq!(got, [(sql.to_owned(), 2)]);
    let got = rendered(&[(&t, Change::Delete(&a)), (&t, Change::Delete(&b))]);
    let sql = r#"DELETE FROM "d"."t" AS t USING unnest('{1,2}'::integer[]) AS v(v1) WHERE t."id"=v.v1"#;
    assert_eq!(got, [(sql.to_owned(), 2)]);
    let got = rendered(&[(&t, Change::Insert(&a)), (&t, Change::Insert(&b))]);
    let sql = r#"INSERT INTO "d"."t" ("id","u","name") SELECT * FROM unnest('{1,2}'::integer[],'{1,2}'::bigint[],'{"a","it''s"}'::character varying[])"#;
    assert_eq!(got, [(sql.to_owned(), 2)]);
}

#[test]
fn rows_of_several_tables_are_sorted_into_sets() {
    let (t, s) = (table("t", &[&[0]], &[]), table("s", &[&[0]], &[]));
    let (a, b) = (row(1, 1, "a"), row(2, 2, "b"));
    let changes =
        [(&t, Change::Insert(&a)), (&s, Change::Insert(&a)), (&t, Change::Insert(&b)), (&s, Change::Insert(&b))];
    let counts: Vec<u64> = rendered(&changes).into_iter().map(|(_, rows)| rows).collect();
    assert_eq!(counts, [2, 2]);
}

#[test]
fn changes_of_one_row_stay_in_order() {
    let t = table("t", &[&[0]], &[]);
    let (a, b) = (row(1, 1, "a"), row(1, 1, "b"));
    let changes = [
        (&t, Change::Delete(&a)),
        (&t, Change::Insert(&a)),
        (&t, Change::Update { before: &a, after: &b }),
        (&t, Change::Update { before: &b, after: &a }),
    ];
    let heads: Vec<String> = rendered(&changes).into_iter().map(|(sql, _)| sql[..6].to_owned()).collect();
    assert_eq!(heads, ["DELETE", "INSERT", "UPDATE", "UPDATE"]);
}

#[test]
fn values_of_unique_keys_that_move_between_rows_stay_in_order() {
    let unique = table("t", &[&[0]], &[&[1]]);
    let (one, two) = (row(1, 1, "a"), row(2, 2, "b"));
    let (away, into) = (row(1, 3, "a"), row(2, 1, "b"));
    let changes = [
        (&unique, Change::Update { before: &one, after: &away }),
        (&unique, Change::Update { before: &two, after: &into }),
    ];
    assert_eq!(rendered(&changes).len(), 2);
    let free = table("t", &[&[0]], &[]);
    let changes = changes.map(|(_, change)| (&free, change));
    assert_eq!(rendered(&changes).len(), 1);
}

#[test]
fn rows_of_a_table_without_a_key_are_taken_after_they_were_put() {
    let (t, keyed) = (table("t", &[], &[]), table("s", &[&[0]], &[]));
    let (a, b) = (row(1, 1, "a"), row(2, 2, "b"));
    let got = rendered(&[
        (&t, Change::Insert(&a)),
        (&keyed, Change::Insert(&a)),
        (&t, Change::Delete(&a)),
        (&keyed, Change::Insert(&b)),
        (&t, Change::Insert(&b)),
        (&t, Change::Update { before: &b, after: &a }),
        (&t, Change::Delete(&a)),
    ]);
    let heads: Vec<(&str, u64)> = got.iter().map(|(sql, rows)| (&sql[..15], *rows)).collect();
    let (inserts, delete, update) = ("INSERT INTO \"d\"", "DELETE FROM \"d\"", "UPDATE \"d\".\"t\" ");
    assert_eq!(heads, [(inserts, 2), (inserts, 2), (delete, 1), (update, 1), (delete, 1)]);
}

#[test]
fn few_whole_rows_are_found_one_by_one() {
    let columns = vec![
        ColumnMapping::new("id", Kind::Integer, false).with_type("integer"),
        ColumnMapping::new("f", Kind::Double, false).with_type("double precision"),
        ColumnMapping::new("twice", Kind::Integer, true).with_type("integer"),
    ];
    let t = Arc::new(TableMapping::new(TableName::new("d", "t"), "d", "t", columns, vec![]).unwrap());
    let image = |id| vec![Some(Value::Int(id)), Some(Value::Null), Some(Value::Int(2 * id))];
    let (a, b) = (image(1), image(2));
    let sql = r#"DELETE FROM "d"."t" AS t WHERE t.ctid=(SELECT s.ctid FROM "d"."t" AS s WHERE s."id" IS NOT DISTINCT FROM '1' AND s."f"::text IS NOT DISTINCT FROM (NULL::double precision)::text LIMIT 1 FOR UPDATE)"#;
    assert_eq!(rendered(&[(&t, Change::Delete(&a))]), [(sql.to_owned(), 1)]);
    let update = rendered(&[(&t, Change::Update { before: &a, after: &b })]).remove(0).0;
    let head = r#"UPDATE "d"."t" AS t SET "id"='2',"f"=NULL,"twice"='4' WHERE t.ctid=(SELECT s.ctid FROM "#;
    assert!(update.starts_with(head), "{update}");
}

#[test]
fn many_whole_rows_are_found_together() {
    let (t, a, b) = (table("t", &[], &[]), row(1, 1, "a"), row(1, 2, "b"));
    let got = rendered(&[(&t, Change::Update { before: &a, after: &b }); 17]);
    let texts: Vec<(&str, u64)> = got.iter().map(|(sql, rows)| (&sql[..24], *rows)).collect();
    let (on, off) = ("SET LOCAL enable_hashjoin", u64::MAX);
    assert_eq!(texts, [(&on[..24], off), ("WITH w AS MATERIALIZED (", 17), (&on[..24], off)]);
    let (_, body) = got[1].0.split_once(" AS a) ").unwrap();
    let sql = r#"UPDATE "d"."t" AS t SET "id"=v.v4,"u"=v.v5,"name"=v.v6 FROM (SELECT f.part, f.place, v.* FROM (SELECT q.part, q.place, q.paraply_row, row_number() OVER (PARTITION BY q.paraply_row) AS paraply_number FROM (SELECT s.tableoid AS part, s.ctid AS place, ROW(s."id",s."u",s."name")::text AS paraply_row FROM "d"."t" AS s) AS q WHERE q.paraply_row IN (SELECT w.paraply_row FROM w)) AS f JOIN w AS v USING (paraply_row, paraply_number)) AS v WHERE t.tableoid=v.part AND t.ctid=v.place"#;
    assert_eq!(body, sql);
    assert!(got[1].0.contains("ROW(v1,v2,v3)::text AS paraply_row FROM unnest('{1,1,"));
}

#[test]
fn a_table_in_order_has_no_sets() {
    let (renderer, t) = (Renderer::new(), table("t", &[&[0]], &[]));
    for _ in 0..3 {
        renderer.set_repeated(&t.source);
    }
    let mut writer = SetWriter::new(&renderer, Limits::default());
    let a = row(1, 1, "a");
    writer.push(&t, Change::Insert(&a)).unwrap();
    assert!(String::from_utf8(writer.finish().remove(0).sql).unwrap().contains("VALUES"));
}

#[test]
fn r32_differences_of_a_document_are_a_statement_of_their_own_in_its_place() {
    let columns = vec![
        ColumnMapping::new("id", Kind::Integer, false).with_type("integer"),
        ColumnMapping::new("doc", Kind::Json, false).with_type("jsonb"),
    ];
    let t = TableMapping::new(TableName::new("d", "t"), "d", "t", columns, vec![vec![0]]).unwrap();
    let t = Arc::new(t);
    let before = vec![Some(Value::Int(1)), None];
    let (diff, null) = (vec![None, Some(Value::JsonDiff(&[]))], vec![None, Some(Value::Null)]);
    let update = |after| (&t, Change::Update { before: &before, after });
    let got = rendered(&[update(&null), update(&diff), update(&null)]);
    let sets: Vec<bool> = got.iter().map(|(sql, _)| sql.contains(" AS t ")).collect();
    assert_eq!(sets, [true, false, true]);
}

#[test]
fn equal_statements_are_executed_by_their_prepared_names() {
    let (renderer, t, a, b) = (Renderer::new(), table("t", &[&[0]], &[]), row(1, 1, "a"), row(2, 2, "b"));
    let block = || {
        let mut writer = SetWriter::new(&renderer, Limits::default());
        writer.push(&t, Change::Delete(&a)).unwrap();
        writer.push(&t, Change::Delete(&b)).unwrap();
        writer.finish().remove(0)
    };
    assert_eq!(block().prepared, None);
    let second = block();
    let name = second.prepared.unwrap();
    assert_eq!(String::from_utf8(second.sql).unwrap(), format!("EXECUTE {name}('{{1,2}}')"));
    let prepared = renderer.preparation(&name).unwrap();
    let text = r#"(integer[]) AS DELETE FROM "d"."t" AS t USING unnest($1) AS v(v1) WHERE t."id"=v.v1"#;
    assert_eq!(prepared, format!("PREPARE {name} {text}"));
}

#[test]
fn one_row_alone_has_no_arrays() {
    let t = table("t", &[&[0]], &[]);
    let (a, b) = (row(1, 1, "a"), row(1, 2, "it's"));
    assert_eq!(rendered(&[(&t, Change::Delete(&a))])[0].0, r#"DELETE FROM "d"."t" AS t WHERE t."id"='1'"#);
    let sql = r#"UPDATE "d"."t" AS t SET "u"='2',"name"='it''s' WHERE t."id"='1'"#;
    assert_eq!(rendered(&[(&t, Change::Update { before: &a, after: &b })])[0].0, sql);
    let sql = r#"INSERT INTO "d"."t" ("id","u","name") VALUES ('1','1','a')"#;
    assert_eq!(rendered(&[(&t, Change::Insert(&a))])[0].0, sql);
    let renderer = Renderer::new();
    let twice = [(); 2].map(|()| {
        let mut writer = SetWriter::new(&renderer, Limits::default());
        writer.push(&t, Change::Insert(&a)).unwrap();
        writer.finish().remove(0)
    });
    let name = twice[1].prepared.clone().unwrap();
    assert_eq!(String::from_utf8(twice[1].sql.clone()).unwrap(), format!("EXECUTE {name}('1','1','a')"));
    let text = r#"(integer,bigint,character varying) AS INSERT INTO "d"."t" ("id","u","name") VALUES ($1,$2,$3)"#;
    assert_eq!(renderer.preparation(&name).unwrap(), format!("PREPARE {name} {text}"));
}

#[test]
fn a_set_is_bounded() {
    let (renderer, t) = (Renderer::new(), table("t", &[&[0]], &[]));
    let mut writer = SetWriter::new(&renderer, Limits { rows: 2, bytes: 1 << 20 });
    for id in 0..5 {
        writer.push(&t, Change::Delete(&row(id, id, "a"))).unwrap();
    }
    assert_eq!(writer.finish().iter().map(|s| s.rows).collect::<Vec<_>>(), [2, 2, 1]);
}

/// A table with a primary key on `id` and a unique key on `u`, both checked for each row.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Model(BTreeMap<String, (String, String)>);

impl Model {
    fn insert(&mut self, row: &[String]) {
        assert!(!self.0.values().any(|(u, _)| u != "NULL" && *u == row[1]), "u is there: {row:?}");
        assert!(self.0.insert(row[0].clone(), (row[1].clone(), row[2].clone())).is_none(), "id is there: {row:?}");
    }

    fn delete(&mut self, id: &str) {
        self.0.remove(id).unwrap_or_else(|| panic!("no row {id}"));
    }

    /// Runs a statement whose key and written columns are those of the test below.
    fn run(&mut self, sql: &str) {
        let arrays = if sql.contains("unnest") { arrays_of(sql) } else { values_of(sql) };
        for at in 0..arrays[0].len() {
            let row: Vec<String> = arrays.iter().map(|array| array[at].clone()).collect();
            match &sql[..6] {
                "INSERT" => self.insert(&row),
                "DELETE" => self.delete(&row[0]),
                _ if row.len() == 4 => {
                    self.delete(&row[0]);
                    self.insert(&row[1..]);
                }
                _ => {
                    self.delete(&row[0]);
                    self.insert(&row);
                }
            }
        }
    }
}

fn arrays_of(sql: &str) -> Vec<Vec<String>> {
    let parts = sql.split("'{").skip(1).map(|part| part.split("}'").next().unwrap().replace('"', ""));
    parts.map(|array| array.split(',').map(str::to_owned).collect()).collect()
}

/// The values of a statement for one row: NULL or in quotes, those of the key first.
fn values_of(sql: &str) -> Vec<Vec<String>> {
    let (head, condition) = sql.split_once(" WHERE ").unwrap_or((sql, ""));
    let body = head.split_once(" SET ").or_else(|| head.split_once(" VALUES ")).map_or("", |(_, body)| body);
    let value = |part: &str| vec![part.rsplit('=').next().unwrap().trim_matches(['(', ')', '\'']).to_owned()];
    [condition, body].into_iter().filter(|part| !part.is_empty()).flat_map(|part| part.split(',').map(value)).collect()
}

proptest! {
    /// Random changes that the model takes one by one leave the same rows as sets, and break no key in between.
    #[test]
    fn sets_leave_the_rows_that_the_changes_leave(steps in prop::collection::vec((0..4u8, 0..6i64, 0..6i64, 0..9u8), 1..80)) {
        let t = table("t", &[&[0]], &[&[1]]);
        let renderer = Renderer::new();
        let mut writer = SetWriter::new(&renderer, Limits { rows: 7, bytes: 1 << 20 });
        let mut rows: BTreeMap<i64, (Option<i64>, u8)> = BTreeMap::new();
        for (kind, id, other, name) in steps {
            let text = |n: u8| n.to_string();
            let image = |id: i64, u: Option<i64>, name: &'static str| {
                vec![Some(Value::Int(id)), Some(u.map_or(Value::Null, Value::Int)), Some(Value::Bytes(name.as_bytes()))]
            };
            let leak = |n: u8| -> &'static str { Box::leak(text(n).into_boxed_str()) };
            let u = (other > 0).then_some(other);
            let taken = |except: i64| u.is_some() && rows.iter().any(|(id, row)| *id != except && row.0 == u);
            match (kind, rows.get(&id).copied()) {
                (0, None) if !taken(-1) => {
                    writer.push(&t, Change::Insert(&image(id, u, leak(name)))).unwrap();
                    rows.insert(id, (u, name));
                }
                (1, Some((old, n))) => {
                    writer.push(&t, Change::Delete(&image(id, old, leak(n)))).unwrap();
                    rows.remove(&id);
                }
                (2, Some((old, n))) if !taken(id) => {
                    let (before, after) = (image(id, old, leak(n)), image(id, u, leak(name)));
                    writer.push(&t, Change::Update { before: &before, after: &after }).unwrap();
                    rows.insert(id, (u, name));
                }
                (3, Some((old, n))) if !rows.contains_key(&other) => {
                    let (before, after) = (image(id, old, leak(n)), image(other, old, leak(name)));
                    writer.push(&t, Change::Update { before: &before, after: &after }).unwrap();
                    rows.remove(&id);
                    rows.insert(other, (old, name));
                }
                _ => {}
            }
        }
        let mut model = Model::default();
        for statement in writer.finish() {
            model.run(&text_of(&renderer, &statement));
        }
        let expected = rows.into_iter().map(|(id, (u, name))| {
            (id.to_string(), (u.map_or_else(|| "NULL".into(), |u| u.to_string()), name.to_string()))
        });
        prop_assert_eq!(model.0, expected.collect::<BTreeMap<_, _>>());
    }
}

proptest! {
    /// Random changes of a table without a key take only rows that are there, in any order of the rows of a set.
    #[test]
    fn sets_of_whole_rows_leave_the_rows_that_the_changes_leave(steps in prop::collection::vec((0..3u8, 0..3i64, 0..3i64), 1..120)) {
        let t = table("t", &[], &[]);
        let renderer = Renderer::new();
        let mut writer = SetWriter::new(&renderer, Limits { rows: 2, bytes: 1 << 20 });
        let image = |id: i64| row(id, id, "x");
        let mut rows: Vec<i64> = Vec::new();
        for (kind, id, other) in steps {
            let found = rows.iter().position(|row| *row == id);
            match (kind, found) {
                (0, _) => {
                    writer.push(&t, Change::Insert(&image(id))).unwrap();
                    rows.push(id);
                }
                (1, Some(place)) => {
                    writer.push(&t, Change::Delete(&image(id))).unwrap();
                    rows.swap_remove(place);
                }
                (2, Some(place)) => {
                    writer.push(&t, Change::Update { before: &image(id), after: &image(other) }).unwrap();
                    rows[place] = other;
                }
                _ => {}
            }
        }
        let mut model: Vec<String> = Vec::new();
        for statement in writer.finish().into_iter().filter(|statement| statement.rows != u64::MAX) {
            let sql = text_of(&renderer, &statement);
            let lists = if sql.contains("unnest") { arrays_of(&sql) } else { alone_of(&sql) };
            prop_assert_eq!(lists[0].len() as u64, statement.rows);
            let insert = sql.starts_with("INSERT");
            for taken in lists.first().filter(|_| !insert).into_iter().flatten() {
                let place = model.iter().position(|row| row == taken);
                prop_assert!(place.is_some(), "no row {taken} for {sql}");
                model.swap_remove(place.unwrap_or_default());
            }
            let put = if insert { lists.first() } else { lists.get(3) };
            model.extend(put.into_iter().flatten().cloned());
        }
        let mut expected: Vec<String> = rows.iter().map(ToString::to_string).collect();
        expected.sort();
        model.sort();
        prop_assert_eq!(model, expected);
    }
}

/// The values of a statement for one row of the test above, the old ones first.
fn alone_of(sql: &str) -> Vec<Vec<String>> {
    let (head, condition) = sql.split_once(" WHERE ").unwrap_or((sql, ""));
    let quoted =
        |text: &str| -> Vec<Vec<String>> { text.split('\'').skip(1).step_by(2).map(|v| vec![v.to_owned()]).collect() };
    [quoted(condition), quoted(head)].concat()
}
