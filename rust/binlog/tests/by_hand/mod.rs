//! Logs built by hand, event by event, and short ways of reading them.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::Cursor;

use paraply_binlog::error::LogError;
use paraply_binlog::read::reader::{LogReader, ReaderOptions};
use paraply_binlog::transaction::Transaction;
use paraply_core::schema::{Catalog, Column, KeyPart, Table, TableName, UniqueKey};

pub const QUERY: u8 = 2;
pub const STOP: u8 = 3;
pub const ROTATE: u8 = 4;
pub const FORMAT: u8 = 15;
pub const XID: u8 = 16;
pub const TABLE_MAP: u8 = 19;
pub const WRITE_ROWS: u8 = 30;
pub const GTID: u8 = 33;
pub const ANONYMOUS: u8 = 34;

pub const RELAY_FLAG: u16 = 0x40;

/// A log that grows at its end; positions and checksums are right unless asked otherwise.
#[derive(Clone)]
pub struct Log {
    pub bytes: Vec<u8>,
    pub checksums: bool,
    /// The server's version in the format description.
    pub version: &'static str,
    /// True for a relay log: the events keep the positions of the source's log.
    pub relay: bool,
}

impl Log {
    /// Creates a binlog of MySQL 8.0 with its format description.
    pub fn new(checksums: bool) -> Self {
        Self::starting_with(checksums, 0)
    }

    /// Creates a relay log: the receiver's own format description, then the source's.
    pub fn relay(checksums: bool) -> Self {
        let mut log = Self::starting_with(checksums, RELAY_FLAG);
        log.relay = true;
        log.format(0x20)
    }

    fn starting_with(checksums: bool, flags: u16) -> Self {
        let bytes = vec![0xfe, b'b', b'i', b'n'];
        Self { bytes, checksums, relay: false, version: "8.0.36" }.format(flags)
    }

    /// Creates a log of another server; MariaDB describes more types of events.
    pub fn of(version: &'static str, checksums: bool) -> Self {
        Self { bytes: vec![0xfe, b'b', b'i', b'n'], checksums, relay: false, version }.format(0)
    }

    /// Appends a format description event.
    pub fn format(mut self, flags: u16) -> Self {
        let mut body = 4_u16.to_le_bytes().to_vec();
        let mut version = self.version.as_bytes().to_vec();
        version.resize(50, 0);
        body.extend(version);
        body.extend(1_700_000_000_u32.to_le_bytes());
        body.push(19);
        let mut lengths = vec![0_u8; 41];
        for (code, length) in
            [(2, 13), (4, 8), (15, 98), (19, 8), (23, 8), (24, 8), (25, 8), (30, 10), (31, 10), (32, 10)]
        {
            lengths[code - 1] = length;
        }
        if self.version.contains("MariaDB") {
            lengths.resize(172, 0);
            lengths[171] = 9;
        }
        body.extend(lengths);
        if self.version.starts_with("5.1") {
            return self.event(FORMAT, flags, &body);
        }
        body.push(u8::from(self.checksums));
        let checksums = std::mem::replace(&mut self.checksums, true);
        self = self.event(FORMAT, flags, &body);
        self.checksums = checksums;
        self
    }

    /// Appends any event.
    pub fn event(mut self, type_code: u8, flags: u16, body: &[u8]) -> Self {
        let size = 19 + body.len() + if self.checksums { 4 } else { 0 };
        let end = if self.relay { 0 } else { self.bytes.len() + size };
        let mut event = 1_700_000_001_u32.to_le_bytes().to_vec();
        event.push(type_code);
        event.extend(7_u32.to_le_bytes());
        event.extend((size as u32).to_le_bytes());
        event.extend((end as u32).to_le_bytes());
        event.extend(flags.to_le_bytes());
        event.extend(body);
        if self.checksums {
            event.extend(crc32fast::hash(&event).to_le_bytes());
        }
        self.bytes.extend(event);
        self
    }

    pub fn query(self, sql: &str) -> Self {
        self.query_with_status(sql, &[])
    }

    pub fn query_with_status(self, sql: &str, status: &[u8]) -> Self {
        let mut body = 42_u32.to_le_bytes().to_vec();
        body.extend([0; 4]);
        body.push(1);
        body.extend([0; 2]);
        body.extend((status.len() as u16).to_le_bytes());
        body.extend(status);
        body.extend(b"d\0");
        body.extend(sql.as_bytes());
        self.event(QUERY, 0, &body)
    }

    /// Appends a GTID event as MySQL 8.0 writes it, stamped `(number - 1, number)`.
    pub fn gtid(self, number: u64) -> Self {
        self.gtid_event(GTID, number)
    }

    /// Appends MariaDB's GTID event of a transaction with an end event.
    pub fn mariadb_gtid(self, number: u64) -> Self {
        let body = [&number.to_le_bytes()[..], &0_u32.to_le_bytes(), &[0; 7]].concat();
        self.event(162, 0, &body)
    }

    /// Returns the bytes of the last event, without a checksum.
    pub fn last_event(&self) -> Vec<u8> {
        let (mut at, mut last) = (4, 4);
        while at < self.bytes.len() {
            last = at;
            at += u32::from_le_bytes(self.bytes[at + 9..at + 13].try_into().expect("four bytes")) as usize;
        }
        let end = self.bytes.len() - if self.checksums { 4 } else { 0 };
        self.bytes[last..end].to_vec()
    }

    pub fn anonymous(self) -> Self {
        self.gtid_event(ANONYMOUS, 0)
    }

    fn gtid_event(self, type_code: u8, number: u64) -> Self {
        let mut body = vec![1];
        body.extend([0xaa; 16]);
        body.extend(number.to_le_bytes());
        body.push(2);
        body.extend(number.wrapping_sub(1).to_le_bytes());
        body.extend(number.to_le_bytes());
        let immediate = (1_700_000_001_000_007_u64 + (1 << 55)).to_le_bytes();
        body.extend(&immediate[..7]);
        body.extend(&1_700_000_001_000_003_u64.to_le_bytes()[..7]);
        self.event(type_code, 0, &body)
    }

    pub fn xid(self) -> Self {
        self.event(XID, 0, &99_u64.to_le_bytes())
    }

    /// Appends a table map and an insert; `flags` are in the row event's own header.
    pub fn rows(self, flags: u16) -> Self {
        self.table_map(5, b't').insert(5, flags | 1)
    }

    /// Appends a table map of a table in database `d` with one integer.
    pub fn table_map(self, id: u8, table: u8) -> Self {
        let map = [id, 0, 0, 0, 0, 0, 1, 0, 1, b'd', 0, 1, table, 0, 1, 3, 0, 0];
        self.event(TABLE_MAP, 0, &map)
    }

    /// Appends an insert of one row; the event has exactly these flags.
    pub fn insert(self, id: u8, flags: u16) -> Self {
        self.insert_of(id, flags, 9)
    }

    /// Appends an insert of one row with this value.
    pub fn insert_of(self, id: u8, flags: u16, value: u8) -> Self {
        let mut rows = vec![id, 0, 0, 0, 0, 0];
        rows.extend(flags.to_le_bytes());
        rows.extend([2, 0, 1, 0xff, 0, value, 0, 0, 0]);
        self.event(WRITE_ROWS, 0, &rows)
    }

    /// Appends a whole transaction with one insert.
    pub fn transaction(self, number: u64) -> Self {
        self.gtid(number).query("BEGIN").rows(0).xid()
    }

    pub fn rotate(self, name: &str) -> Self {
        let mut body = 4_u64.to_le_bytes().to_vec();
        body.extend(name.as_bytes());
        self.event(ROTATE, 0, &body)
    }

    pub fn read(&self) -> (Vec<Transaction>, Option<LogError>) {
        read(vec![("log".to_owned(), self.bytes.clone())])
    }
}

/// Reads logs from memory up to their end or the first error; calls that a broken reader would repeat forever end.
pub fn read(logs: Vec<(String, Vec<u8>)>) -> (Vec<Transaction>, Option<LogError>) {
    let sources = logs.into_iter().map(|(name, bytes)| (name, Box::new(Cursor::new(bytes)) as _)).collect();
    collect(LogReader::from_sources(sources, ReaderOptions { max_transaction_bytes: 1 << 24, ..Default::default() }))
}

pub fn collect(mut reader: LogReader) -> (Vec<Transaction>, Option<LogError>) {
    let mut transactions = Vec::new();
    while let Some(next) = reader.next_transaction() {
        match next {
            Ok(transaction) => transactions.push(transaction),
            Err(error) => {
                assert!(reader.next_transaction().is_none(), "nothing is read behind an error");
                assert!(reader.next_batch(9, 9).is_err(), "a batch repeats the error");
                return (transactions, Some(error));
            }
        }
    }
    (transactions, None)
}

/// Returns the table `d.<name>(id INT NOT NULL PRIMARY KEY)`, or without the key.
pub fn id_table(name: &str, keyed: bool) -> Table {
    let id = Column {
        name: "id".to_owned(),
        data_type: "int".to_owned(),
        unsigned: false,
        nullable: false,
        collation: None,
        labels: Vec::new(),
        length: None,
        decimals: None,
        generated: None,
    };
    let primary = UniqueKey { name: "PRIMARY".to_owned(), parts: vec![KeyPart::Column(0)] };
    Table {
        name: TableName::new("d", name),
        columns: vec![id],
        unique_keys: if keyed { vec![primary] } else { Vec::new() },
        foreign_keys: Vec::new(),
    }
}

pub fn catalog(tables: &[Table]) -> Catalog {
    let mut catalog = Catalog::default();
    for table in tables {
        catalog.put(table.clone());
    }
    catalog
}
