//! Consecutive transactions that become one commit on a target.

use std::sync::Arc;

use paraply_binlog::rows::row_walk::RowsError;
use paraply_binlog::transaction::{Identity, Kind, Transaction};
use paraply_core::gtid::{Gtid, GtidSet, Origin};

use crate::early_rows::BlockWaves;
use crate::pieces::{Piece, pieces};

/// Older blocks that a block needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Blocks that must be committed before it starts, ascending.
    pub blocks: Vec<u64>,
    /// True for a barrier: all older blocks must be committed first, and no younger one starts before it is committed.
    pub all: bool,
}

/// Transactions of one batch that are applied and committed together.
///
/// The transactions stay in their batch. A block holds only their indices, so that cutting and splitting copy no row.
#[derive(Debug, Clone)]
pub struct Block {
    /// Dense from 1 in the source's order.
    pub id: u64,
    /// Blocks that must be committed before this one.
    pub needs: Needs,
    /// Number of transactions skipped right before or inside this block: they count as done once it is committed (rule
    /// R19).
    pub skipped: u64,
    /// Number of the last transaction, dense from 1 over all transactions read.
    pub ordinal: u64,
    /// Everything that is executed once this block and all older ones are committed.
    pub executed: Arc<GtidSet>,
    /// True if every row that it changes is known to be in a table with a unique key of NOT NULL columns (rule R14).
    pub keyed: bool,
    /// True if rows of two tables must not be in one statement of a MariaDB; see [`WriteSet::separate_tables`].
    ///
    /// [`WriteSet::separate_tables`]: paraply_core::write_set::WriteSet::separate_tables
    pub separate_tables: bool,
    /// Block that each row event waits for, where the rows need not all wait for the same.
    pub(crate) steps: BlockWaves,
    /// Row events to apply: those that wait for more than the first and at most the second number. None for all.
    wanted: Option<(Option<u64>, u64)>,
    /// The piece of a large block that is to be applied; none for all of it.
    piece: Option<Arc<Piece>>,
    batch: Arc<Vec<Transaction>>,
    members: Vec<u32>,
}

impl Block {
    /// Creates an empty block over a batch; [`Block::push`] fills it.
    pub(crate) fn new(id: u64, batch: Arc<Vec<Transaction>>) -> Self {
        Self {
            id,
            needs: Needs::default(),
            skipped: 0,
            ordinal: 0,
            executed: Arc::default(),
            keyed: true,
            separate_tables: false,
            steps: BlockWaves::default(),
            wanted: None,
            piece: None,
            batch,
            members: Vec::new(),
        }
    }

    /// Creates a block of one part of a transaction, which is not committed by itself and records nothing.
    pub(crate) fn of_part(part: Transaction, keyed: bool, separate_tables: bool) -> Self {
        Self { keyed, separate_tables, members: vec![0], ..Self::new(0, Arc::new(vec![part])) }
    }

    /// Computes the early rows, once all transactions are added. All rows are applied at once if the dependencies of
    /// some transaction are not known, or if a row is not found by a key.
    pub(crate) fn close_steps(&mut self) {
        if self.keyed && self.steps.transactions() == self.len() {
            self.steps.close();
        }
    }

    pub(crate) fn push(&mut self, index: usize) {
        self.members.push(index as u32);
    }

    /// Returns the numbers of older blocks, ascending, after whose commits more of the rows may be applied. Empty where
    /// all rows wait for the same block.
    pub fn steps(&self) -> &[u64] {
        self.steps.starts()
    }

    /// Returns the block with only those rows that wait for a block after `after`, and for none after `up_to`.
    #[must_use]
    pub fn step(&self, after: Option<u64>, up_to: u64) -> Self {
        Self { wanted: Some((after, up_to)), ..self.clone() }
    }

    /// Returns true if this row event is to be applied, given by the transaction's index in the block and the event's
    /// index in it.
    pub fn wants(&self, transaction: usize, event: usize) -> bool {
        let in_piece = self.piece.as_ref().is_none_or(|piece| piece.contains(transaction, event));
        in_piece
            && self.wanted.is_none_or(|(after, up_to)| {
                let waits_for = self.steps.waits_for(transaction, event);
                after.is_none_or(|after| waits_for > after) && waits_for <= up_to
            })
    }

    /// Returns the row events of a large block in pieces of bounded size, to be rendered and applied one after the other
    /// in one transaction of the target. Empty for a block that is not large.
    ///
    /// # Errors
    /// A table map is damaged.
    pub fn pieces(&self) -> Result<Vec<Self>, RowsError> {
        let found = pieces(self.transactions(), |transaction, event| self.wants(transaction, event))?;
        Ok(found.into_iter().map(|piece| Self { piece: Some(Arc::new(piece)), ..self.clone() }).collect())
    }

    /// Returns the piece that the block is limited to.
    pub fn piece(&self) -> Option<&Piece> {
        self.piece.as_deref()
    }

    /// Returns the transactions in order.
    pub fn transactions(&self) -> impl ExactSizeIterator<Item = &Transaction> + Clone {
        self.members.iter().map(|&index| &self.batch[index as usize])
    }

    /// Returns the indices of the transactions in their batch.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// Returns the batch of the transactions.
    pub fn batch(&self) -> &Arc<Vec<Transaction>> {
        &self.batch
    }

    /// Returns the number of transactions that a filter emptied: they are only recorded.
    pub fn filtered(&self) -> usize {
        self.transactions().filter(|t| t.filtered).count()
    }

    /// Returns the number of transactions from which changes of paraply's own tables were removed.
    pub fn own_left_out(&self) -> usize {
        self.transactions().filter(|t| t.own_left_out).count()
    }

    /// Returns the number of transactions that are left out by name: they are emptied and only recorded.
    pub fn named(&self) -> usize {
        self.transactions().filter(|t| t.skipped && t.filtered).count()
    }

    /// Returns the number of transactions that become one commit.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns true if the block has no transaction, which never happens for a planned block.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the first transaction.
    pub fn first(&self) -> Option<&Transaction> {
        self.members.first().map(|&index| &self.batch[index as usize])
    }

    /// Returns the last transaction.
    pub fn last(&self) -> Option<&Transaction> {
        self.members.last().map(|&index| &self.batch[index as usize])
    }

    /// Returns the kind of a single transaction; [`Kind::Dml`] for several.
    pub fn kind(&self) -> Kind {
        match (self.len(), self.first()) {
            (1, Some(transaction)) => transaction.kind,
            _ => Kind::Dml,
        }
    }

    /// Returns the number of bytes that the transactions take in the log.
    pub fn bytes(&self) -> u64 {
        self.transactions().map(|t| t.bytes).sum()
    }

    /// Returns the number of changed rows.
    pub fn rows(&self) -> u64 {
        self.transactions().map(|t| t.rows).sum()
    }

    /// Returns the GTIDs of its transactions.
    pub fn gtids(&self) -> GtidSet {
        let mut set = GtidSet::default();
        for transaction in self.transactions() {
            if let Identity::Gtid(gtid) = &transaction.identity {
                set.add(gtid);
            }
        }
        set
    }

    /// Returns the sessions of the source that ran the transactions, each once: the server, and the session where the
    /// log has it.
    pub fn sessions(&self) -> Vec<(u32, Option<u32>)> {
        let mut sessions: Vec<_> = self.transactions().map(|t| (t.server_id, t.session)).collect();
        sessions.sort_unstable();
        sessions.dedup();
        sessions
    }

    /// Iterates over the numbers of its MariaDB GTIDs in their order, with the domain and the server of each.
    pub fn numbers(&self) -> impl Iterator<Item = (u32, u64, u32)> {
        self.transactions().filter_map(|transaction| match &transaction.identity {
            Identity::Gtid(Gtid { origin: Origin::MariaDb { domain, server }, number }) => {
                Some((*domain, *number, *server))
            }
            _ => None,
        })
    }

    /// Returns one block for each transaction, to be committed one after the other instead of this one (rule R24).
    ///
    /// The blocks are tried after the whole failed, so they no longer rely on keys.
    pub fn split(&self) -> Vec<Block> {
        let mut executed = (*self.executed).clone();
        executed = executed.difference(&self.gtids());
        let before = self.ordinal - (self.len() as u64).min(self.ordinal);
        let mut parts = Vec::with_capacity(self.len());
        for (place, &member) in self.members.iter().enumerate() {
            let transaction = &self.batch[member as usize];
            if let Identity::Gtid(gtid) = &transaction.identity {
                executed.add(gtid);
            }
            parts.push(Block {
                skipped: if place == 0 { self.skipped } else { 0 },
                ordinal: before + place as u64 + 1,
                executed: Arc::new(executed.clone()),
                keyed: false,
                steps: BlockWaves::default(),
                piece: None,
                members: vec![member],
                ..self.clone()
            });
        }
        parts
    }
}
