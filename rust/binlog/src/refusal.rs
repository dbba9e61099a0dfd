//! What an intact log may hold that cannot be replayed exactly, and what to do about it (rule R27).

use crate::error::Fault;
use crate::event::types;

/// Return True if a statement with this first word changes rows.
pub(crate) fn changes_rows(word: &str) -> bool {
    matches!(word, "INSERT" | "UPDATE" | "DELETE" | "REPLACE" | "LOAD" | "CALL" | "SELECT" | "WITH")
}

/// A statement that changes rows in text, or one that is not known.
pub(crate) fn statement(word: &str) -> Fault {
    if changes_rows(word) {
        return Fault::not_understood(format!(
            "it is a change in statement format ({word}), which is not deterministic; set binlog_format=ROW on the source"
        ));
    }
    Fault::not_understood(format!(
        "the statement begins with {word}, which is not known as one that is replayed in text; set binlog_format=ROW on \
         the source, or replay it with mysqlbinlog"
    ))
}

/// Changes that the source rolled back, yet wrote down, because a table that it changed cannot be rolled back.
pub(crate) fn rolled_back() -> Fault {
    Fault::not_understood(
        "the source rolled back, wholly or to a savepoint, a transaction that also changed tables that cannot be rolled \
         back; replay it with mysqlbinlog, or make those tables transactional on the source",
    )
}

/// A DDL between the row events of a transaction.
pub(crate) fn statement_inside() -> Fault {
    Fault::not_understood(
        "a statement that commits by itself stands in the middle of a transaction; replay it with mysqlbinlog",
    )
}

/// An event type that is refused, or not known.
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
            "the log is encrypted from here on; fetch it from the server, which decrypts it (mariadb-binlog \
             --read-from-remote-server --raw), or set encrypt_binlog=OFF and rotate",
        ),
        0 => Fault::damaged("the event's type is 0, which no event has"),
        other => Fault::not_understood(format!(
            "it is of type {other}, which this version does not know and which is not marked as one to be passed over; \
             use a newer version, or replay the log with mysqlbinlog"
        )),
    }
}
