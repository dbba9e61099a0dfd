//! Check that a table's definition is the one that rows were written under (rules R13, R31).

use paraply_core::collation::{Collation, name_of};
use paraply_core::schema::{Column, Table};

use crate::rows::layout::{Layout, type_code};
use crate::rows::table_map::{MappedColumn, TableMap};

/// Difference between a definition and a table map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Difference {
    /// The number of columns.
    ColumnCount,
    /// A column's name.
    ColumnName,
    /// A column's type.
    ColumnType,
    /// A column's sign.
    ColumnSign,
    /// The nullability of a column.
    ColumnNull,
    /// A text column's collation.
    ColumnCollation,
}

impl Difference {
    /// Returns the reason for reports.
    pub fn reason(self) -> &'static str {
        match self {
            Self::ColumnCount => "the known definition has another number of columns than the log",
            Self::ColumnName => "the known definition has other column names than the log",
            Self::ColumnType => "the known definition has other column types than the log",
            Self::ColumnSign => "the known definition has other signs than the log",
            Self::ColumnNull => "the known definition allows NULL elsewhere than the log",
            Self::ColumnCollation => "the known definition has other collations than the log",
        }
    }
}

/// Compares a definition with a table map; a property that the map lacks is taken as equal.
pub fn compare(map: &TableMap, table: &Table, mariadb: bool) -> Result<(), Difference> {
    if map.columns.len() != table.columns.len() && !(mariadb && holds_key_hashes(map, table)) {
        return Err(Difference::ColumnCount);
    }
    let mut columns = map.columns.iter().zip(&table.columns);
    columns.try_for_each(|(mapped, column)| compare_column(mapped, column, mariadb))
}

/// Returns true if the log's additional columns are all hashes of the table's unique keys.
fn holds_key_hashes(map: &TableMap, table: &Table) -> bool {
    let keys = table.unique_keys.iter().filter(|key| key.name != "PRIMARY").count();
    let columns = table.columns.len();
    map.columns.len().checked_sub(columns).is_some_and(|more| more <= keys) && map.ends_in_key_hashes(columns)
}

fn compare_column(mapped: &MappedColumn, column: &Column, mariadb: bool) -> Result<(), Difference> {
    if mapped.name.as_ref().is_some_and(|name| !same_name(name, &column.name)) {
        return Err(Difference::ColumnName);
    }
    if !matches_type(mapped.type_code, &column.data_type) {
        return Err(Difference::ColumnType);
    }
    if matches!(mapped.layout, Layout::Int { .. }) && mapped.unsigned.is_some_and(|sign| sign != column.unsigned) {
        return Err(Difference::ColumnSign);
    }
    // The reverse is harmless: a key over a column that is taken for nullable only counts as coarser.
    if mapped.nullable && !column.nullable {
        return Err(Difference::ColumnNull);
    }
    if has_text(mapped.type_code) && !same_collation(mapped.collation_id, column.collation.as_deref(), mariadb) {
        return Err(Difference::ColumnCollation);
    }
    Ok(())
}

/// Returns true for types whose values a collation compares: CHAR, VARCHAR and the like.
fn has_text(code: u8) -> bool {
    matches!(code, type_code::STRING | type_code::VARCHAR | type_code::VAR_STRING | type_code::BLOB)
}

/// Compares collations; a missing one, or one that is not known here, is taken as equal.
fn same_collation(id: Option<u32>, declared: Option<&str>, mariadb: bool) -> bool {
    let logged =
        id.and_then(|id| u16::try_from(id).ok()).and_then(|id| name_of(id, mariadb)).and_then(Collation::by_name);
    let declared = declared.and_then(Collation::by_name);
    logged.zip(declared).is_none_or(|(logged, declared)| logged.name() == declared.name())
}

fn same_name(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

/// Returns true if a column declared with this keyword is written with this type.
fn matches_type(code: u8, data_type: &str) -> bool {
    use type_code as t;
    match data_type {
        "tinyint" | "bool" | "boolean" => code == t::TINY,
        "smallint" => code == t::SHORT,
        "mediumint" => code == t::INT24,
        "int" | "integer" => code == t::LONG,
        "bigint" | "serial" => code == t::LONGLONG,
        // FLOAT(30) is a DOUBLE, REAL may be either.
        "float" | "real" => matches!(code, t::FLOAT | t::DOUBLE),
        "double" | "double precision" => code == t::DOUBLE,
        "decimal" | "numeric" | "dec" | "fixed" => code == t::NEWDECIMAL,
        "char" | "character" | "nchar" | "binary" | "uuid" | "inet4" | "inet6" => code == t::STRING,
        "varchar" | "varbinary" | "nvarchar" | "character varying" => {
            matches!(code, t::VARCHAR | t::VAR_STRING | t::VARCHAR_COMPRESSED)
        }
        "tinytext" | "text" | "mediumtext" | "longtext" | "tinyblob" | "blob" | "mediumblob" | "longblob" => {
            matches!(code, t::BLOB | t::TINY_BLOB | t::MEDIUM_BLOB | t::LONG_BLOB | t::BLOB_COMPRESSED)
        }
        "enum" => code == t::ENUM,
        "set" => code == t::SET,
        "bit" => code == t::BIT,
        "year" => code == t::YEAR,
        "date" => matches!(code, t::DATE | t::NEWDATE),
        "time" => matches!(code, t::TIME | t::TIME2),
        "datetime" => matches!(code, t::DATETIME | t::DATETIME2),
        "timestamp" => matches!(code, t::TIMESTAMP | t::TIMESTAMP2),
        // MariaDB's JSON is LONGTEXT, its VECTOR a VARBINARY.
        "json" => matches!(code, t::JSON | t::BLOB),
        "vector" => matches!(code, t::VECTOR | t::VARCHAR),
        "geometry" | "point" | "linestring" | "polygon" | "multipoint" | "multilinestring" | "multipolygon"
        | "geometrycollection" | "geomcollection" => code == t::GEOMETRY,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use paraply_core::schema::{KeyPart, TableName, UniqueKey};

    use super::*;
    use crate::transaction::Format;

    const MARIADB: bool = true;

    /// Returns the map of a table `d.t` with columns of these types, all of them nullable.
    fn map(types: &[u8]) -> TableMap {
        let mut event = vec![0; 19];
        event.extend([1, 0, 0, 0, 0, 0, 1, 0, 1, b'd', 0, 1, b't', 0]);
        event.push(u8::try_from(types.len()).unwrap());
        event.extend(types);
        event.push(0);
        event.extend(vec![0xff; types.len().div_ceil(8)]);
        let format = Format {
            event: Vec::new(),
            server_version: String::new(),
            mariadb: MARIADB,
            version: (10, 11, 14),
            post_header_lengths: Vec::new(),
            checksum: false,
            server_id: 1,
            created: 0,
        };
        TableMap::parse(&event, &format).unwrap()
    }

    /// Returns the table `d.t (a INT NULL)` with these unique keys over it.
    fn table(keys: &[&str]) -> Table {
        let column = Column {
            name: "a".to_owned(),
            data_type: "int".to_owned(),
            unsigned: false,
            nullable: true,
            collation: None,
            labels: Vec::new(),
            length: None,
            decimals: None,
            generated: None,
        };
        let key = |name: &&str| UniqueKey { name: (*name).to_owned(), parts: vec![KeyPart::Column(0)] };
        Table {
            name: TableName::new("d", "t"),
            columns: vec![column],
            unique_keys: keys.iter().map(key).collect(),
            foreign_keys: Vec::new(),
        }
    }

    #[test]
    fn r31_hashes_of_unique_keys_behind_the_columns_are_no_difference_on_mariadb() {
        use type_code::{LONG, LONGLONG};
        let count = Err(Difference::ColumnCount);
        assert_eq!(compare(&map(&[LONG, LONGLONG]), &table(&["u"]), MARIADB), Ok(()));
        assert_eq!(compare(&map(&[LONG, LONGLONG]), &table(&["PRIMARY", "u", "v"]), MARIADB), Ok(()));
        assert_eq!(compare(&map(&[LONG, LONGLONG]), &table(&["u"]), false), count, "MySQL logs none");
        assert_eq!(compare(&map(&[LONG, LONGLONG]), &table(&["PRIMARY"]), MARIADB), count, "no key that is hashed");
        assert_eq!(compare(&map(&[LONG, LONGLONG, LONGLONG]), &table(&["u"]), MARIADB), count, "more than keys");
        assert_eq!(compare(&map(&[LONG, LONG]), &table(&["u"]), MARIADB), count, "another type");
        assert_eq!(compare(&map(&[]), &table(&["u"]), MARIADB), count);
    }
}
