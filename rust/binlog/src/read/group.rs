//! Assembly of event groups into transactions: the first event, the events that belong to it, and the last.

mod rows;
mod statement_format;

use std::borrow::Cow;
use std::sync::Arc;

use paraply_core::gtid::{Gtid, GtidSet};

use crate::error::{Fault, LogError};
use crate::event::gtid_event::{self, GtidEvent};
use crate::event::mariadb::{self, MariadbGtid};
use crate::event::query::QueryEvent;
use crate::event::refusal;
use crate::event::text::{TextKind, emptied_table};
use crate::event::transaction_context;
use crate::event::{Event, flags, types};
use crate::read::passed_over::PassedOver;
use crate::read::payload::Payload;
use crate::read::start::{Group, is_without_begin};
use crate::transaction::{Identity, Kind, RowSettings, Transaction};

/// Assembles events into transactions.
#[derive(Debug)]
pub struct Assembler {
    open: Option<Group>,
    /// Snapshot that a context of certification gives for the transaction after it.
    snapshot: Option<Arc<GtidSet>>,
    settings: LastSettings,
    most_bytes: u64,
    keeps_rows: bool,
    passed_over: PassedOver,
}

type Done = Result<Option<Transaction>, LogError>;
type Taken = Result<Option<Transaction>, Failure>;

impl Assembler {
    /// Creates an assembler that refuses transactions of more than `most_bytes` bytes (uncompressed).
    pub fn new(most_bytes: u64) -> Self {
        Self {
            open: None,
            snapshot: None,
            settings: LastSettings::default(),
            most_bytes,
            keeps_rows: true,
            passed_over: PassedOver::default(),
        }
    }

    /// Creates an assembler of transactions without their row events: one empty event replaces however many there are.
    ///
    /// Compressed row events of MariaDB are not unpacked, so their compressed size counts.
    pub fn without_rows(most_bytes: u64) -> Self {
        Self { keeps_rows: false, ..Self::new(most_bytes) }
    }

    /// Passes over changes in statement format instead of refusing them, where an apply does not need them.
    #[must_use]
    pub fn passing_over(mut self, passed_over: PassedOver) -> Self {
        self.passed_over = passed_over;
        self
    }

    /// Returns true if a transaction has begun and not yet ended.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the GTID of the transaction that has begun and not yet ended.
    pub fn open_gtid(&self) -> Option<&Gtid> {
        match &self.open.as_ref()?.transaction.identity {
            Identity::Gtid(gtid) => Some(gtid),
            Identity::Anonymous => None,
        }
    }

    /// Notes the end of a file. Only a relay log's transaction may be left open, if the next file can repeat it.
    pub fn end_of_file(&mut self, relay_log: bool, more_files: bool) -> Result<(), LogError> {
        let Some(group) = &mut self.open else { return Ok(()) };
        if relay_log && more_files && group.transaction.identity != Identity::Anonymous {
            group.interrupted = true;
            return Ok(());
        }
        if let Some(refused) = group.before_text.take() {
            return Err(*refused);
        }
        Err(group.unfinished("the file ends before it"))
    }

    /// Adds an event; returns the transaction that it ends.
    pub fn accept(&mut self, event: &Event<'_>, name: &Arc<str>, file: u32) -> Done {
        self.take(event, name, file).map_err(|failure| match failure {
            Failure::Fault(fault) => fault.at(name, event.offset),
            Failure::Error(error) => *error,
        })
    }

    fn take(&mut self, event: &Event<'_>, name: &Arc<str>, file: u32) -> Result<Option<Transaction>, Failure> {
        self.check_pieces(event)?;
        match event.header.type_code {
            types::GTID | types::ANONYMOUS_GTID | types::GTID_TAGGED => {
                let gtid = GtidEvent::parse(event.header.type_code, event.body())?;
                self.begin(Group::of_mysql(event, gtid, name, file))?;
            }
            types::MARIADB_GTID if event.format.mariadb => {
                let gtid = MariadbGtid::parse(event.body(), event.header.server_id)?;
                self.begin(Group::of_mariadb(event, gtid, name, file)?)?;
            }
            types::QUERY | types::EXECUTE_LOAD_QUERY => return self.query(event, name, file),
            types::MARIADB_QUERY_COMPRESSED if event.format.mariadb => return self.query(event, name, file),
            types::XID => return self.end(event, Kind::Dml),
            types::XA_PREPARE => return self.xa_prepare(event),
            types::TRANSACTION_PAYLOAD => return self.payload(event, name, file),
            types::TABLE_MAP
            | types::WRITE_ROWS_V1..=types::DELETE_ROWS_V1
            | types::WRITE_ROWS..=types::DELETE_ROWS
            | types::PARTIAL_UPDATE_ROWS => return self.row_event(event, None, name, file),
            types::MARIADB_PARTIAL_ROW_DATA if event.format.mariadb => self.piece(event)?,
            types::VIEW_CHANGE => self.open_group(event)?.view_change = true,
            types::FORMAT_DESCRIPTION | types::ROTATE | types::STOP => self.interruption(event)?,
            types::PREVIOUS_GTIDS | types::HEARTBEAT | types::HEARTBEAT_V2 | types::IGNORABLE | types::ROWS_QUERY => {}
            types::TRANSACTION_CONTEXT => self.snapshot = transaction_context::snapshot(event.body()).map(Arc::new),
            types::INTVAR | types::RAND | types::USER_VAR | types::BEGIN_LOAD_QUERY | types::LOAD..=types::NEW_LOAD => {
                self.before_text(event, name, file)?;
            }
            types::MARIADB_ANNOTATE_ROWS | types::MARIADB_BINLOG_CHECKPOINT | types::MARIADB_GTID_LIST
                if event.format.mariadb => {}
            other => match mariadb::plain_rows_type(other).filter(|_| event.format.mariadb) {
                Some(plain) => return self.row_event(event, Some(plain), name, file),
                None => self.unknown(event)?,
            },
        }
        Ok(None)
    }

    /// Ignores an event of unknown type, where nothing can be lost by that (rule R27).
    fn unknown(&self, event: &Event<'_>) -> Result<(), Fault> {
        let type_code = event.header.type_code;
        match &self.open {
            _ if !event.header.has(flags::IGNORABLE) => Err(refusal::event_type(type_code)),
            Some(_) if !event.is_padding() => Err(refusal::inside_transaction(type_code)),
            _ => Ok(()),
        }
    }

    /// Opens a group. A group that is open already may only be repeated, by a receiver that was interrupted.
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
        let outside = || Fault::damaged(format!("an event of type {code} is outside of a transaction"));
        self.open.as_mut().filter(|group| group.begun).ok_or_else(outside)
    }

    /// Handles events that the receiver of a relay log writes between any two events; in a binlog they end transactions
    /// for good.
    fn interruption(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        match &mut self.open {
            Some(group) if event.relay_log => group.interrupted = true,
            Some(group) => return Err(group.unfinished("the server began anew before it").into()),
            None => {}
        }
        Ok(())
    }

    fn query(&mut self, event: &Event<'_>, name: &Arc<str>, file: u32) -> Result<Option<Transaction>, Failure> {
        let mut query = QueryEvent::parse(event.header.type_code, event.body(), event.format)?;
        let mut kind = query.kind()?;
        // Where servers write BEGIN around row changes, no user's statement is outside of a transaction.
        let alone =
            self.open.as_ref().is_none_or(|group| group.standalone || !group.begun) && !is_without_begin(event.format);
        if let (true, TextKind::Refused(_), Some(truncate)) = (alone, &kind, emptied_table(&query.sql)) {
            (query.sql, kind) = (Cow::Owned(truncate), TextKind::Ddl { opens_transaction: false });
        }
        if kind == TextKind::Nothing {
            return Ok(None);
        }
        let group = self.open.get_or_insert_with(|| Group::without_gtid(event, name, file));
        group.transaction.session.get_or_insert(query.thread_id);
        if let TextKind::Refused(word) = kind {
            return self.statement_format(event, &query, &word);
        }
        if let Some(error) = group.before_text.take() {
            return Err(Failure::Error(error));
        }
        match kind {
            TextKind::Begin | TextKind::XaStart if group.begun => {
                return Err(group.unfinished("another transaction begins before it").into());
            }
            TextKind::Begin | TextKind::XaStart => {
                (group.begun, group.xa) = (true, kind == TextKind::XaStart);
                group.transaction.row_settings = Some(self.settings.of(&query)?);
            }
            TextKind::Commit => return self.end(event, Kind::Dml),
            TextKind::Rollback => return self.roll_back(event),
            TextKind::Savepoint(name) if group.begun => group.set_savepoint(&name)?,
            TextKind::RollbackTo(name) if group.begun => group.roll_back_to(&name)?,
            TextKind::XaFinish { rolls_back: true, .. } if group.xa => return self.roll_back(event),
            TextKind::XaFinish { .. } if group.xa || !group.transaction.events.is_empty() => {
                return Err(Fault::damaged("an XA transaction ends before it is prepared").into());
            }
            TextKind::XaFinish { xid, .. } => {
                group.transaction.xid = Some(xid);
                group.transaction.statements.push(query.statement(event.header.timestamp, event.offset)?);
                group.begun = true;
                return self.end(event, Kind::XaEnd);
            }
            TextKind::Temporary if !group.begun => {
                group.begun = true;
                return self.end(event, Kind::Empty);
            }
            TextKind::Savepoint(_)
            | TextKind::ReleaseSavepoint
            | TextKind::RollbackTo(_)
            | TextKind::XaEnd
            | TextKind::Temporary => {
                self.open_group(event)?;
            }
            TextKind::Nothing | TextKind::Refused(_) => {}
            TextKind::Ddl { opens_transaction } => return self.ddl(event, &query, opens_transaction),
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
        if unexpected && !self.passed_over.holds(&group.transaction) {
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
        self.open_group(event)?.roll_back()?;
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

    /// Adds the events of a payload; their offset is that of the payload event.
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
            return Err(Fault::damaged("a compressed transaction does not have the size that it states").into());
        }
        if done.is_none() {
            return Err(Fault::damaged("a compressed transaction has no commit").into());
        }
        Ok(done)
    }

    /// Closes the group; `kind` is the kind that its last event gives it.
    fn end(&mut self, event: &Event<'_>, kind: Kind) -> Result<Option<Transaction>, Failure> {
        self.open_group(event)?;
        self.check_before_text()?;
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
        transaction.filtered = group.left_out && empty && transaction.statements.is_empty();
        transaction.end_offset = event.end_offset;
        transaction.bytes = event.end_offset.saturating_sub(transaction.offset);
        Ok(Some(transaction))
    }
}

/// Settings of the last BEGIN, with their bytes: most transactions have those of the one before.
#[derive(Debug, Default)]
struct LastSettings {
    status: Vec<u8>,
    settings: Option<Arc<RowSettings>>,
}

impl LastSettings {
    fn of(&mut self, begin: &QueryEvent<'_>) -> Result<Arc<RowSettings>, Fault> {
        if let Some(settings) = self.settings.as_ref().filter(|_| self.status == begin.status()) {
            return Ok(Arc::clone(settings));
        }
        let settings = Arc::new(begin.row_settings()?);
        self.status = begin.status().to_vec();
        self.settings = Some(Arc::clone(&settings));
        Ok(settings)
    }
}

/// A fault of the current event, or an error at another position.
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

/// Turns an error inside a payload into one of the payload event: the payload was read whole.
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
