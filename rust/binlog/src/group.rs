//! Groups of events become transactions: where one begins, what belongs to it, and where it ends.

use std::sync::Arc;

use paraply_core::gtid::{Gtid, GtidSet};

use crate::cursor::Cursor;
use crate::error::{Fault, LogError};
use crate::event::{Event, flags, types};
use crate::gtid_event::{self, GtidEvent};
use crate::mariadb::{self, MariadbGtid};
use crate::payload::Payload;
use crate::query::QueryEvent;
use crate::refusal;
use crate::start::Group;
use crate::text::TextKind;
use crate::transaction::{Identity, Kind, RawEvent, Transaction};
use crate::transaction_context;

/// The flag in a row event's own header.
const NO_FOREIGN_KEY_CHECKS: u16 = 2;
/// Where an event's size stands in its header.
const SIZE_OFFSET: usize = 9;
const TYPE_OFFSET: usize = 4;

/// Puts events together to transactions.
#[derive(Debug)]
pub struct Assembler {
    open: Option<Group>,
    /// What a context of certification says of the transaction behind it.
    snapshot: Option<Arc<GtidSet>>,
    most_bytes: u64,
    keeps_rows: bool,
}

type Done = Result<Option<Transaction>, LogError>;

impl Assembler {
    /// Transactions of more than `most_bytes` bytes (uncompressed) are refused.
    pub fn new(most_bytes: u64) -> Self {
        Self { open: None, snapshot: None, most_bytes, keeps_rows: true }
    }

    /// Transactions without their row events: one empty event stands for however many there are.
    ///
    /// Compressed row events of MariaDB are not unpacked, so their compressed size counts.
    pub fn without_rows(most_bytes: u64) -> Self {
        Self { keeps_rows: false, ..Self::new(most_bytes) }
    }

    /// Whether a transaction has begun and not yet ended.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The GTID of the transaction that has begun and not yet ended.
    pub fn open_gtid(&self) -> Option<&Gtid> {
        match &self.open.as_ref()?.transaction.identity {
            Identity::Gtid(gtid) => Some(gtid),
            Identity::Anonymous => None,
        }
    }

    /// A file has ended. Only a relay log's transaction may be left open, if the next file can bring it again.
    pub fn end_of_file(&mut self, relay_log: bool, more_files: bool) -> Result<(), LogError> {
        let Some(group) = &mut self.open else { return Ok(()) };
        if relay_log && more_files && group.transaction.identity != Identity::Anonymous {
            group.interrupted = true;
            return Ok(());
        }
        Err(group.unfinished("the file ends before it"))
    }

    /// Takes an event in; gives the transaction that it ends.
    pub fn accept(&mut self, event: &Event<'_>, name: &Arc<str>, file: u32) -> Done {
        self.take(event, name, file).map_err(|failure| match failure {
            Failure::Fault(fault) => fault.at(name, event.offset),
            Failure::Error(error) => *error,
        })
    }

    fn take(&mut self, event: &Event<'_>, name: &Arc<str>, file: u32) -> Result<Option<Transaction>, Failure> {
        match event.header.type_code {
            types::GTID | types::ANONYMOUS_GTID | types::GTID_TAGGED => {
                let gtid = GtidEvent::parse(event.header.type_code, event.body())?;
                self.begin(Group::of_mysql(event, gtid, name, file))?;
            }
            types::MARIADB_GTID if event.format.mariadb => {
                let gtid = MariadbGtid::parse(event.body(), event.header.server_id)?;
                self.begin(Group::of_mariadb(event, gtid, name, file)?)?;
            }
            types::QUERY => return self.query(event, name, file),
            types::MARIADB_QUERY_COMPRESSED if event.format.mariadb => return self.query(event, name, file),
            types::XID => return self.end(event, Kind::Dml),
            types::XA_PREPARE => return self.xa_prepare(event),
            types::TRANSACTION_PAYLOAD => return self.payload(event, name, file),
            types::TABLE_MAP
            | types::WRITE_ROWS_V1..=types::DELETE_ROWS_V1
            | types::WRITE_ROWS..=types::DELETE_ROWS
            | types::PARTIAL_UPDATE_ROWS => self.row_event(event, None)?,
            types::VIEW_CHANGE => self.open_group(event)?.view_change = true,
            types::FORMAT_DESCRIPTION | types::ROTATE | types::STOP => self.interruption(event)?,
            types::PREVIOUS_GTIDS | types::HEARTBEAT | types::HEARTBEAT_V2 | types::IGNORABLE | types::ROWS_QUERY => {}
            types::TRANSACTION_CONTEXT => self.snapshot = transaction_context::snapshot(event.body()).map(Arc::new),
            types::MARIADB_ANNOTATE_ROWS | types::MARIADB_BINLOG_CHECKPOINT | types::MARIADB_GTID_LIST
                if event.format.mariadb => {}
            other => match mariadb::plain_rows_type(other).filter(|_| event.format.mariadb) {
                Some(plain) => self.row_event(event, Some(plain))?,
                None if event.header.has(flags::IGNORABLE) => {}
                None => return Err(refusal::event_type(other).into()),
            },
        }
        Ok(None)
    }

    /// Opens a group. One that is open already may only be sent again, by a receiver that was interrupted.
    fn begin(&mut self, mut group: Group) -> Result<(), Failure> {
        group.transaction.snapshot = self.snapshot.take();
        if let Some(open) = &self.open {
            let again = open.interrupted
                && open.transaction.identity != Identity::Anonymous
                && open.transaction.identity == group.transaction.identity;
            if !again {
                return Err(open.unfinished("another transaction begins before it").into());
            }
        }
        self.open = Some(group);
        Ok(())
    }

    fn open_group(&mut self, event: &Event<'_>) -> Result<&mut Group, Fault> {
        let code = event.header.type_code;
        let outside = || Fault::damaged(format!("an event of type {code} stands outside of a transaction"));
        self.open.as_mut().filter(|group| group.begun).ok_or_else(outside)
    }

    /// The receiver of a relay log writes these between any two events; in a binlog they end transactions for good.
    fn interruption(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        match &mut self.open {
            Some(group) if event.relay_log => group.interrupted = true,
            Some(group) => return Err(group.unfinished("the server began anew before it").into()),
            None => {}
        }
        Ok(())
    }

    fn row_event(&mut self, event: &Event<'_>, plain_type: Option<u8>) -> Result<(), Fault> {
        let (most_bytes, keeps_rows) = (self.most_bytes, self.keeps_rows);
        let group = self.open_group(event)?;
        let transaction = &mut group.transaction;
        if event.header.type_code != types::TABLE_MAP {
            transaction.no_foreign_key_checks |= row_flags(event)? & NO_FOREIGN_KEY_CHECKS != 0;
        }
        let type_code = plain_type.unwrap_or(event.header.type_code);
        let start = transaction.data.len();
        match plain_type {
            _ if !keeps_rows => {}
            Some(plain) => mariadb::append_plain_rows(event.bytes, plain, event.format, &mut transaction.data)?,
            None => transaction.data.extend_from_slice(event.bytes),
        }
        let range = start..transaction.data.len();
        group.row_bytes += if keeps_rows { range.len() } else { event.bytes.len() } as u64;
        if group.row_bytes > most_bytes {
            return Err(Fault::not_understood(format!(
                "its transaction has more than {most_bytes} bytes of row events; raise the limit, or apply it with mysqlbinlog"
            )));
        }
        if !keeps_rows && !transaction.events.is_empty() {
            return Ok(());
        }
        correct_header(transaction.data.get_mut(range.clone()).unwrap_or_default(), type_code);
        transaction.events.push(RawEvent { type_code, range, offset: event.offset });
        Ok(())
    }

    fn query(&mut self, event: &Event<'_>, name: &Arc<str>, file: u32) -> Result<Option<Transaction>, Failure> {
        let query = QueryEvent::parse(event.header.type_code, event.body(), event.format)?;
        let kind = query.kind()?;
        if kind == TextKind::Nothing {
            return Ok(None);
        }
        let group = self.open.get_or_insert_with(|| Group::without_gtid(event, name, file));
        group.transaction.session.get_or_insert(query.thread_id);
        match kind {
            TextKind::Begin | TextKind::XaStart if group.begun => {
                return Err(group.unfinished("another transaction begins before it").into());
            }
            TextKind::Begin => group.begun = true,
            TextKind::XaStart => (group.begun, group.xa) = (true, true),
            TextKind::Commit => return self.end(event, Kind::Dml),
            TextKind::Rollback => return self.roll_back(event),
            TextKind::RollbackTo if !group.transaction.events.is_empty() => return Err(refusal::rolled_back().into()),
            TextKind::XaFinish(_) if group.xa || !group.transaction.events.is_empty() => {
                return Err(refusal::rolled_back().into());
            }
            TextKind::XaFinish(xid) => {
                group.transaction.xid = Some(xid);
                group.transaction.statements.push(query.statement(event.header.timestamp, event.offset)?);
                group.begun = true;
                return self.end(event, Kind::XaEnd);
            }
            TextKind::DropTemporary if !group.begun => {
                group.begun = true;
                return self.end(event, Kind::Empty);
            }
            TextKind::Savepoint | TextKind::RollbackTo | TextKind::XaEnd | TextKind::DropTemporary => {
                self.open_group(event)?;
            }
            TextKind::Nothing => {}
            TextKind::Ddl { opens_transaction } => return self.ddl(event, &query, opens_transaction),
            TextKind::Refused(word) => return Err(refusal::statement(&word).into()),
        }
        Ok(None)
    }

    fn ddl(
        &mut self,
        event: &Event<'_>,
        query: &QueryEvent<'_>,
        opens_transaction: bool,
    ) -> Result<Option<Transaction>, Failure> {
        let Some(group) = &mut self.open else { return Ok(None) };
        let unexpected = group.xa || !group.transaction.events.is_empty() || !group.transaction.statements.is_empty();
        if unexpected {
            return Err(refusal::statement_inside().into());
        }
        if !group.unfinished_alter {
            group.transaction.statements.push(query.statement(event.header.timestamp, event.offset)?);
        }
        if group.begun && !group.standalone {
            return Ok(None);
        }
        group.begun = true;
        if opens_transaction { Ok(None) } else { self.end(event, Kind::Ddl) }
    }

    fn roll_back(&mut self, event: &Event<'_>) -> Result<Option<Transaction>, Failure> {
        let changes = self
            .open
            .as_ref()
            .is_some_and(|group| !group.transaction.events.is_empty() || !group.transaction.statements.is_empty());
        if changes {
            return Err(refusal::rolled_back().into());
        }
        self.end(event, Kind::Empty)
    }

    fn xa_prepare(&mut self, event: &Event<'_>) -> Result<Option<Transaction>, Failure> {
        let (one_phase, xid) = gtid_event::xa_prepare(event.body())?;
        let group = self.open_group(event)?;
        if one_phase {
            return self.end(event, Kind::Dml);
        }
        group.transaction.xid = Some(xid);
        self.end(event, Kind::XaPrepare)
    }

    /// Takes in the events of a payload; their offset is that of the payload event.
    fn payload(&mut self, event: &Event<'_>, name: &Arc<str>, file: u32) -> Result<Option<Transaction>, Failure> {
        let payload = Payload::parse(event.body())?;
        let mut events = payload.events(name, event)?;
        let mut done = None;
        while let Some(inner) = events.next_event().map_err(|error| inside_payload(error, event))? {
            if inner.header.type_code == types::TRANSACTION_PAYLOAD || done.is_some() {
                return Err(Fault::damaged("a compressed transaction does not end with its commit").into());
            }
            let placed = Event { offset: event.offset, end_offset: event.end_offset, ..inner };
            done = self.take(&placed, name, file)?;
        }
        let size = events.offset();
        if payload.uncompressed_size.is_some_and(|said| said != size) {
            return Err(Fault::damaged("a compressed transaction does not have the size that it says").into());
        }
        if done.is_none() {
            return Err(Fault::damaged("a compressed transaction has no commit").into());
        }
        Ok(done)
    }

    /// Closes the group; `kind` says what its last event makes of it.
    fn end(&mut self, event: &Event<'_>, kind: Kind) -> Result<Option<Transaction>, Failure> {
        self.open_group(event)?;
        let Some(group) = self.open.take() else { return Ok(None) };
        let mut transaction = group.transaction;
        if group.xa && kind != Kind::XaPrepare && event.header.type_code != types::XA_PREPARE {
            return Err(Fault::damaged("an XA transaction ends with an ordinary commit").into());
        }
        let empty = transaction.events.is_empty();
        transaction.kind = match kind {
            Kind::XaPrepare | Kind::XaEnd => kind,
            _ if group.view_change && empty => Kind::ViewChange,
            _ if !transaction.statements.is_empty() => Kind::Ddl,
            _ if empty => Kind::Empty,
            _ => Kind::Dml,
        };
        transaction.end_offset = event.end_offset;
        transaction.bytes = event.end_offset.saturating_sub(transaction.offset);
        Ok(Some(transaction))
    }
}

/// A fault of the event at hand, or an error of another place.
enum Failure {
    Fault(Fault),
    Error(Box<LogError>),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<LogError> for Failure {
    fn from(error: LogError) -> Self {
        Self::Error(Box::new(error))
    }
}

/// The flags behind a row event's table number.
fn row_flags(event: &Event<'_>) -> Result<u16, Fault> {
    let old = event.format.post_header_length(event.header.type_code) == Some(6);
    let mut cursor = Cursor::new(event.body());
    cursor.take(if old { 4 } else { 6 })?;
    cursor.u16()
}

/// Sets what changed: the size without a checksum, and the type of an event that was compressed.
fn correct_header(event: &mut [u8], type_code: u8) {
    let size = (event.len() as u32).to_le_bytes();
    if let Some(field) = event.get_mut(SIZE_OFFSET..SIZE_OFFSET + size.len()) {
        field.copy_from_slice(&size);
    }
    if let Some(field) = event.get_mut(TYPE_OFFSET) {
        *field = type_code;
    }
}

/// An error inside a payload is one of the payload event: it was read whole.
fn inside_payload(error: LogError, event: &Event<'_>) -> Failure {
    let position = event.offset;
    let damaged = |file: String, message: String| {
        let message = format!("a compressed transaction cannot be unpacked: {message}");
        Failure::from(LogError::Damaged { file, position, message })
    };
    match error {
        LogError::Io { file, source, .. } => damaged(file, source.to_string()),
        LogError::Damaged { file, message, .. } | LogError::Truncated { file, message, .. } => damaged(file, message),
        other => other.into(),
    }
}
