//! A replica of MariaDB: what its receiver asks before it reads, in 10.5, 10.11 and 11.8 alike, and what it gets.

use paraply_binlog::write::dump::Dump;
use paraply_core::gtid::GtidSet;

use super::*;
use crate::connection::Cell;
use crate::replica::Identity as ReplicaIdentity;

/// Queries and answers of a receiver, in its order; none for those without rows.
const HANDSHAKE: [(&str, Option<&str>); 9] = [
    ("SHOW VARIABLES LIKE 'SERVER_ID'", Some("4242")),
    ("SET @master_heartbeat_period= 5000000000", None),
    ("SET @master_binlog_checksum= @@global.binlog_checksum", None),
    ("SELECT @master_binlog_checksum", Some("CRC32")),
    ("SET @mariadb_slave_capability=4", None),
    ("SELECT @@GLOBAL.gtid_domain_id", Some("0")),
    ("SET @slave_connect_state='0-1-5,3-2-9'", None),
    ("SET @slave_gtid_strict_mode=0", None),
    ("SET @slave_gtid_ignore_duplicates=0", None),
];

/// Transactions that only refuse, with the position for which they were asked.
struct Refusing;

impl Transactions for Refusing {
    fn begin(&self, received: &GtidSet, packet: u8) -> Box<dyn Packets> {
        let mut packets = Vec::new();
        Dump::new(4242, 7, packet).refusal(&mut packets, &format!("asked after {received}"));
        Box::new(Once(Some(packets)))
    }
}

struct Once(Option<Vec<u8>>);

impl Packets for Once {
    fn next(&mut self) -> Option<Vec<u8>> {
        self.0.take()
    }
}

fn start_stream(version: &str) -> Server {
    let options = Options {
        logs: Vec::new(),
        follow: false,
        stamped: false,
        records_replicas: false,
        stream: Some(Stream { version: version.to_owned(), transactions: Arc::new(Refusing) }),
        identity: Identity { server_id: 4242, server_uuid: UUID.to_owned() },
        account: Account { user: "repl".to_owned(), password: "secret".to_owned() },
        tls: None,
        limits: Limits::default(),
    };
    Server::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap()
}

/// Asks by file and position, as a receiver of MariaDB does in either mode; returns the error that ends the dump.
fn refusal(server: &Server, statements: &[&str]) -> String {
    use mysql_common::packets::binlog_request::BinlogRequest;

    let mut connection = ReplicaConnection::open(&client(server, "secret")).unwrap();
    for statement in statements {
        connection.execute(statement).unwrap();
    }
    let identity = ReplicaIdentity { server_id: 7, host: String::new(), port: 0 };
    let asked = connection.dump(&identity, &BinlogRequest::new(7).with_pos(4_u32), false);
    match asked.and_then(|mut stream| stream.next().map(|event| format!("{}", event.is_some()))) {
        Ok(end) => end,
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_receiver_of_mariadb_gets_the_answers_that_it_needs() {
    let mut server = start_stream("10.11.6-MariaDB-log");
    let mut connection = Connection::open(&client(&server, "secret")).unwrap();
    assert!(connection.server_version().ends_with("10.11.6-MariaDB-log"), "{}", connection.server_version());
    for (query, expected) in HANDSHAKE {
        let sets = connection.query(query.as_bytes()).unwrap();
        let answer = sets.first().and_then(|set| set.rows.first()).and_then(|row| row.last().cloned());
        assert_eq!(answer, expected.map(|text| Cell::Bytes(text.as_bytes().to_vec())), "{query}");
    }
    assert!(connection.query(b"SET @slave_connect_state='0-1'").is_err());
    server.stop();
}

#[test]
fn its_position_is_what_it_has() {
    let mut server = start_stream("10.11.6-MariaDB-log");
    let statements: Vec<&str> =
        HANDSHAKE.iter().map(|(query, _)| *query).filter(|query| query.starts_with("SET")).collect();
    let told = refusal(&server, &statements);
    assert!(told.contains("asked after 0-1-5,3-2-9"), "{told}");
    assert!(refusal(&server, &["SET @slave_connect_state=''"]).contains("asked after "));
    let told = refusal(&server, &[]);
    assert!(told.contains("by GTIDs only"), "{told}");
    server.stop();
}

#[test]
fn a_source_of_mysql_takes_no_position_of_mariadb() {
    let mut server = start_stream("9.7.0");
    let told = refusal(&server, &["SET @slave_connect_state='0-1-5'"]);
    assert!(told.contains("by GTIDs only"), "{told}");
    server.stop();
}
