//! Columns of a trace for a transaction, beside its hashes and the numbers in its header.

use paraply_binlog::event::types;
use paraply_binlog::rows::row_walk::RowsError;
use paraply_binlog::rows::table_map::table_name;
use paraply_binlog::transaction::{Identity, Kind, Transaction};
use paraply_core::gtid::Origin;
use paraply_core::write_set::WriteSet;

/// Returns the origin of a transaction: the UUID of its GTID, MariaDB's `domain-server`, or the server's id where it
/// has no GTID.
///
/// A GTID's tag is no origin of its own.
pub fn origin(transaction: &Transaction) -> String {
    match &transaction.identity {
        Identity::Gtid(gtid) => match &gtid.origin {
            Origin::MySql { uuid, .. } => Origin::MySql { uuid: *uuid, tag: String::new() }.to_string(),
            domain @ Origin::MariaDb { .. } => domain.to_string(),
        },
        Identity::Anonymous => transaction.server_id.to_string(),
    }
}

/// Returns true if a transaction depends on all before it and all after it depend on it: no plain row changes, no write
/// set, or keys that are not known (rules R5, R13, R35).
pub fn is_barrier(transaction: &Transaction, set: &WriteSet) -> bool {
    set.barrier || !matches!(transaction.kind, Kind::Dml | Kind::XaPrepare) || set.is_empty()
}

/// Returns the tables whose rows a transaction changes, as `database.table`, in the order of their first table map.
pub fn tables(transaction: &Transaction) -> Result<Vec<String>, RowsError> {
    let mut names: Vec<String> = Vec::new();
    for event in transaction.events.iter().filter(|event| event.type_code == types::TABLE_MAP) {
        let bytes = transaction.data.get(event.range.clone()).unwrap_or_default();
        let name = table_name(bytes, &transaction.format)
            .map_err(|malformed| RowsError::new(transaction, event, malformed))?
            .to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}
