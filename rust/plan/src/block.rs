//! Consecutive transactions that become one commit on a target.

use std::sync::Arc;

use paraply_binlog::transaction::{Identity, Kind, Transaction};
use paraply_core::gtid::{Gtid, GtidSet, Origin};

use crate::early_rows::BlockWaves;

/// What a block needs of its older ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Blocks that must be committed before it starts, ascending.
    pub blocks: Vec<u64>,
    /// A barrier: all older ones must be committed first, and no younger one starts before it is committed.
    pub all: bool,
}

/// Transactions of one batch that are applied and committed together.
///
/// The transactions stay in their batch; a block only points at them, so that cutting and splitting copy no row.
#[derive(Debug, Clone)]
pub struct Block {
    /// Dense from 1 in the source's order.
    pub id: u64,
    /// What must be committed before.
    pub needs: Needs,
    /// Transactions passed over right before or inside this block: they are through once it is committed (rule R19).
    pub skipped: u64,
    /// Number of the last transaction, dense from 1 over all transactions read.
    pub ordinal: u64,
    /// Everything that is executed once this block and all older ones are committed.
    pub executed: Arc<GtidSet>,
    /// Every row that it changes is known to stand in a table with a unique key of NOT NULL columns (rule R14).
    pub keyed: bool,
    /// What each of its row events waits for, where they need not wait for the same.
    pub(crate) waves: BlockWaves,
    /// Which of them this is about: those that wait for more than the first and at most the second number.
    wanted: Option<(Option<u64>, u64)>,
    batch: Arc<Vec<Transaction>>,
    members: Vec<u32>,
}

impl Block {
    /// An empty block over a batch; [`Block::push`] fills it.
    pub(crate) fn new(id: u64, batch: Arc<Vec<Transaction>>) -> Self {
        Self {
            id,
            needs: Needs::default(),
            skipped: 0,
            ordinal: 0,
            executed: Arc::default(),
            keyed: true,
            waves: BlockWaves::default(),
            wanted: None,
            batch,
            members: Vec::new(),
        }
    }

    /// A block of one part of a transaction, which is not committed by itself and records nothing.
    pub(crate) fn of_part(part: Transaction, keyed: bool) -> Self {
        Self { keyed, members: vec![0], ..Self::new(0, Arc::new(vec![part])) }
    }

    /// All transactions are there. The rows go in at once where it is not known for all of them what they wait for, or where a row
    /// is not found by a key.
    pub(crate) fn close_waves(&mut self) {
        if self.keyed && self.waves.transactions() == self.len() {
            self.waves.close();
        }
    }

    pub(crate) fn push(&mut self, index: usize) {
        self.members.push(index as u32);
    }

    /// Numbers of older blocks, ascending: when everything up to one is committed, more of the rows may go in. Empty where all rows
    /// wait for the same.
    pub fn waves(&self) -> &[u64] {
        self.waves.starts()
    }

    /// The block with those rows only that wait for a block behind `after`, and for none behind `up_to`.
    #[must_use]
    pub fn wave(&self, after: Option<u64>, up_to: u64) -> Self {
        Self { wanted: Some((after, up_to)), ..self.clone() }
    }

    /// Whether the block is about this row event, given as the transaction's place in the block and the event's in it.
    pub fn wants(&self, transaction: usize, event: usize) -> bool {
        self.wanted.is_none_or(|(after, up_to)| {
            let waits_for = self.waves.waits_for(transaction, event);
            after.is_none_or(|after| waits_for > after) && waits_for <= up_to
        })
    }

    /// The transactions in order.
    pub fn transactions(&self) -> impl ExactSizeIterator<Item = &Transaction> + Clone {
        self.members.iter().map(|&index| &self.batch[index as usize])
    }

    /// Where the transactions stand in their batch.
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// The batch that the transactions stand in.
    pub fn batch(&self) -> &Arc<Vec<Transaction>> {
        &self.batch
    }

    /// How many of the transactions a filter emptied: they are only recorded.
    pub fn filtered(&self) -> usize {
        self.transactions().filter(|t| t.filtered).count()
    }

    /// How many transactions become one commit.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether no transaction is in it; a planned block never is.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The first transaction.
    pub fn first(&self) -> Option<&Transaction> {
        self.members.first().map(|&index| &self.batch[index as usize])
    }

    /// The last transaction.
    pub fn last(&self) -> Option<&Transaction> {
        self.members.last().map(|&index| &self.batch[index as usize])
    }

    /// The kind of its one transaction; [`Kind::Dml`] for several.
    pub fn kind(&self) -> Kind {
        match (self.len(), self.first()) {
            (1, Some(transaction)) => transaction.kind,
            _ => Kind::Dml,
        }
    }

    /// Bytes that the transactions take in the log.
    pub fn bytes(&self) -> u64 {
        self.transactions().map(|t| t.bytes).sum()
    }

    /// Changed rows.
    pub fn rows(&self) -> u64 {
        self.transactions().map(|t| t.rows).sum()
    }

    /// The GTIDs of its transactions.
    pub fn gtids(&self) -> GtidSet {
        let mut set = GtidSet::default();
        for transaction in self.transactions() {
            if let Identity::Gtid(gtid) = &transaction.identity {
                set.add(gtid);
            }
        }
        set
    }

    /// The sessions of the source that its transactions come from, each once: the server, and the session where the log tells it.
    pub fn sessions(&self) -> Vec<(u32, Option<u32>)> {
        let mut sessions: Vec<_> = self.transactions().map(|t| (t.server_id, t.session)).collect();
        sessions.sort_unstable();
        sessions.dedup();
        sessions
    }

    /// The numbers of its MariaDB GTIDs in their order, with the domain and the server of each.
    pub fn numbers(&self) -> impl Iterator<Item = (u32, u64, u32)> {
        self.transactions().filter_map(|transaction| match &transaction.identity {
            Identity::Gtid(Gtid { origin: Origin::MariaDb { domain, server }, number }) => {
                Some((*domain, *number, *server))
            }
            _ => None,
        })
    }

    /// One block for each transaction, to be committed one after the other in the place of this one (rule R24).
    ///
    /// They are tried after the whole failed, so they count on no key any more.
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
                waves: BlockWaves::default(),
                members: vec![member],
                ..self.clone()
            });
        }
        parts
    }
}
