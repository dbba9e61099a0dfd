mod mariadb;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Instant;

use paraply_binlog::error::Fault;
use paraply_binlog::event::gtid_event::GtidEvent;
use paraply_binlog::event::{checksum, types};
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::write::encode::{Head, statement};
use paraply_binlog::write::relay::{Head as EventHead, compose_event, mysql_format};
use paraply_binlog::write::restamp::Stamps;
use proptest::prelude::*;

use super::*;
use crate::connection::{Connection, Error, Options as ClientOptions, Tls, TlsMode};
use crate::replica::{ReplicaConnection, SourceEvents as _};

const UUID: &str = "11111111-1111-1111-1111-111111111111";

/// A folder that is removed at the end.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("paraply-serve-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Returns the start of a log.
pub(super) fn log_head() -> Vec<u8> {
    let mut log = b"\xfebin".to_vec();
    log.extend(mysql_format("9.7.0", 1, 0).unwrap());
    let offset = Some(log.len() as u64);
    let head = EventHead { type_code: types::PREVIOUS_GTIDS, flags: 0, timestamp: 0, server_id: 1, offset };
    compose_event(&mut log, head, &[0; 8], true);
    log
}

/// Appends a transaction with one statement.
pub(super) fn append(log: &mut Vec<u8>, number: u64) {
    let gtid = format!("{UUID}:{number}").parse().unwrap();
    let number = number as i64;
    let head =
        Head { gtid, last_committed: number - 1, sequence_number: number, server_id: 1, session: 1, committed_at: 0 };
    for mut event in statement(&head, "t", "CREATE TABLE t.a (id INT PRIMARY KEY)").unwrap() {
        let size = event.len() as u32 + 4;
        let end = log.len() as u32 + size;
        event[9..13].copy_from_slice(&size.to_le_bytes());
        event[13..17].copy_from_slice(&end.to_le_bytes());
        let sum = checksum::of_format(&event);
        log.extend(&event);
        log.extend(sum.to_le_bytes());
    }
}

pub(super) fn write_log(path: &Path, transactions: u64) -> Vec<u8> {
    let mut log = log_head();
    (1..=transactions).for_each(|number| append(&mut log, number));
    fs::write(path, &log).unwrap();
    log
}

fn start(folder: &Folder, limits: Limits) -> Server {
    start_with(folder, limits, false)
}

fn start_with(folder: &Folder, limits: Limits, stamped: bool) -> Server {
    let path = folder.0.join("binlog.000001");
    write_log(&path, 3);
    let options = Options {
        logs: vec![path],
        follow: true,
        stamped,
        records_replicas: false,
        stream: None,
        identity: Identity { server_id: 4242, server_uuid: "22222222-2222-2222-2222-222222222222".to_owned() },
        account: Account { user: "repl".to_owned(), password: "secret".to_owned() },
        tls: None,
        limits,
    };
    Server::start(TcpListener::bind("127.0.0.1:0").unwrap(), options).unwrap()
}

fn client(server: &Server, password: &str) -> ClientOptions {
    ClientOptions {
        host: "127.0.0.1".to_owned(),
        port: server.address().port(),
        user: "repl".to_owned(),
        password: Some(password.to_owned()),
        database: None,
        socket: None,
        tls: Tls { mode: TlsMode::Disabled, ..Tls::default() },
        connect_timeout: Duration::from_secs(5),
        read_timeout: Some(Duration::from_secs(5)),
        found_rows: false,
    }
}

fn wait_for(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(5));
    }
}

/// Asks for the log from this position without waiting for more; returns the packets after the login.
fn dumped(server: &Server, file: &str, position: u32) -> Vec<Vec<u8>> {
    use mysql_common::packets::binlog_request::BinlogRequest;

    let mut connection = ReplicaConnection::open(&client(server, "secret")).unwrap();
    connection.execute("SET @source_binlog_checksum = 'NONE'").unwrap();
    let request = BinlogRequest::new(0).with_filename(file.as_bytes()).with_pos(position);
    let identity = crate::replica::Identity { server_id: 7, host: String::new(), port: 0 };
    let mut stream = connection.dump(&identity, &request, false).unwrap();
    let mut events = Vec::new();
    while let Some(arrived) = stream.next().unwrap() {
        events.push(arrived.event.to_vec());
    }
    events
}

#[test]
fn a_log_is_sent_as_it_is_after_a_made_up_rotate_event() {
    let folder = Folder::new("whole");
    let mut server = start(&folder, Limits::default());
    let log = fs::read(folder.0.join("binlog.000001")).unwrap();
    let events = dumped(&server, "binlog.000001", 4);
    assert_eq!(events[0][4], types::ROTATE);
    assert!(events[0].ends_with(b"binlog.000001"));
    assert_eq!(events[1..].concat(), log[4..]);
    assert_eq!(dumped(&server, "", 4), events);
    server.stop();
}

#[test]
fn r37_a_transaction_is_sent_once_it_has_new_numbers_and_with_these() {
    let folder = Folder::new("stamped");
    let mut server = start_with(&folder, Limits::default(), true);
    let mut numbering = server.numbering(None);
    let mut reader = LogReader::follow(server.published_log(), ReaderOptions::default());
    assert_eq!(server.log().end, 0);
    for sequence_number in 10..13 {
        let transaction = reader.next_transaction().unwrap().unwrap();
        let name = Arc::clone(&reader.files()[transaction.file as usize].name);
        assert_eq!(numbering.advance(&name, transaction.offset).unwrap(), sequence_number == 10);
        numbering.put(&transaction, Stamps { last_committed: 9, sequence_number }).unwrap();
    }
    assert!(reader.next_transaction().is_none() && !reader.is_over());
    numbering.publish().unwrap();
    let log = fs::read(folder.0.join("binlog.000001")).unwrap();
    assert_eq!(server.log().end, log.len() as u64);
    let events = dumped(&server, "binlog.000001", 4);
    let numbers: Vec<_> = events
        .iter()
        .filter(|event| event[4] == types::GTID)
        .map(|event| GtidEvent::parse(types::GTID, &event[19..event.len() - 4]).unwrap().sequence_number)
        .collect();
    assert_eq!(numbers, [Some(10), Some(11), Some(12)]);
    assert_eq!(events[1..].concat().len() + 4, log.len());
    let begun = numbering.take_begun();
    assert_eq!((begun.len(), begun[0].number, &begun[0].source_file), (1, 0, &None));
    server.stop();
    assert!(reader.is_over());
}

#[test]
fn r37_what_cannot_get_numbers_ends_the_log_for_replicas() {
    let folder = Folder::new("unnumbered");
    let mut server = start_with(&folder, Limits::default(), true);
    let mut numbering = server.numbering(None);
    let path = folder.0.join("binlog.000001").display().to_string();
    // Another transaction begins before this offset.
    assert!(numbering.advance(&path, fs::metadata(&path).unwrap().len()).is_err());
    assert!(server.log().failure.is_none());
    numbering.end(Some(Fault::not_understood("no numbers").at(&path, 4)));
    assert!(server.log().failure.unwrap().to_string().contains("no numbers"));
    server.stop();
}

#[test]
fn a_torn_transaction_is_not_sent_before_its_end() {
    let folder = Folder::new("torn");
    let mut server = start(&folder, Limits::default());
    let path = folder.0.join("binlog.000001");
    let mut log = fs::read(&path).unwrap();
    let whole = log.len();
    append(&mut log, 4);
    for end in (whole..log.len()).step_by(7) {
        fs::write(&path, &log[..end]).unwrap();
        thread::sleep(Duration::from_millis(15));
        assert_eq!(server.log().end, whole as u64, "{end}");
    }
    fs::write(&path, &log).unwrap();
    wait_for(|| server.log().end == log.len() as u64);
    assert_eq!(dumped(&server, "binlog.000001", 4)[1..].concat(), log[4..]);
    server.stop();
}

#[test]
fn damage_ends_the_log_and_what_was_before_it_is_sent() {
    let folder = Folder::new("damaged");
    let mut server = start(&folder, Limits::default());
    let path = folder.0.join("binlog.000001");
    let mut log = fs::read(&path).unwrap();
    let whole = log.len();
    append(&mut log, 4);
    let last = log.len() - 6;
    log[last] ^= 1;
    fs::write(&path, &log).unwrap();
    wait_for(|| server.log().failure.is_some());
    assert_eq!(server.log().end, whole as u64);
    assert_eq!(server.take_notices().last().unwrap().kind, "failed");
    server.stop();
}

#[test]
fn the_next_file_of_a_folder_is_served_too() {
    let folder = Folder::new("next");
    let mut server = start(&folder, Limits::default());
    let mut log = log_head();
    append(&mut log, 4);
    fs::write(folder.0.join("binlog.000002"), &log).unwrap();
    wait_for(|| server.log().files.len() == 2 && server.log().end == log.len() as u64);
    let events = dumped(&server, "binlog.000001", 4);
    assert_eq!(events.iter().filter(|event| event[4] == types::GTID).count(), 4);
    server.stop();
}

#[test]
fn a_wrong_password_is_refused_and_queries_get_a_sources_answers() {
    let folder = Folder::new("login");
    let mut server = start(&folder, Limits::default());
    let refused = Connection::open(&client(&server, "wrong")).map(drop);
    assert!(matches!(refused, Err(Error::Server { code: 1045, .. })), "{refused:?}");
    let mut connection = Connection::open(&client(&server, "secret")).unwrap();
    assert_eq!(connection.server_version(), "9.7.0");
    for (query, answer) in [("SELECT @@GLOBAL.SERVER_ID", "4242"), ("SELECT @@GLOBAL.GTID_MODE", "ON")] {
        let sets = connection.query(query.as_bytes()).unwrap();
        assert_eq!(sets[0].rows, [[crate::connection::Cell::Bytes(answer.as_bytes().to_vec())]]);
    }
    let unknown = connection.query(b"SELECT @@global.rpl_semi_sync_source_enabled");
    assert!(matches!(unknown, Err(Error::Server { code: 1193, .. })));
    server.stop();
}

#[test]
fn a_silent_stranger_is_dropped_and_strangers_are_few() {
    let folder = Folder::new("strangers");
    let limits = Limits { strangers: 2, patience: Duration::from_millis(300), ..Limits::default() };
    let mut server = start(&folder, limits);
    let mut silent: Vec<_> = (0..2).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    wait_for(|| server.totals().connections == 2);
    let mut third = Vec::new();
    TcpStream::connect(server.address()).unwrap().read_to_end(&mut third).unwrap();
    assert!(String::from_utf8_lossy(&third).ends_with("Too many connections"));
    // A byte now and then does not prolong the time for a login.
    let began = Instant::now();
    let mut greeting = [0; 4096];
    while silent[0].read(&mut greeting).is_ok_and(|count| count > 0) && began.elapsed() < Duration::from_secs(5) {
        drop(silent[0].write_all(&[1]));
    }
    assert!(began.elapsed() < Duration::from_secs(2));
    wait_for(|| server.totals().refused == 3);
    assert!(Connection::open(&client(&server, "secret")).is_ok());
    server.stop();
}

#[test]
fn garbage_before_the_login_ends_that_connection_only() {
    let folder = Folder::new("garbage");
    let limits = Limits { patience: Duration::from_millis(200), ..Limits::default() };
    let mut server = start(&folder, limits);
    let address = server.address();
    proptest!(ProptestConfig::with_cases(60), |(garbage in proptest::collection::vec(any::<u8>(), 0..200), framed: bool)| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        if framed {
            stream.write_all(&[garbage.len() as u8, 0, 0, 1]).unwrap();
        }
        drop(stream.write_all(&garbage));
        drop(stream.shutdown(std::net::Shutdown::Write));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        prop_assert!(answer.len() < 1000);
    });
    assert_eq!(server.totals().dumps, 0);
    assert!(Connection::open(&client(&server, "secret")).is_ok());
    server.stop();
}
