//! The connection against a real server: `PARAPLY_TEST_MYSQL=mysql://user:password@host:port`.

mod common;

use std::time::{Duration, Instant};

use common::options;
use paraply_mysql::connection::{Cell, Connection, Error, Options, Tls, TlsMode, interrupt};

#[test]
#[ignore = "needs a MySQL: PARAPLY_TEST_MYSQL"]
fn several_statements_give_several_results_and_an_error_stops_them() {
    let options = options();
    let mut connection = Connection::open(&options).unwrap();
    let sets = connection
        .query(b"SELECT 1, -2.5e0, NULL, 'x', 18446744073709551615; SET @a = 1; SELECT 2 WHERE FALSE; SELECT 3")
        .unwrap();
    let row = vec![Cell::Int(1), Cell::Float(-2.5), Cell::Null, Cell::Bytes(b"x".to_vec()), Cell::Unsigned(u64::MAX)];
    assert_eq!(sets[0].rows, [row]);
    assert_eq!(sets.iter().map(|s| s.rows.len()).collect::<Vec<_>>(), [1, 0, 0, 1]);
    let error = connection.query(b"SELECT 1; SELECT no_such_column; SET @a = 2").unwrap_err();
    assert!(matches!(&error, Error::Server { code: 1054, state, .. } if state == "42S22"), "{error:?}");
    assert_eq!(connection.query(b"SELECT @a").unwrap()[0].rows, [[Cell::Int(1)]]);
}

#[test]
#[ignore = "needs a MySQL: PARAPLY_TEST_MYSQL"]
fn the_full_login_works_without_tls_and_with_it() {
    let options = options();
    for mode in [TlsMode::Disabled, TlsMode::Required, TlsMode::Preferred] {
        let mut connection = Connection::open(&options).unwrap();
        // FLUSH clears the server's password cache, so the next login is a full one.
        connection.query(b"FLUSH PRIVILEGES").unwrap();
        let asked = Options { tls: Tls { mode, ..Tls::default() }, ..options.clone() };
        let mut other = Connection::open(&asked).unwrap();
        let cipher = other.query(b"SHOW SESSION STATUS LIKE 'Ssl_cipher'").unwrap();
        let encrypted = cipher[0].rows[0][1] != Cell::Bytes(Vec::new());
        assert_eq!(encrypted, mode != TlsMode::Disabled);
    }
    let wrong = Options { password: Some("wrong".into()), ..options };
    assert!(matches!(Connection::open(&wrong), Err(Error::Server { code: 1045, .. })));
}

#[test]
#[ignore = "needs a MySQL: PARAPLY_TEST_MYSQL"]
fn a_statement_larger_than_a_packet_of_the_protocol_goes_over() {
    let options = options();
    let mut connection = Connection::open(&options).unwrap();
    let sql = format!("SELECT LENGTH('{}')", "x".repeat(20 << 20));
    assert_eq!(connection.query(sql.as_bytes()).unwrap()[0].rows, [[Cell::Int(20 << 20)]]);
}

#[test]
#[ignore = "needs a MySQL: PARAPLY_TEST_MYSQL"]
fn a_statement_is_interrupted_from_outside() {
    let options = options();
    let mut connection = Connection::open(&options).unwrap();
    let id = connection.connection_id();
    let started = Instant::now();
    let waiting = std::thread::spawn(move || connection.query(b"SELECT COUNT(*) FROM (SELECT SLEEP(20)) s"));
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&options, id).unwrap();
    // SLEEP itself ends with a 1 or the statement with error 1317; servers differ.
    let _ = waiting.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(10));
    interrupt(&options, u32::MAX - 1).unwrap();
}
