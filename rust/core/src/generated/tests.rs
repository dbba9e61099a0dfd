use super::*;
use crate::schema::TableName;

fn column(name: &str, data_type: &str) -> Column {
    let unsigned = data_type.ends_with(" unsigned");
    let data_type = data_type.trim_end_matches(" unsigned").to_owned();
    let collation = (data_type == "varchar").then(|| "utf8mb4_bin".to_owned());
    Column {
        name: name.to_owned(),
        data_type,
        unsigned,
        nullable: true,
        collation,
        labels: Vec::new(),
        length: Some(10),
        decimals: None,
        generated: None,
    }
}

/// Returns a table of `a INT, u INT UNSIGNED, s VARCHAR(10), n INT NOT NULL`, and `x` of a type with an expression.
fn table(data_type: &str, expression: &str) -> Table {
    let columns = vec![
        column("a", "int"),
        column("u", "int unsigned"),
        column("s", "varchar"),
        Column { nullable: false, ..column("n", "int") },
        Column { generated: Some(expression.to_owned()), ..column("x", data_type) },
    ];
    Table { name: TableName::new("d", "t"), columns, unique_keys: Vec::new(), foreign_keys: Vec::new() }
}

fn computed(data_type: &str, expression: &str, values: &[Value<'static>; 4]) -> Option<Value<'static>> {
    Computed::of(&table(data_type, expression), 4)?.value(|column| values.get(column).copied())
}

const ROW: [Value<'static>; 4] = [Value::Int(7), Value::UInt(3), Value::Bytes(b"text"), Value::Int(-2)];
const NULLS: [Value<'static>; 4] = [Value::Null, Value::Null, Value::Null, Value::Int(0)];

#[test]
fn integers_are_computed_as_written_and_as_the_servers_show_them() {
    let cases = [
        ("a*2", 14),
        ("(`a` * 2)", 14),
        ("`a` * 2", 14),
        ("a + n * 3 - 1", 0),
        ("(a + n) * 3 - -1", 16),
        ("-a", -7),
        ("n % 3", -2),
        ("A", 7),
        ("7", 7),
        ("IF(a IS NULL, 1, 2)", 2),
        ("if(`a` is not null,1,NULL)", 1),
        ("if((`a` > 5),1,0)", 1),
        ("case when `a` <> 7 then 1 else 5 end", 5),
        ("(case when (`a` >= 7) then 1 end)", 1),
        ("coalesce(NULL, a)", 7),
        ("ifnull(`a`,0)", 7),
        ("u - 1", 2),
    ];
    for (expression, value) in cases {
        assert_eq!(computed("int", expression, &ROW), Some(Value::Int(value)), "{expression}");
    }
    assert_eq!(computed("int unsigned", "a + 1", &ROW), Some(Value::UInt(8)));
    assert_eq!(computed("bigint", "a * 1000000000000", &ROW), Some(Value::Int(7_000_000_000_000)));
}

#[test]
fn null_is_computed() {
    for expression in ["a + 1", "-a", "NULL", "IF(a IS NULL, NULL, 1)", "IF(a > 1, 1, NULL)", "coalesce(a, NULL)"] {
        assert_eq!(computed("int", expression, &NULLS), Some(Value::Null), "{expression}");
    }
    assert_eq!(computed("int", "ifnull(a, 5)", &NULLS), Some(Value::Int(5)));
}

#[test]
fn r13_what_versions_or_modes_compute_differently_is_not_computed() {
    // Out of the column's range, of the signed one, or below zero with an unsigned operand.
    for (data_type, expression) in [
        ("tinyint", "a * 100"),
        ("int unsigned", "a - 8"),
        ("int", "u - 5"),
        ("bigint", "a * 9223372036854775807"),
        ("int", "a % 0"),
        ("int", "-u"),
        ("int", "IF(n < 0, n, u)"),
    ] {
        assert_eq!(computed(data_type, expression, &ROW), None, "{expression}");
    }
    assert_eq!(Computed::of(&table("int", "a + 1"), 4).and_then(|c| c.value(|_| None)), None, "a value is missing");
}

#[test]
fn r13_what_is_not_understood_exactly_is_no_expression() {
    for expression in [
        "",
        "a /2",
        "a DIV 2",
        "a + 1.5",
        "a + '1'",
        "a AND 1",
        "a--1",
        "a/* */+1",
        "a # x",
        "s + 1",
        "\"a\"",
        "a.b",
        "`t`.`a`",
        "z + 1",
        "x + 1",
        "concat(a, 1)",
        "a <=> 1",
        "IF(a, 1, 2)",
        "IF(n IS NULL, 1, 2)",
        "a +",
        "(a",
        "a)",
        "0x10",
        "1e3",
        "true",
        "a b",
        "IF(a IS NULL, s, 1)",
        "a | 1",
        "~a",
        "!a",
        "a = 1",
    ] {
        assert_eq!(Computed::of(&table("int", expression), 4), None, "{expression}");
    }
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(Computed::of(&table("int", &deep), 4), None);
    assert_eq!(Computed::of(&table("decimal", "a + 1"), 4), None);
    assert_eq!(Computed::of(&table("int", "a"), 0), None, "no generated column");
}

#[test]
fn a_copy_of_text_is_taken_where_the_types_are_the_same() {
    assert_eq!(computed("varchar", "s", &ROW), Some(Value::Bytes(b"text")));
    assert_eq!(computed("varchar", "`S`", &NULLS), Some(Value::Null));
    let mut other = table("varchar", "s");
    other.columns[4].length = Some(3);
    assert_eq!(Computed::of(&other, 4), None, "it may be cut");
    let mut other = table("varchar", "s");
    other.columns[4].collation = Some("latin1_bin".to_owned());
    assert_eq!(Computed::of(&other, 4), None, "it may be converted");
    assert_eq!(Computed::of(&table("text", "s"), 4), None);
}

#[test]
fn the_columns_that_a_value_depends_on_are_told() {
    let computed = Computed::of(&table("int", "IF(s IS NULL, a + u, a)"), 4).unwrap();
    assert_eq!(computed.sources(), [2, 0, 1]);
    assert_eq!(computed.column(), 4);
}
