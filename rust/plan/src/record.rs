//! Recording of a log's transactions for the simulation of appliers, and names of the keys that cause conflicts.

use paraply_binlog::rows::row_walk::RowsError;
use paraply_binlog::transaction::{Identity, Kind, Transaction};
use paraply_core::gtid::{Gtid, Origin};
use paraply_core::simulate::groups::{Prediction, Write};
use paraply_core::simulate::totals::Totals;
use paraply_core::simulate::{Cause, Costs, Entry, Identity as Recorded, Place, Recorder, SourceEntry};
use paraply_core::write_set::{Fallbacks, Reason, WriteSet};

use crate::statement_times::StatementTimes;
use crate::trace::{is_barrier, tables};
use crate::verify::tracked::change;

/// A key whose name is to be found: index of its transaction in the batch, and its hash.
pub type WantedKey = (usize, u64);

/// Write sets of a batch: those of the applier, and those of a source.
#[derive(Debug, Clone, Copy)]
pub struct Sets<'a> {
    /// Under scheme `fine`.
    pub fine: &'a [WriteSet],
    /// Under scheme `group`; none if they are not known.
    pub group: &'a [WriteSet],
    /// Reasons for coarser sets of this batch.
    pub fallbacks: &'a Fallbacks,
}

/// Recorder of batches of a log.
#[derive(Debug)]
pub struct LogRecorder {
    recorder: Recorder,
    prediction: Option<Prediction>,
    costs: Costs,
    origins: Vec<Origin>,
    totals: Totals,
    statements: StatementTimes,
}

impl LogRecorder {
    /// Creates a recorder; `history` is the size of a source's history, `costs` are for the prediction of conflicts.
    pub fn new(history: u64, prediction: Option<Prediction>, costs: Costs) -> Self {
        Self {
            recorder: Recorder::new(history),
            prediction,
            costs,
            origins: Vec::new(),
            totals: Totals::default(),
            statements: StatementTimes::default(),
        }
    }

    /// Returns the number of transactions so far.
    pub fn len(&self) -> usize {
        self.recorder.len()
    }

    /// Returns true if there are no transactions yet.
    pub fn is_empty(&self) -> bool {
        self.recorder.is_empty()
    }

    /// Adds the transactions of a batch; returns the keys whose names are to be found in it.
    pub fn observe(&mut self, transactions: &[Transaction], sets: &Sets<'_>) -> Result<Vec<WantedKey>, RowsError> {
        let first = self.recorder.len();
        let mut wanted = Vec::new();
        for (index, (transaction, fine)) in transactions.iter().zip(sets.fine).enumerate() {
            let group = sets.group.get(index);
            let session = session(transaction);
            let barrier = barrier(transaction, fine, sets.fallbacks)?;
            let identity = match &transaction.identity {
                Identity::Gtid(gtid) => self.identity(gtid),
                Identity::Anonymous => Recorded::default(),
            };
            let entry = Entry {
                place: Place { file: transaction.file, offset: transaction.offset },
                identity,
                rows: transaction.rows,
                bytes: transaction.bytes,
                exclusive: &fine.exclusive,
                shared: &fine.shared,
                barrier,
                statement_us: self.statements.observe(transaction, session),
                stamp: transaction.last_committed.zip(transaction.sequence_number),
                session,
                source: group.map(|group| source_entry(transaction, group)),
            };
            self.recorder.add(&entry);
            self.totals.add(&entry, transaction.committed_at);
            let keys = self.predict(&entry, transaction.committed_at, &group.unwrap_or(fine).exclusive);
            wanted.extend(keys.into_iter().map(|key| (index, key)));
        }
        let keys = self.recorder.take_wanted();
        wanted.extend(keys.into_iter().map(|(index, key)| (index as usize - first, key)));
        Ok(wanted)
    }

    /// Sets the cause of conflicts over a key.
    pub fn set_cause(&mut self, key: u64, cause: Cause) {
        self.recorder.set_cause(key, cause);
    }

    /// Adds a transaction that is not of a log, with its GTID and its commit time; its keys have no names.
    pub fn add(&mut self, mut entry: Entry<'_>, gtid: Option<&str>, time: Option<i64>) {
        if let Some(gtid) = gtid.and_then(|gtid| gtid.parse().ok()) {
            entry.identity = self.identity(&gtid);
        }
        self.recorder.add(&entry);
        self.totals.add(&entry, time);
        let items: Vec<u64> = entry.exclusive.iter().chain(entry.shared).copied().collect();
        self.predict(&entry, time, &items);
        self.recorder.take_wanted();
    }

    /// Returns the prediction of conflicts so far.
    pub fn prediction(&self) -> Option<&Prediction> {
        self.prediction.as_ref()
    }

    /// Returns the totals so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the recorder and the origins of the transactions.
    pub fn finish(self) -> (Recorder, Vec<String>) {
        (self.recorder, self.origins.iter().map(ToString::to_string).collect())
    }

    fn identity(&mut self, gtid: &Gtid) -> Recorded {
        let known = self.origins.iter().rposition(|origin| *origin == gtid.origin);
        let origin = known.unwrap_or_else(|| {
            self.origins.push(gtid.origin.clone());
            self.origins.len() - 1
        });
        Recorded { origin: origin as u16, number: gtid.number as i64 }
    }

    /// Predicts a transaction's conflicts; returns the keys whose names are to be found.
    fn predict(&mut self, entry: &Entry<'_>, time: Option<i64>, items: &[u64]) -> Vec<u64> {
        let Some(prediction) = &mut self.prediction else { return Vec::new() };
        let (Some(time), Some(session)) = (time, entry.session) else { return Vec::new() };
        let rows = entry.rows * self.costs.row_ns + entry.bytes * self.costs.byte_ps / 1000;
        let duration = ((self.costs.transaction_ns + rows + self.costs.commit_ns) / 1000) as i64;
        prediction.add(&Write { time, duration, session, items })
    }
}

/// Returns the session of a transaction, of whatever server.
fn session(transaction: &Transaction) -> Option<u64> {
    transaction.session.map(|session| u64::from(transaction.server_id) << 32 | u64::from(session))
}

/// Returns the reason why a transaction runs alone, if it does.
fn barrier(transaction: &Transaction, set: &WriteSet, fallbacks: &Fallbacks) -> Result<Option<Cause>, RowsError> {
    match transaction.kind {
        Kind::Empty | Kind::ViewChange => Ok(None),
        Kind::Dml if !set.barrier => Ok(None),
        Kind::Dml => {
            let names = tables(transaction)?;
            let hides = |(reason, table, _): (Reason, &_, u64)| {
                matches!(reason, Reason::CascadeNotLogged) && names.contains(&ToString::to_string(table))
            };
            let cascade = fallbacks.iter().any(hides);
            Ok(Some(if cascade { Cause::ForeignKeyParent } else { Cause::UnknownSchema }))
        }
        Kind::Ddl | Kind::XaPrepare | Kind::XaEnd => Ok(Some(Cause::Ddl)),
    }
}

fn source_entry<'a>(transaction: &Transaction, set: &'a WriteSet) -> SourceEntry<'a> {
    SourceEntry {
        change: change(transaction, set),
        items: &set.exclusive,
        barrier: is_barrier(transaction, set),
        parent: set.touches_parent,
    }
}
