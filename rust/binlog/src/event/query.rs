//! Query events: statements in text, and the status variables that determine their meaning (rule R33).

use std::borrow::Cow;

use paraply_core::collation::Collation;

use crate::error::Fault;
use crate::event::cursor::Cursor;
use crate::event::mariadb;
use crate::event::text::{Quoting, TextKind, classify};
use crate::event::types;
use crate::transaction::{Format, RowSettings, Statement, StatementContext};

const POST_HEADER_LENGTH: usize = 13;
/// Bits of `sql_mode`.
const ANSI_QUOTES: u64 = 4;
const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
/// Number of databases that stands for too many to be named.
const TOO_MANY_DATABASES: u8 = 254;

/// A Query event, its status variables not parsed yet.
#[derive(Debug, Clone)]
pub struct QueryEvent<'a> {
    /// The session that ran it.
    pub thread_id: u32,
    /// Seconds from the event's time to the end of the statement.
    pub seconds: u32,
    /// The error that the statement ended in on the source; 0 for none.
    pub error_code: u16,
    /// The default database.
    pub database: &'a [u8],
    /// The statement.
    pub sql: Cow<'a, [u8]>,
    status: &'a [u8],
    mariadb: bool,
}

impl<'a> QueryEvent<'a> {
    /// Reads the body of a Query event, plain or compressed by MariaDB.
    pub fn parse(type_code: u8, body: &'a [u8], format: &Format) -> Result<Self, Fault> {
        let post_header = format.post_header_length(type_code).unwrap_or(POST_HEADER_LENGTH);
        let Some(surplus) = post_header.checked_sub(POST_HEADER_LENGTH) else {
            return Err(Fault::not_understood(
                "its Query events are older than MySQL 5.0; replay the log with mysqlbinlog",
            ));
        };
        let mut cursor = Cursor::new(body);
        let thread_id = cursor.u32()?;
        let seconds = cursor.u32()?;
        let database_length = usize::from(cursor.u8()?);
        let error_code = cursor.u16()?;
        let status_length = usize::from(cursor.u16()?);
        cursor.take(surplus)?;
        let status = cursor.take(status_length)?;
        let database = cursor.take(database_length)?;
        if cursor.u8()? != 0 {
            return Err(Fault::damaged("the name of a Query event's database does not end where it should"));
        }
        let sql = if type_code == types::MARIADB_QUERY_COMPRESSED {
            let mut plain = Vec::new();
            mariadb::decompress(cursor.rest(), &mut plain)?;
            Cow::Owned(plain)
        } else {
            Cow::Borrowed(cursor.rest())
        };
        Ok(Self { thread_id, seconds, error_code, database, sql, status, mariadb: format.mariadb })
    }

    /// Returns the effect of the statement on its transaction.
    pub fn kind(&self) -> Result<TextKind, Fault> {
        match self.sql.as_ref() {
            b"BEGIN" => Ok(TextKind::Begin),
            b"COMMIT" => Ok(TextKind::Commit),
            sql => {
                let context = parse_status(self.status)?;
                let mode = context.sql_mode.unwrap_or(0);
                let client = context.charset.and_then(|(client, ..)| Collation::by_id(client, self.mariadb));
                let (escapes, ansi_quotes) = (mode & NO_BACKSLASH_ESCAPES == 0, mode & ANSI_QUOTES != 0);
                Ok(classify(sql, Quoting { escapes, ansi_quotes, client }))
            }
        }
    }

    /// Returns the status variables as bytes.
    pub fn status(&self) -> &'a [u8] {
        self.status
    }

    /// Returns the settings that the status variables give to the rows after a BEGIN.
    pub fn row_settings(&self) -> Result<RowSettings, Fault> {
        let context = parse_status(self.status)?;
        Ok(RowSettings {
            sql_mode: context.sql_mode,
            time_zone: context.time_zone,
            lc_time_names: context.lc_time_names,
        })
    }

    /// Returns the databases that the statement used, where the source logged them.
    pub fn updated_databases(&self) -> Result<Vec<String>, Fault> {
        Ok(parse_status(self.status)?.updated_databases)
    }

    /// Returns the statement with its status variables read.
    pub fn statement(&self, timestamp: u32, offset: u64) -> Result<Statement, Fault> {
        let mut context = parse_status(self.status)?;
        context.thread_id = self.thread_id;
        context.error_code = self.error_code;
        let (sql, database, seconds) = (self.sql.to_vec(), text(self.database)?, self.seconds);
        Ok(Statement { sql, database, timestamp, seconds, context, offset })
    }
}

/// Reads status variables; after an unknown one nothing more can be read.
fn parse_status(status: &[u8]) -> Result<StatementContext, Fault> {
    let mut context = StatementContext::default();
    let mut cursor = Cursor::new(status);
    while !cursor.is_empty() {
        let code = cursor.u8()?;
        if !parse_variable(code, &mut cursor, &mut context)? {
            context.unknown.push(code);
            break;
        }
    }
    Ok(context)
}

/// Reads one variable; returns false if the code is not known.
fn parse_variable(code: u8, cursor: &mut Cursor<'_>, context: &mut StatementContext) -> Result<bool, Fault> {
    match code {
        0 => context.flags2 = Some(cursor.u32()?),
        1 => context.sql_mode = Some(cursor.u64()?),
        // The catalog, with a NUL in servers up to 5.0.3: it is always "std".
        2 => {
            short_bytes(cursor)?;
            cursor.u8()?;
        }
        3 => context.auto_increment = Some((cursor.u16()?, cursor.u16()?)),
        4 => context.charset = Some((cursor.u16()?, cursor.u16()?, cursor.u16()?)),
        5 => context.time_zone = Some(short_text(cursor)?).filter(|zone| !zone.is_empty()),
        6 => {
            short_bytes(cursor)?;
        }
        7 => context.lc_time_names = Some(cursor.u16()?),
        8 => context.charset_database = Some(cursor.u16()?),
        // Size on the source before conversion.
        10 => drop(cursor.u32()?),
        11 => context.invoker = Some((short_text(cursor)?, short_text(cursor)?)),
        12 => context.updated_databases = updated_databases(cursor)?,
        13 | 128 => context.microseconds = Some(cursor.unsigned(3)? as u32),
        16 => context.explicit_defaults_for_timestamp = Some(cursor.u8()? != 0),
        // Tables of a multi-table update, for filters; the storage engine's number of an atomic DDL (both servers).
        9 | 17 | 129 => drop(cursor.u64()?),
        18 => context.default_collation_for_utf8mb4 = Some(cursor.u16()?),
        19 => context.sql_require_primary_key = Some(cursor.u8()?),
        20 => context.default_table_encryption = Some(cursor.u8()?),
        130 => gtid_flags(cursor)?,
        131 => context.character_set_collations = character_set_collations(cursor)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn updated_databases(cursor: &mut Cursor<'_>) -> Result<Vec<String>, Fault> {
    match cursor.u8()? {
        TOO_MANY_DATABASES => Ok(Vec::new()),
        count => (0..count).map(|_| text(cursor.until_nul()?)).collect(),
    }
}

/// Reads flags that the GTID event has too.
fn gtid_flags(cursor: &mut Cursor<'_>) -> Result<(), Fault> {
    let flags = cursor.u8()?;
    if flags & (mariadb::EXTRA_COMMIT_ALTER | mariadb::EXTRA_ROLLBACK_ALTER) != 0 {
        cursor.u64()?;
    }
    Ok(())
}

fn character_set_collations(cursor: &mut Cursor<'_>) -> Result<Vec<(u16, u16)>, Fault> {
    let count = cursor.u8()?;
    (0..count).map(|_| Ok((cursor.u16()?, cursor.u16()?))).collect()
}

fn short_bytes<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Fault> {
    let length = usize::from(cursor.u8()?);
    cursor.take(length)
}

fn short_text(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    text(short_bytes(cursor)?)
}

fn text(bytes: &[u8]) -> Result<String, Fault> {
    let not_utf8 = |_| Fault::damaged("a name in a Query event is not UTF-8");
    std::str::from_utf8(bytes).map(str::to_owned).map_err(not_utf8)
}
