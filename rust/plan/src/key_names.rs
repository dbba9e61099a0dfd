//! Names and values of keys that are known by their hashes.

use paraply_binlog::rows::known_tables::KnownTables;
use paraply_binlog::rows::row_walk::{RowPlan, RowsError};
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::{Catalog, TableName};
use paraply_core::simulate::Cause;
use paraply_core::value::Value;
use paraply_core::write_set::{Note, Noted, Reason, Row, WriteSetBuilder, key_prefix, table_hash};

use crate::write_sets::{Options, may_be_checked};

/// Most rows of a transaction that are looked at.
const MOST_ROWS: usize = 20_000;

/// A key with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedKey {
    /// Its hash.
    pub hash: u64,
    /// Its table.
    pub table: TableName,
    /// The key's name; empty for a whole table.
    pub key: String,
    /// The values of its parts, as text.
    pub values: Vec<String>,
    /// Cause of conflicts over it; none for an ordinary key.
    pub cause: Option<Cause>,
}

/// Finds keys by their hashes among the rows of a transaction.
pub fn find_keys(
    transaction: &Transaction,
    catalog: &Catalog,
    options: Options,
    wanted: &[u64],
) -> Result<Vec<NamedKey>, RowsError> {
    let mut builder = WriteSetBuilder::new(options.for_format(&transaction.format));
    let (mut known, mut plan, mut found, mut rows) = (KnownTables::default(), RowPlan::default(), Vec::new(), 0);
    plan.prepare(transaction, catalog, &mut known)?;
    plan.walk(transaction, &known, |_, table, header, row| {
        rows += 1;
        if found.len() == wanted.len() || rows > MOST_ROWS || table.definition.is_err() {
            return;
        }
        let name = &table.map.name;
        let Some(plan) = builder.plan(catalog, name) else { return };
        let foreign_key_checks = may_be_checked(table, header, false);
        let row = Row { before: row.before, after: row.after, foreign_key_checks };
        let (set, notes) = builder.explain(&plan, &row);
        for hash in wanted.iter().filter(|hash| set.exclusive.contains(hash) || set.shared.contains(hash)) {
            if found.iter().any(|named: &NamedKey| named.hash == *hash) {
                continue;
            }
            let note = notes.iter().find(|note| note.result == Noted::Hash(*hash));
            found.push(match note {
                Some(note) => named(*hash, note, catalog, name, &row),
                None => whole_table(*hash, &notes, catalog, name),
            });
        }
    })?;
    Ok(found)
}

/// Returns the name of a key: that of the parent's key for a reference.
fn named(hash: u64, note: &Note, catalog: &Catalog, own: &TableName, row: &Row<'_, '_>) -> NamedKey {
    let of = |table: &TableName| {
        let keys = catalog.get(table).map(|table| table.unique_keys.clone()).unwrap_or_default();
        let key = keys.into_iter().find(|key| key_prefix(&key.name, table) == note.prefix)?;
        Some((table.clone(), key.name))
    };
    let parents = catalog.get(own).map(|table| table.foreign_keys.clone()).unwrap_or_default();
    let found = of(own).or_else(|| parents.iter().find_map(|key| of(&key.parent)));
    let (table, key) = found.unwrap_or_else(|| (own.clone(), "?".to_owned()));
    let values = note.columns.iter().zip(note.values()).map(|(column, form)| value_text(*column, &form, row));
    NamedKey { hash, table, key, values: values.collect(), cause: None }
}

/// Returns the form of a key's part if it is readable text, else the row's own value.
fn value_text(column: Option<usize>, form: &[u8], row: &Row<'_, '_>) -> String {
    let own = column.and_then(|index| {
        let image = row.after.or(row.before)?;
        match image.get(index).copied().flatten()? {
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
            _ => None,
        }
    });
    let readable = |text: &String| !text.chars().any(char::is_control);
    let form_text = std::str::from_utf8(form).ok().map(str::to_owned).filter(readable);
    own.filter(readable).or(form_text).unwrap_or_else(|| hexadecimal(form))
}

/// Returns bytes as text that is always readable.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

/// Returns the name of a hash of a whole table, and why its keys were not hashed.
fn whole_table(hash: u64, notes: &[Note], catalog: &Catalog, own: &TableName) -> NamedKey {
    let lost = notes.iter().find_map(|note| match note.result {
        Noted::Lost(reason) => Some(reason),
        _ => None,
    });
    let is_own = table_hash(own) == hash;
    let table = if is_own { Some(own.clone()) } else { catalog.names().find(|name| table_hash(name) == hash).cloned() };
    let cause = match lost {
        None | Some(Reason::NoUniqueKey) if is_own => Cause::NoKey,
        Some(Reason::UnknownCollation | Reason::InvalidValue | Reason::ExpressionKey | Reason::MissingKeyColumn) => {
            Cause::UnknownSchema
        }
        _ => Cause::ForeignKeyParent,
    };
    let table = table.unwrap_or_else(|| own.clone());
    NamedKey { hash, table, key: String::new(), values: Vec::new(), cause: Some(cause) }
}
