//! One connection to MySQL or MariaDB: text queries, all their result sets, and errors that keep the server's number.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use mysql::consts::{CapabilityFlags, ColumnFlags, ColumnType};
use mysql::prelude::Queryable;
use mysql::{ClientIdentity, Conn, DriverError, OptsBuilder, SslOpts, Value};
use mysql_common::proto::codec::error::PacketCodecError;

use crate::read_limit::set_read_limit;

/// Errors of a connection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server answered with an error.
    #[error("{message}")]
    Server {
        /// The server's error number, for example 1213.
        code: u16,
        /// The SQLSTATE, for example `40001`.
        state: String,
        /// The server's text.
        message: String,
    },
    /// The connection broke, or could not be made.
    #[error("{0}")]
    Lost(String),
    /// The server does not offer TLS.
    #[error("the server does not offer TLS")]
    NoTls,
    /// TLS was requested and could not be negotiated.
    #[error("TLS: {0}")]
    Tls(String),
    /// A statement that is not UTF-8.
    #[error("the statement is not valid UTF-8 at byte {0}")]
    NotUtf8(usize),
    /// Any other error of the client library.
    #[error("{0}")]
    Client(String),
}

impl From<mysql::Error> for Error {
    fn from(error: mysql::Error) -> Self {
        match error {
            mysql::Error::MySqlError(e) => Self::Server { code: e.code, state: e.state, message: e.message },
            mysql::Error::DriverError(DriverError::TlsNotSupported) => Self::NoTls,
            mysql::Error::TlsError(e) => Self::Tls(e.to_string()),
            mysql::Error::IoError(e) => Self::Lost(e.to_string()),
            mysql::Error::CodecError(e) => Self::Lost(e.to_string()),
            mysql::Error::DriverError(e @ (DriverError::ConnectTimeout | DriverError::CouldNotConnect(_))) => {
                Self::Lost(e.to_string())
            }
            // Debug output of other variants may hold values; their Display does not.
            other => Self::Client(other.to_string()),
        }
    }
}

/// Use of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    /// Never.
    Disabled,
    /// Only if the server offers it; its certificate is not checked.
    #[default]
    Preferred,
    /// Always; the certificate is not checked.
    Required,
    /// Always; the certificate must come from a trusted authority.
    VerifyCa,
    /// Always; the certificate must also name the host.
    VerifyIdentity,
}

/// TLS options.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// Use of TLS.
    pub mode: TlsMode,
    /// The authority's certificate; the bundled web authorities where there is none.
    pub ca: Option<PathBuf>,
    /// The client's certificate and key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Address and user of a connection. Its `Debug` shows no password.
#[derive(Clone)]
pub struct Options {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// User.
    pub user: String,
    /// Password.
    pub password: Option<String>,
    /// Default database.
    pub database: Option<String>,
    /// Unix socket; used instead of host and port.
    pub socket: Option<String>,
    /// TLS; not used on a unix socket.
    pub tls: Tls,
    /// Time limit of connecting, and of each answer until the login is done.
    pub connect_timeout: Duration,
    /// Time of silence after which the server counts as gone; none for no limit.
    pub read_timeout: Option<Duration>,
    /// True if an UPDATE counts the rows that it found, and not only those that it changed.
    pub found_rows: bool,
}

impl Options {
    /// Returns the time limit of each answer until the login is done.
    pub(crate) fn login_limit(&self) -> Duration {
        // A limit of 0 means none to the system.
        let limit = self.connect_timeout.max(Duration::from_millis(1));
        self.read_timeout.map_or(limit, |silence| silence.min(limit))
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

/// One value of a result row.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// FLOAT or DOUBLE.
    Float(f64),
    /// Everything else, as the server wrote it.
    Bytes(Vec<u8>),
}

/// One result of a query: rows, or the number of changed rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSet {
    /// Column names; empty for a statement without rows.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// Rows that the statement changed, or found with `found_rows`.
    pub affected: u64,
}

/// A connection. Closed when dropped.
pub struct Connection {
    inner: Conn,
    version: String,
}

impl Connection {
    /// Connects and logs in.
    ///
    /// `caching_sha2_password` works without TLS too: the password is then encrypted with the server's public key.
    pub fn open(options: &Options) -> Result<Self, Error> {
        let mut inner = open_conn(options)?;
        let version: Option<String> = inner.query_first("SELECT VERSION()")?;
        Ok(Self { inner, version: version.unwrap_or_default() })
    }

    /// Returns the server's number of this connection.
    pub fn connection_id(&self) -> u32 {
        self.inner.connection_id()
    }

    /// Returns the server's version as text, for example `9.7.4` or `10.11.6-MariaDB`.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// Runs one or several statements separated by semicolons and returns the result of each.
    ///
    /// At the first error the rest is not run by the server, and the error is returned.
    pub fn query(&mut self, sql: &[u8]) -> Result<Vec<ResultSet>, Error> {
        let mut sets = Vec::new();
        self.query_into(sql, &mut sets)?;
        Ok(sets)
    }

    /// Runs statements like [`Self::query`]; the results of those before one that fails are kept in `sets`.
    pub fn query_into(&mut self, sql: &[u8], sets: &mut Vec<ResultSet>) -> Result<(), Error> {
        let text = std::str::from_utf8(sql).map_err(|e| Error::NotUtf8(e.valid_up_to()))?;
        let mut result = self.inner.query_iter(text)?;
        while let Some(set) = result.iter() {
            let mut out = ResultSet { affected: set.affected_rows(), ..ResultSet::default() };
            let columns: Vec<_> = set.columns().as_ref().to_vec();
            out.columns = columns.iter().map(|c| c.name_str().into_owned()).collect();
            for row in set {
                let values = row?.unwrap();
                out.rows.push(values.into_iter().zip(&columns).map(|(v, c)| cell(v, c)).collect());
            }
            sets.push(out);
        }
        Ok(())
    }
}

/// Ends the statement that another connection is running; nothing happens if it runs none.
pub fn interrupt(options: &Options, connection_id: u32) -> Result<(), Error> {
    let mut other = open_conn(options)?;
    match other.query_drop(format!("KILL QUERY {connection_id}")).map_err(Error::from) {
        // ER_NO_SUCH_THREAD: the connection is gone already.
        Err(Error::Server { code: 1094, .. }) => Ok(()),
        result => result,
    }
}

fn open_conn(options: &Options) -> Result<Conn, Error> {
    let connection = log_in(options)?;
    set_read_limit(&connection, options.read_timeout).map_err(|error| Error::Lost(error.to_string()))?;
    Ok(connection)
}

fn log_in(options: &Options) -> Result<Conn, Error> {
    let plain = builder(options);
    let log_in = |options| Conn::new(options).map_err(login_error);
    if options.socket.is_some() || options.tls.mode == TlsMode::Disabled {
        return log_in(plain);
    }
    let tls = plain.clone().ssl_opts(Some(ssl_options(&options.tls)));
    match log_in(tls) {
        Err(Error::NoTls) if options.tls.mode == TlsMode::Preferred => log_in(plain),
        result => result,
    }
}

/// Returns the error of a login; a server that takes the connection and then is silent does not answer.
fn login_error(error: mysql::Error) -> Error {
    match &error {
        mysql::Error::IoError(io) | mysql::Error::CodecError(PacketCodecError::Io(io)) if is_timeout(io) => {
            Error::Lost("the server does not answer".to_owned())
        }
        _ => error.into(),
    }
}

/// Returns true if a read has reached its time limit.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

fn builder(options: &Options) -> OptsBuilder {
    OptsBuilder::new()
        .ip_or_hostname(Some(options.host.clone()))
        .tcp_port(options.port)
        .user(Some(options.user.clone()))
        .pass(options.password.clone())
        .db_name(options.database.clone())
        .socket(options.socket.clone())
        // Otherwise the library changes to the server's socket by itself, not to the address that was given.
        .prefer_socket(options.socket.is_some())
        .tcp_connect_timeout(Some(options.connect_timeout))
        .read_timeout(Some(options.login_limit()))
        .tcp_nodelay(true)
        // A server that vanishes without notice (power, network) is noticed within a minute, and not after the system's
        // two hours.
        .tcp_keepalive_time_ms(Some(30_000))
        .tcp_keepalive_probe_interval_secs(Some(10))
        .tcp_keepalive_probe_count(Some(3))
        .stmt_cache_size(0)
        .additional_capabilities(if options.found_rows {
            CapabilityFlags::CLIENT_FOUND_ROWS
        } else {
            CapabilityFlags::empty()
        })
}

fn ssl_options(tls: &Tls) -> SslOpts {
    let identity = tls.identity.clone().map(|(cert, key)| ClientIdentity::new(cert, key));
    SslOpts::default()
        .with_root_cert_path(tls.ca.clone())
        .with_client_identity(identity)
        .with_danger_accept_invalid_certs(matches!(tls.mode, TlsMode::Preferred | TlsMode::Required))
        .with_danger_skip_domain_validation(tls.mode != TlsMode::VerifyIdentity)
}

/// Converts a value of the text protocol, which is always bytes: numbers become numbers again by the column's type.
fn cell(value: Value, column: &mysql::Column) -> Cell {
    let bytes = match value {
        Value::NULL => return Cell::Null,
        Value::Bytes(bytes) => bytes,
        Value::Int(n) => return Cell::Int(n),
        Value::UInt(n) => return Cell::Unsigned(n),
        Value::Float(n) => return Cell::Float(f64::from(n)),
        Value::Double(n) => return Cell::Float(n),
        other => return Cell::Bytes(other.as_sql(true).into_bytes()),
    };
    let number = match column.column_type() {
        ColumnType::MYSQL_TYPE_TINY
        | ColumnType::MYSQL_TYPE_SHORT
        | ColumnType::MYSQL_TYPE_INT24
        | ColumnType::MYSQL_TYPE_LONG
        | ColumnType::MYSQL_TYPE_LONGLONG
        | ColumnType::MYSQL_TYPE_YEAR => integer(&bytes, column.flags().contains(ColumnFlags::UNSIGNED_FLAG)),
        ColumnType::MYSQL_TYPE_FLOAT | ColumnType::MYSQL_TYPE_DOUBLE => parse(&bytes).map(Cell::Float),
        _ => None,
    };
    number.unwrap_or(Cell::Bytes(bytes))
}

fn integer(bytes: &[u8], unsigned: bool) -> Option<Cell> {
    if unsigned { parse(bytes).map(Cell::Unsigned) } else { parse(bytes).map(Cell::Int) }
}

fn parse<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::replica::ReplicaConnection;

    fn options() -> Options {
        Options {
            host: "127.0.0.1".into(),
            port: 1,
            user: "app".into(),
            password: Some("not to be seen".into()),
            database: None,
            socket: None,
            tls: Tls::default(),
            connect_timeout: Duration::from_secs(1),
            read_timeout: None,
            found_rows: false,
        }
    }

    #[test]
    fn debug_output_has_no_password() {
        assert!(!format!("{:?}", options()).contains("not to be seen"));
    }

    #[test]
    fn a_server_that_is_not_there_is_a_lost_connection() {
        let error = Connection::open(&options()).err();
        assert!(matches!(error, Some(Error::Lost(_))), "{error:?}");
    }

    #[test]
    fn a_server_that_never_answers_is_given_up() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let options = Options { port, connect_timeout: Duration::from_millis(200), ..options() };
        for error in [Connection::open(&options).err(), ReplicaConnection::open(&options).err()] {
            assert!(
                matches!(&error, Some(Error::Lost(text)) if text.contains("not answer") || text.contains("silent")),
                "{error:?}"
            );
        }
    }
}
