//! Several files of one log as a sequence of transactions.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use paraply_core::gtid::Gtid;

use crate::error::LogError;
use crate::event::Event;
use crate::event::gtid_event::GtidRange;
use crate::read::file::{EventReader, Source};
use crate::read::group::Assembler;
use crate::read::head::{next_file, previous_gtids};
use crate::read::passed_over::PassedOver;
use crate::read::piece::Piece;
use crate::read::skip_list::SkipList;
use crate::read::stop::{Begin, StopPlace, StopPoint};
use crate::rows::filter::TableFilter;
use crate::transaction::{Kind, Transaction};

/// Options for reading a log.
#[derive(Debug, Clone, Copy)]
pub struct ReaderOptions {
    /// Compare every event's CRC32 where the log has them.
    pub verify_checksums: bool,
    /// Limit on the bytes (uncompressed) of a transaction's row events; larger transactions are refused. It bounds the
    /// memory.
    pub max_transaction_bytes: u64,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self { verify_checksums: true, max_transaction_bytes: 4 << 30 }
    }
}

/// One file of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Returns the file as it was named.
    pub name: Arc<str>,
    /// Transactions executed before this file, from its `Previous_gtids` or GTID list event; none until that was read.
    pub previous_gtids: Option<Vec<GtidRange>>,
}

/// The files of a log that is still written.
pub trait GrowingLog: Send {
    /// Returns the name and the content of the next file, once it exists.
    ///
    /// The content is whole transactions. Where more is to come it fails with [`std::io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// The file cannot be read.
    fn next_file(&mut self) -> Result<Option<(Arc<str>, Source<'static>)>, LogError>;

    /// Returns true if nothing more will come.
    fn is_over(&self) -> bool;

    /// Sleeps until there is more to read, nothing more will come, or the time is over.
    fn wait(&self, longest: Duration);
}

enum Input {
    Path(PathBuf),
    Piece(PathBuf, Piece),
    Memory(Source<'static>),
}

/// Reads the transactions of several files in the order in which the files are given.
///
/// Memory is used for one transaction and a read buffer, whatever the size of the files.
pub struct LogReader {
    files: Vec<LogFile>,
    inputs: VecDeque<Input>,
    /// Bytes to read of each input, as many as there are without an entry.
    sizes: VecDeque<u64>,
    current: Option<EventReader<'static>>,
    current_file: u32,
    /// End of the piece that is read.
    current_end: Option<u64>,
    assembler: Assembler,
    options: ReaderOptions,
    /// The file that the last Rotate event of a binlog names.
    announced: Option<String>,
    failed: Option<LogError>,
    failure_given: bool,
    filter: Option<TableFilter>,
    stop: Option<StopPoint>,
    stopped: Option<StopPlace>,
    /// Transactions that are left out by name, and those of them that were found.
    skips: SkipList,
    skipped: SkipList,
    /// The start of the transaction that is read, in the source's log; kept while a relay log is followed.
    begin: Begin,
    /// Starts of the last two transactions, where the stop has a position.
    begins: [Option<Begin>; 2],
    /// Source of further files, and of waiting, where the log is still written.
    follower: Option<Box<dyn GrowingLog>>,
    /// A statement that begins the next batch: with a filter it gets a batch of its own.
    held: Option<Transaction>,
}

impl LogReader {
    /// Opens a log's files, in order; each must exist and start as a log.
    pub fn open(paths: &[PathBuf], options: ReaderOptions) -> Result<Self, LogError> {
        for path in paths {
            check_start(path)?;
        }
        let named = paths.iter().map(|path| (path.display().to_string(), Input::Path(path.clone())));
        Ok(Self::new(named, options))
    }

    /// Opens a piece of a file, as a scan cut it: it begins and ends between transactions.
    pub fn open_piece(path: &Path, piece: Piece, options: ReaderOptions) -> Result<Self, LogError> {
        check_start(path)?;
        let input = Input::Piece(path.to_owned(), piece);
        Ok(Self::new(std::iter::once((path.display().to_string(), input)), options))
    }

    /// Limits the bytes read of each file, as if it ended there, so that a log that grows is read twice alike.
    #[must_use]
    pub fn sized(mut self, sizes: impl IntoIterator<Item = u64>) -> Self {
        self.sizes = sizes.into_iter().collect();
        self
    }

    /// Reads a log from memory or any other source; the names are used in errors.
    pub fn from_sources(sources: Vec<(String, Source<'static>)>, options: ReaderOptions) -> Self {
        Self::new(sources.into_iter().map(|(name, source)| (name, Input::Memory(source))), options)
    }

    fn new(inputs: impl Iterator<Item = (String, Input)>, options: ReaderOptions) -> Self {
        let (names, inputs): (Vec<String>, VecDeque<Input>) = inputs.unzip();
        let file = |name: String| LogFile { name: name.into(), previous_gtids: None };
        Self {
            files: names.into_iter().map(file).collect(),
            inputs,
            sizes: VecDeque::new(),
            current: None,
            current_file: 0,
            current_end: None,
            assembler: Assembler::new(options.max_transaction_bytes),
            options,
            announced: None,
            failed: None,
            failure_given: false,
            filter: None,
            stop: None,
            stopped: None,
            skips: SkipList::default(),
            skipped: SkipList::default(),
            begin: Begin::default(),
            begins: [None, None],
            follower: None,
            held: None,
        }
    }

    /// Reads a log from its oldest file on, while it is written.
    ///
    /// Once everything published was read, there is no next transaction for the moment: call
    /// [`is_over`](Self::is_over), and [`wait`](Self::wait).
    pub fn follow(log: impl GrowingLog + 'static, options: ReaderOptions) -> Self {
        Self { follower: Some(Box::new(log)), ..Self::new(std::iter::empty(), options) }
    }

    /// Returns true if there is no next transaction and none will come.
    pub fn is_over(&self) -> bool {
        self.failed.is_some() || self.stopped.is_some() || self.follower.as_ref().is_none_or(|log| log.is_over())
    }

    /// Sleeps until a log that is still written has more, or the time is over.
    pub fn wait(&self, longest: Duration) {
        if let Some(follower) = &self.follower {
            follower.wait(longest);
        }
    }

    /// Removes the row changes of tables that are not chosen from every transaction before it is returned, and gives the
    /// others the names of the target.
    ///
    /// This reader does not decide which tables a statement is about; each statement gets a batch of its own.
    #[must_use]
    pub fn filtered(mut self, filter: TableFilter) -> Self {
        self.filter = Some(filter).filter(|filter| !filter.is_empty());
        self
    }

    /// Passes over changes in statement format instead of refusing them, where an apply does not need them.
    #[must_use]
    pub fn passing_over(mut self, passed_over: PassedOver) -> Self {
        self.assembler = self.assembler.passing_over(passed_over);
        self
    }

    /// Leaves transactions out by name: they keep their identity and their turn (rule R19).
    ///
    /// A statement, and each part of an XA transaction, gets a batch of its own and keeps its content, because what
    /// follows from leaving it out is not decided here.
    #[must_use]
    pub fn skipping(mut self, skips: SkipList) -> Self {
        self.skips = skips;
        self
    }

    /// Returns the transactions found that are left out by name.
    pub fn skipped(&self) -> &SkipList {
        &self.skipped
    }

    /// Ends the log at a point; nothing after it is read.
    #[must_use]
    pub fn until(mut self, stop: StopPoint) -> Self {
        self.stop = Some(stop).filter(|stop| *stop != StopPoint::default());
        self
    }

    /// Returns the transaction at which reading stopped, once it was found.
    pub fn stopped(&self) -> Option<&StopPlace> {
        self.stopped.as_ref()
    }

    /// Returns the starts of the last two transactions that were read, where the stop has a position.
    pub fn begins(&self) -> &[Option<Begin>; 2] {
        &self.begins
    }

    /// Returns the files, in order.
    pub fn files(&self) -> &[LogFile] {
        &self.files
    }

    /// Returns the GTID of the transaction that is read and incomplete; after an error that of the failed one, if
    /// known.
    pub fn open_gtid(&self) -> Option<&Gtid> {
        self.assembler.open_gtid()
    }

    /// Returns the next transaction; none at the end, and none after an error.
    pub fn next_transaction(&mut self) -> Option<Result<Transaction, LogError>> {
        if self.failed.is_some() {
            return self.failed.clone().filter(|_| !std::mem::replace(&mut self.failure_given, true)).map(Err);
        }
        if let Some(held) = self.held.take() {
            return Some(Ok(held));
        }
        let next = self.advance().and_then(|next| self.cut(next));
        if let Err(error) = &next {
            self.failed = Some(error.clone());
            self.failure_given = true;
        }
        next.transpose()
    }

    /// Returns the next transactions, or none at the end.
    ///
    /// A batch ends with a statement that may change a schema, and before an error: the error is returned by the next
    /// call, and by every later one.
    pub fn next_batch(
        &mut self,
        max_transactions: usize,
        max_bytes: u64,
    ) -> Result<Option<Vec<Transaction>>, LogError> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < max_transactions.max(1) && (bytes < max_bytes || batch.is_empty()) {
            if let Some(error) = self.failed.clone() {
                return Err(error);
            }
            match self.next_transaction() {
                Some(Err(error)) if batch.is_empty() => return Err(error),
                None | Some(Err(_)) => break,
                Some(Ok(transaction)) => {
                    let alone = self.stands_alone(&transaction);
                    if alone && !batch.is_empty() {
                        self.held = Some(transaction);
                        break;
                    }
                    bytes += transaction.bytes.max(transaction.data.len() as u64);
                    let ends = alone || transaction.kind == Kind::Ddl;
                    batch.push(transaction);
                    if ends {
                        break;
                    }
                }
            }
        }
        Ok(Some(batch).filter(|batch| !batch.is_empty()))
    }

    /// Returns true if the transaction gets a batch of its own, because it may be left out after it was looked at.
    fn stands_alone(&self, transaction: &Transaction) -> bool {
        match transaction.kind {
            Kind::Ddl => self.filter.is_some() || transaction.skipped,
            Kind::XaPrepare | Kind::XaEnd => !self.skips.is_empty(),
            // Statements that are passed over: they may have changed definitions.
            _ => transaction.skipped && !transaction.statements.is_empty(),
        }
    }

    /// Returns the transaction's start in the log that a position of the stop refers to.
    fn begin_of(&self, transaction: &Transaction) -> Begin {
        if self.follower.is_some() {
            return self.begin.clone();
        }
        let name = self.files.get(transaction.file as usize).map(|file| Path::new(&*file.name));
        let file = name.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        Begin { file: file.unwrap_or_default(), offset: transaction.offset }
    }

    /// Drops what is after the stop, and what is not chosen, and renames the rest.
    fn cut(&mut self, next: Option<Transaction>) -> Result<Option<Transaction>, LogError> {
        let Some(mut transaction) = next else { return Ok(None) };
        let begin = self.stop.as_ref().filter(|stop| stop.position.is_some()).map(|_| self.begin_of(&transaction));
        if begin.is_some() {
            self.begins = [self.begins[1].take(), begin.clone()];
        }
        let begin = begin.unwrap_or_default();
        if let Some(place) = self.stop.as_ref().and_then(|stop| stop.meets(&transaction, &begin)) {
            let included = place.included;
            self.stopped = Some(place);
            if !included {
                return Ok(None);
            }
        }
        if self.skips.names(&transaction.identity) {
            self.skipped.add(&transaction.identity);
            transaction.skipped = true;
            let looked_at = matches!(transaction.kind, Kind::XaPrepare | Kind::XaEnd);
            if !looked_at && transaction.statements.is_empty() {
                transaction.empty_out();
            }
            return Ok(Some(transaction));
        }
        if let Some(filter) = &self.filter {
            let name = self.files.get(transaction.file as usize).map(|file| Arc::clone(&file.name));
            let name = name.unwrap_or_default();
            filter.keep_chosen(&mut transaction, &name)?;
            filter.renames.apply(&mut transaction, &name)?;
        }
        Ok(Some(transaction))
    }

    fn advance(&mut self) -> Result<Option<Transaction>, LogError> {
        if self.stopped.is_some() {
            return Ok(None);
        }
        loop {
            if self.current.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some(reader) = &mut self.current else { return Ok(None) };
            let name = Arc::clone(reader.name());
            let at_end = self.current_end.is_some_and(|end| reader.offset() >= end);
            let event = match (!at_end).then(|| reader.next_event()).transpose() {
                Err(error) if self.follower.is_some() && error.is_caught_up() => return Ok(None),
                event => event?.flatten(),
            };
            let Some(event) = event else {
                let relay_log = reader.is_relay_log();
                self.assembler.end_of_file(relay_log, !self.inputs.is_empty())?;
                self.current = None;
                self.current_file += 1;
                continue;
            };
            if let Some(file) = self.files.get_mut(self.current_file as usize) {
                note_previous_gtids(file, &event)?;
            }
            self.announced = next_file(&event);
            if self.follower.is_some() {
                self.begin.note(&event, self.assembler.is_open());
            }
            if let Some(transaction) = self.assembler.accept(&event, &name, self.current_file)? {
                return Ok(Some(transaction));
            }
        }
    }

    fn open_next(&mut self) -> Result<bool, LogError> {
        if let Some(follower) = &mut self.follower {
            let Some((name, source)) = follower.next_file()? else { return Ok(false) };
            self.files.push(LogFile { name: Arc::clone(&name), previous_gtids: None });
            self.current = Some(EventReader::new(name, source, self.options.verify_checksums)?);
            return Ok(true);
        }
        let Some(input) = self.inputs.pop_front() else { return Ok(false) };
        let name = self.files.get(self.current_file as usize).map(|file| Arc::clone(&file.name)).unwrap_or_default();
        self.check_order(&name)?;
        let verify = self.options.verify_checksums;
        self.current_end = None;
        let size = self.sizes.pop_front();
        self.current = Some(match input {
            Input::Path(path) => EventReader::open_sized(&path, size, verify)?,
            Input::Piece(path, piece) => {
                self.current_end = piece.end;
                EventReader::open_at(&path, piece.start, size, verify)?
            }
            Input::Memory(source) => EventReader::new(name, source, verify)?,
        });
        Ok(true)
    }

    /// Checks the order of the files: where the last file's end names the next one by number, another number is a gap.
    fn check_order(&mut self, name: &Arc<str>) -> Result<(), LogError> {
        let Some(announced) = self.announced.take() else { return Ok(()) };
        match (number_of(&announced), number_of(name)) {
            (Some(expected), Some(given)) if expected != given => Err(LogError::Damaged {
                file: name.to_string(),
                position: 0,
                message: format!(
                    "the file before it ends with the name of {announced}: a file is missing or out of order"
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// Returns the number that ends a log file's name.
fn number_of(name: &str) -> Option<u64> {
    Path::new(name).extension()?.to_str()?.parse().ok()
}

fn note_previous_gtids(file: &mut LogFile, event: &Event<'_>) -> Result<(), LogError> {
    let Some(set) = previous_gtids(event) else { return Ok(()) };
    file.previous_gtids = Some(set.map_err(|fault| fault.at(&file.name, event.offset))?);
    Ok(())
}

/// Refuses a file that is no log before anything is read; for anything but a plain file only its existence is checked.
fn check_start(path: &Path) -> Result<(), LogError> {
    let name = path.display().to_string();
    let failed = |error| LogError::io(&name, 0, error);
    let file = File::open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() && !data.is_dir() {
        return Ok(());
    }
    EventReader::new(name.as_str().into(), Box::new(file.take(64)), false).map(drop)
}
