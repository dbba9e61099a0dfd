//! A replica's connection to a real server: `PARAPLY_TEST_MYSQL=mysql://user:password@host:port`.

mod common;

use std::time::Duration;

use common::options;
use paraply_mysql::connection::{Connection, Error, Options, Tls, TlsMode};
use paraply_mysql::replica::ReplicaConnection;

#[test]
#[ignore = "needs a MySQL: PARAPLY_TEST_MYSQL"]
fn the_full_login_works_without_tls_and_with_it() {
    let options = options();
    for mode in [TlsMode::Disabled, TlsMode::Required, TlsMode::Preferred] {
        // FLUSH clears the server's password cache, so the next login is a full one, and the one after it a fast one.
        Connection::open(&options).unwrap().query(b"FLUSH PRIVILEGES").unwrap();
        let asked = Options { tls: Tls { mode, ..Tls::default() }, ..options.clone() };
        for _ in 0..2 {
            let mut connection = ReplicaConnection::open(&asked).unwrap();
            connection.execute("SET @a = 1").unwrap();
            assert!(connection.connection_id() > 0);
        }
    }
    let wrong = Options { password: Some("wrong".into()), ..options };
    assert!(matches!(ReplicaConnection::open(&wrong), Err(Error::Server { code: 1045, .. })));
}

#[test]
#[ignore = "needs a MySQL: PARAPLY_TEST_MYSQL"]
fn a_statement_that_fails_leaves_the_connection_usable() {
    let options = options();
    let mut connection = ReplicaConnection::open(&options).unwrap();
    let error = connection.execute("SET @a = no_such_column").unwrap_err();
    assert!(matches!(&error, Error::Server { code: 1054, state, .. } if state == "42S22"), "{error:?}");
    connection.execute(&format!("SET @a = '{}'", "x".repeat(20 << 20))).unwrap();
    // This connection does not read rows.
    assert!(matches!(connection.execute("SELECT 1"), Err(Error::Client(_))));
}

#[test]
fn a_server_that_is_not_there_is_a_lost_connection() {
    let nowhere = Options {
        host: "127.0.0.1".into(),
        port: 1,
        user: "app".into(),
        password: None,
        database: None,
        socket: None,
        tls: Tls::default(),
        connect_timeout: Duration::from_secs(1),
        read_timeout: None,
        found_rows: false,
    };
    assert!(matches!(ReplicaConnection::open(&nowhere), Err(Error::Lost(_))));
    let nowhere = Options { socket: Some("/nonexistent/s.sock".into()), ..nowhere };
    assert!(matches!(ReplicaConnection::open(&nowhere), Err(Error::Lost(_))));
}
