//! Contents of an intact log that cannot be replayed exactly, and what to do about them (rule R27).

use crate::error::Fault;
use crate::event::types;

/// Returns true if a statement with this first word changes rows.
pub(crate) fn changes_rows(word: &str) -> bool {
    matches!(word, "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "LOAD" | "CALL" | "SELECT" | "WITH")
}

/// Returns the fault of a statement that changes rows in text, or of an unknown statement.
pub(crate) fn statement(word: &str, mariadb: bool) -> Fault {
    if changes_rows(word) {
        let versioned = if mariadb {
            " (MariaDB writes changes of tables versioned by transactions in this format even then)"
        } else {
            ""
        };
        return Fault::not_understood(format!(
            "it is a change in statement format ({word}), which is not deterministic; set binlog_format=ROW on the \
             source{versioned}"
        ));
    }
    Fault::not_understood(format!(
        "the statement begins with {word}, which is not known as one that is replayed in text; set binlog_format=ROW on \
         the source, or replay it with mysqlbinlog"
    ))
}

/// Returns the fault of a rollback in the log of a server that logs changes of all tables together.
pub(crate) fn rolled_back() -> Fault {
    Fault::not_understood(
        "the source rolled back, wholly or to a savepoint, a transaction with row changes; servers before MySQL 5.5.9 and \
         MariaDB 5.5 log those of tables that cannot be rolled back among them, so its remaining changes are not known; \
         replay it with mysqlbinlog",
    )
}

/// Returns the fault of a rollback to a savepoint between the row events of one statement.
pub(crate) fn rolled_back_inside_statement() -> Fault {
    Fault::not_understood(
        "a stored function or trigger rolled back to a savepoint in the middle of a statement, and servers do not log \
         the rows before and after such a savepoint separately, so the statement's remaining rows are not known; copy the \
         tables of this transaction from the source, and continue after it",
    )
}

/// Returns the fault of a statement that commits by itself, with a rollback after it.
pub(crate) fn rolled_back_statement() -> Fault {
    Fault::not_understood(
        "a statement that commits by itself is in a transaction that the source rolled back, so it is not known \
         whether it was executed; compare its tables with the source, and continue after it",
    )
}

/// Returns the fault of an unknown event between a transaction's first event and its commit, whatever its flags are.
pub(crate) fn inside_transaction(type_code: u8) -> Fault {
    Fault::not_understood(format!(
        "it is of type {type_code}, which this version does not know, and it is inside of a transaction, so a part of \
         the transaction would be lost without it; use a newer version, or replay the log with its server's own \
         mysqlbinlog or mariadb-binlog"
    ))
}

/// Returns the fault of a transaction that does not fit into the memory limit.
pub(crate) fn too_large(most_bytes: u64) -> Fault {
    Fault::not_understood(format!(
        "its transaction has more than {most_bytes} bytes of row events; raise the limit, or apply it with mysqlbinlog"
    ))
}

/// Returns the fault of a DDL between the row events of a transaction.
pub(crate) fn statement_inside() -> Fault {
    Fault::not_understood(
        "a statement that commits by itself is in the middle of a transaction; replay it with mysqlbinlog",
    )
}

/// Returns the fault of an event type that is refused, or not known.
pub(crate) fn event_type(type_code: u8) -> Fault {
    match type_code {
        types::INTVAR | types::RAND | types::USER_VAR => Fault::not_understood(
            "it belongs to a change in statement format, which is not deterministic; set binlog_format=ROW on the source",
        ),
        types::LOAD..=types::NEW_LOAD | types::BEGIN_LOAD_QUERY | types::EXECUTE_LOAD_QUERY => {
            Fault::not_understood("it belongs to a LOAD DATA in statement format; set binlog_format=ROW on the source")
        }
        types::PRE_GA_WRITE_ROWS..=types::PRE_GA_DELETE_ROWS => Fault::not_understood(
            "it is a row event of a MySQL 5.1 before its release, whose layout differs; replay the log with mysqlbinlog",
        ),
        types::INCIDENT => Fault::not_understood(
            "it is an incident: the source lost changes here that are not in the log; copy the data from the source anew",
        ),
        types::MARIADB_START_ENCRYPTION => Fault::not_understood(
            "the log is encrypted from here on; name the server's key file in PARAPLY_KEYRING, or fetch the log from the \
             server, which decrypts it (mariadb-binlog --read-from-remote-server --raw)",
        ),
        0 => Fault::damaged("the event's type is 0, which no event has"),
        other => Fault::not_understood(format!(
            "it is of type {other}, which this version does not know and which is not marked as one to be passed over; \
             use a newer version, or replay the log with its server's own mysqlbinlog or mariadb-binlog"
        )),
    }
}
