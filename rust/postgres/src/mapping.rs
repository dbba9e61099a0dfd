//! Mapping of the columns of a source table to its counterpart in PostgreSQL.

use std::sync::Arc;

use paraply_binlog::rows::values::charset::Charset;
use paraply_core::generated::Computed;
use paraply_core::schema::TableName;

/// A column or a table that has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// The name of the kind is none of [`Kind::from_name`].
    #[error("unknown kind of column {0:?}")]
    UnknownKind(String),
    /// Text in a character set that cannot be converted exactly.
    #[error("character set {0} cannot be converted")]
    Charset(String),
    /// A key names a column that the table does not have.
    #[error("a key of {table} names column number {column}, which the table does not have")]
    KeyColumn {
        /// The table.
        table: TableName,
        /// The column's index.
        column: usize,
    },
    /// A name with a NUL byte.
    #[error("the name {0:?} holds a NUL byte")]
    Name(String),
}

/// Returns the character set of that name, or that of the collation of that name.
pub fn charset_of(name: &str) -> Result<Charset, MappingError> {
    match Charset::of_collation(name) {
        Some(Charset::Unknown) | None => Err(MappingError::Charset(name.to_owned())),
        Some(charset) => Ok(charset),
    }
}

/// Type of a column's values, which determines how they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Any signed integer type.
    Integer,
    /// Any unsigned integer type, in the next wider one.
    Unsigned,
    /// DECIMAL as numeric.
    Decimal,
    /// FLOAT as real.
    Real,
    /// DOUBLE as double precision.
    Double,
    /// BIT(n) as bit(n).
    Bit,
    /// Character types; none where only the log has the character set.
    Text(Option<Charset>),
    /// BINARY(n): padded with zero bytes to n, because the log leaves them out.
    Binary(usize),
    /// VARBINARY and the BLOB family.
    Varbinary,
    /// DATE.
    Date,
    /// DATETIME as timestamp.
    Timestamp,
    /// TIMESTAMP as timestamp with time zone.
    TimestampTz,
    /// TIME as interval.
    Interval,
    /// YEAR as smallint.
    Year,
    /// ENUM as its label.
    Enum(Vec<String>),
    /// SET as its labels, joined by commas.
    Set(Vec<String>),
    /// JSON as jsonb.
    Json,
    /// `MariaDB`'s UUID as uuid.
    Uuid,
    /// `MariaDB`'s INET4 as inet.
    Inet4,
    /// `MariaDB`'s INET6 as inet.
    Inet6,
}

impl Kind {
    /// Returns the kind by its name in `paraply.targets.postgres.types`, with its parameters.
    pub fn from_name(
        name: &str,
        charset: Option<&str>,
        length: Option<usize>,
        labels: Vec<String>,
    ) -> Result<Self, MappingError> {
        Ok(match name {
            "integer" => Self::Integer,
            "unsigned" => Self::Unsigned,
            "decimal" => Self::Decimal,
            "real" => Self::Real,
            "double" => Self::Double,
            "bit" => Self::Bit,
            "text" => Self::Text(charset.map(charset_of).transpose()?),
            "binary" => Self::Binary(length.unwrap_or(1)),
            "varbinary" => Self::Varbinary,
            "date" => Self::Date,
            "timestamp" => Self::Timestamp,
            "timestamptz" => Self::TimestampTz,
            "interval" => Self::Interval,
            "year" => Self::Year,
            "enum" => Self::Enum(labels),
            "set" => Self::Set(labels),
            "json" => Self::Json,
            "uuid" => Self::Uuid,
            "inet4" => Self::Inet4,
            "inet6" => Self::Inet6,
            other => return Err(MappingError::UnknownKind(other.to_owned())),
        })
    }
}

/// One column of a mapped table, in the order of the source's row image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMapping {
    /// The name in the source and in the target.
    pub name: String,
    /// Type of its values.
    pub kind: Kind,
    /// True if the source computes it (GENERATED ALWAYS AS).
    pub generated: bool,
    /// Digits of a second of a temporal column, where they are known.
    pub decimals: Option<u8>,
    free_type: Option<Arc<str>>,
    quoted: String,
}

impl ColumnMapping {
    /// Creates a column by its name.
    pub fn new(name: impl Into<String>, kind: Kind, generated: bool) -> Self {
        let name = name.into();
        let quoted = quote_identifier(&name);
        Self { name, kind, generated, decimals: None, free_type: None, quoted }
    }

    /// Sets the digits of a second of a column.
    #[must_use]
    pub fn with_decimals(mut self, decimals: Option<u8>) -> Self {
        self.decimals = decimals;
        self
    }

    /// Sets the type in the target, in the spelling of `format_type`.
    #[must_use]
    pub fn with_type(mut self, sql_type: &str) -> Self {
        self.free_type = Some(free_type(sql_type).into());
        self
    }

    /// Returns the type in the target without a limit of length or digits, which the column itself checks; none where
    /// the column's type is not known.
    pub fn free_type(&self) -> Option<&str> {
        self.free_type.as_deref()
    }

    /// Returns the name as an identifier in SQL.
    pub fn quoted(&self) -> &str {
        &self.quoted
    }
}

/// A source table and its counterpart.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMapping {
    /// The table in the source.
    pub source: TableName,
    /// Its columns in the order of the row image.
    pub columns: Vec<ColumnMapping>,
    /// Keys that identify a row, best first: the primary key, then unique keys whose columns are all NOT NULL.
    pub keys: Vec<Vec<usize>>,
    /// Further unique keys: those with columns that may be NULL.
    pub other_keys: Vec<Vec<usize>>,
    /// True if deleting a row changes rows of other tables in the source (ON DELETE CASCADE, SET NULL).
    pub cascades_delete: bool,
    /// The columns whose change changes rows of other tables in the source (ON UPDATE CASCADE, SET NULL).
    pub cascades_update: Vec<usize>,
    /// The most columns that MariaDB may log after the table's own, with the hashes of unique keys.
    pub key_hashes: usize,
    /// Computation of generated columns where an image leaves them out, in the order of the columns.
    pub computed: Vec<Computed>,
    /// Generated columns whose logged values are not used.
    pub recomputed: Vec<usize>,
    /// True if the target may hold several rows with one value of the best key, because it has no unique index on it. One
    /// statement may then change one row only: else a row too many would make up for one that is missing.
    pub is_alone: bool,
    target: String,
}

impl TableMapping {
    /// Creates a mapping to table `table` of schema `schema`.
    ///
    /// A key may also be a key on prefixes of its columns: values that are unique by a prefix are unique as a whole.
    pub fn new(
        source: TableName,
        schema: &str,
        table: &str,
        columns: Vec<ColumnMapping>,
        keys: Vec<Vec<usize>>,
    ) -> Result<Self, MappingError> {
        if let Some(&column) = keys.iter().flatten().find(|&&c| c >= columns.len()) {
            return Err(MappingError::KeyColumn { table: source, column });
        }
        let names = columns.iter().map(|c| c.name.as_str()).chain([schema, table]);
        if let Some(name) = names.into_iter().find(|n| n.contains('\0')) {
            return Err(MappingError::Name(name.to_owned()));
        }
        let keys = keys.into_iter().filter(|k| !k.is_empty()).collect();
        let target = format!("{}.{}", quote_identifier(schema), quote_identifier(table));
        let cascades_update = Vec::new();
        Ok(Self {
            source,
            columns,
            keys,
            other_keys: Vec::new(),
            cascades_delete: false,
            cascades_update,
            key_hashes: 0,
            computed: Vec::new(),
            recomputed: Vec::new(),
            is_alone: false,
            target,
        })
    }

    /// Sets the unique keys with columns that may be NULL.
    #[must_use]
    pub fn with_other_keys(mut self, keys: Vec<Vec<usize>>) -> Self {
        self.other_keys = keys;
        self
    }

    /// Sets the actions of foreign keys to this table.
    #[must_use]
    pub fn with_cascades(mut self, delete: bool, update: Vec<usize>) -> Self {
        self.cascades_delete = delete;
        self.cascades_update = update;
        self
    }

    /// Sets the number of unique keys of which MariaDB may log hashes.
    #[must_use]
    pub fn with_key_hashes(mut self, most: usize) -> Self {
        self.key_hashes = most;
        self
    }

    /// Sets the computations of generated columns.
    #[must_use]
    pub fn with_computed(mut self, computed: Vec<Computed>) -> Self {
        self.computed = computed;
        self
    }

    /// Sets the generated columns whose logged values are not used.
    #[must_use]
    pub fn with_recomputed(mut self, columns: Vec<usize>) -> Self {
        self.recomputed = columns;
        self
    }

    /// Sets whether one statement may change one row only.
    #[must_use]
    pub fn with_alone(mut self, is_alone: bool) -> Self {
        self.is_alone = is_alone;
        self
    }

    /// Returns true if the source computes this column.
    pub(super) fn is_generated(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(|column| column.generated)
    }

    /// Sets another character set for one of the columns.
    #[must_use]
    pub(super) fn with_charset(mut self, column: usize, charset: Charset) -> Self {
        if let Some(column) = self.columns.get_mut(column) {
            column.kind = Kind::Text(Some(charset));
        }
        self
    }

    /// Returns true if no key finds a row: it is one of those that have all its values.
    pub(super) fn has_no_key(&self) -> bool {
        self.keys.is_empty() && self.other_keys.is_empty()
    }

    /// Returns the columns whose values make a row: all that are not computed from others.
    pub(super) fn own_columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().enumerate().filter(|(_, column)| !column.generated).map(|(index, _)| index)
    }

    /// Returns the target table, quoted and with its schema.
    pub fn target(&self) -> &str {
        &self.target
    }
}

/// Returns a type without its limits.
///
/// The limits of a cast would cut off what is too long, where those of the column refuse it. The name `bit` is quoted,
/// because it else stands for `bit(1)`.
fn free_type(sql_type: &str) -> String {
    let (name, rest) = sql_type.split_once('(').unwrap_or((sql_type, ""));
    let rest = rest.split_once(')').map_or("", |(_, rest)| rest);
    if name == "bit" { "pg_catalog.\"bit\"".to_owned() } else { format!("{name}{rest}") }
}

/// Returns a name as an identifier in SQL: in double quotes, with those inside doubled.
pub fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_the_log_never_leave_their_quotes() {
        assert_eq!(quote_identifier("a\"; DROP TABLE x; --"), "\"a\"\"; DROP TABLE x; --\"");
    }

    #[test]
    fn values_are_sent_without_the_limits_of_their_type() {
        let cases = [
            ("character varying(20)", "character varying"),
            ("numeric(10,2)", "numeric"),
            ("timestamp(3) with time zone", "timestamp with time zone"),
            ("bit(5)", "pg_catalog.\"bit\""),
            ("double precision", "double precision"),
        ];
        for (sql_type, expected) in cases {
            assert_eq!(free_type(sql_type), expected);
        }
    }

    #[test]
    fn a_key_outside_the_table_is_refused() {
        let columns = vec![ColumnMapping::new("id", Kind::Integer, false)];
        let made = TableMapping::new(TableName::new("d", "t"), "d", "t", columns, vec![vec![1]]);
        assert!(matches!(made, Err(MappingError::KeyColumn { column: 1, .. })));
    }

    #[test]
    fn a_character_set_without_exact_conversion_is_refused_before_any_row() {
        let made = Kind::from_name("text", Some("future"), None, Vec::new());
        assert_eq!(made, Err(MappingError::Charset("future".into())));
    }
}
