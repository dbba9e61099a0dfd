//! The schema of the real logs.

use paraply_core::schema::{Catalog, Column, ForeignKey, KeyPart, ReferenceAction, Table, TableName, UniqueKey};

const DEFAULT: &str = "utf8mb4_0900_ai_ci";

fn column(text: &str, default: &str) -> Column {
    let mut words = text.split_whitespace();
    let name = words.next().expect("a name").to_owned();
    let data_type = words.next().expect("a type").to_owned();
    let mut made = Column {
        collation: match data_type.as_str() {
            "varchar" | "text" | "enum" | "set" => Some(default.to_owned()),
            "varbinary" => Some("binary".to_owned()),
            _ => None,
        },
        labels: match data_type.as_str() {
            "enum" => ["a", "b", "c"].map(str::to_owned).to_vec(),
            "set" => ["x", "y", "z"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        },
        name,
        data_type,
        unsigned: false,
        nullable: true,
        length: None,
        decimals: None,
        generated: None,
    };
    for word in words {
        match word {
            "unsigned" => made.unsigned = true,
            "!" => made.nullable = false,
            collation => made.collation = Some(collation.to_owned()),
        }
    }
    made
}

fn table(name: &str, columns: &[&str], keys: &[(&str, &[usize])], default: &str) -> Table {
    let key = |(name, parts): &(&str, &[usize])| UniqueKey {
        name: (*name).to_owned(),
        parts: parts.iter().map(|&part| KeyPart::Column(part)).collect(),
    };
    Table {
        name: TableName::new("shop", name),
        columns: columns.iter().map(|text| column(text, default)).collect(),
        unique_keys: keys.iter().map(key).collect(),
        foreign_keys: Vec::new(),
    }
}

fn reference(name: &str, columns: &[usize], parent: &str, parent_columns: &[&str]) -> ForeignKey {
    ForeignKey {
        name: name.to_owned(),
        columns: columns.to_vec(),
        parent: TableName::new("shop", parent),
        parent_columns: parent_columns.iter().map(|&name| name.to_owned()).collect(),
        on_delete: ReferenceAction::Refuse,
        on_update: ReferenceAction::Refuse,
    }
}

/// Returns the six tables, as MySQL 9.7 defines them.
pub fn catalog() -> Catalog {
    let customer = [
        "id bigint !",
        "email varchar !",
        "nick varchar utf8mb4_bin",
        "city varchar utf8mb4_general_ci",
        "balance decimal !",
    ];
    let customer = table("customer", &customer, &[("PRIMARY", &[0]), ("email", &[1]), ("nick", &[2])], DEFAULT);
    let product = ["w int !", "sku varchar !", "qty int !", "price double", "updated datetime"];
    let product = table("product", &product, &[("PRIMARY", &[0, 1])], DEFAULT);
    let orders = ["id bigint !", "customer_id bigint !", "placed timestamp !", "note text", "doc json"];
    let mut orders = table("orders", &orders, &[("PRIMARY", &[0])], DEFAULT);
    orders.foreign_keys = vec![reference("fk_c", &[1], "customer", &["id"])];
    let line = [
        "order_id bigint !",
        "n smallint unsigned !",
        "w int",
        "sku varchar",
        "amount int",
        "bin varbinary",
        "flag bit",
        "kind enum",
        "tags set",
    ];
    let mut line = table("order_line", &line, &[("PRIMARY", &[0, 1])], DEFAULT);
    line.foreign_keys =
        vec![reference("fk_o", &[0], "orders", &["id"]), reference("fk_p", &[2, 3], "product", &["w", "sku"])];
    let counter = ["day date !", "tiny tinyint unsigned !", "hits int unsigned"];
    let counter = table("counter", &counter, &[("PRIMARY", &[0, 1])], DEFAULT);
    let tag = table("tag", &["word varchar !", "uses int"], &[("PRIMARY", &[0])], DEFAULT);
    let mut catalog = Catalog::default();
    for table in [customer, product, orders, line, counter, tag] {
        catalog.put(table);
    }
    catalog
}
