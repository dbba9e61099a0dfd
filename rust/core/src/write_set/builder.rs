//! Collects the hashes of a transaction's rows.

use std::collections::HashMap;
use std::sync::Arc;

use super::distinct::Distinct;
use super::fallback::{Fallbacks, Reason};
use super::hash::KeyHasher;
use super::images::{Images, generated_values};
use super::note::{Note, Noted};
use super::part::Part;
use super::plan::{KeyPlan, ReferencePlan, TableAccess, TablePlan};
use super::row::Row;
use super::server_bytes::ServerBytes;
use super::{Options, Scheme, WriteSet};
use crate::schema::{Catalog, Table, TableName};
use crate::value::Value;

/// Number of hashes, repeats included, beyond which the touches of a transaction's single row events are not kept.
const MOST_KEPT: u64 = 1 << 16;

/// Meaning of a NULL among a key's parts.
#[derive(Debug, Clone, Copy)]
enum Nulls<'p> {
    /// There is no key.
    NoKey,
    /// The part is left out of this reference.
    LeaveOut(&'p ReferencePlan),
}

impl<'p> Nulls<'p> {
    /// Returns the server's byte formats where the reference has fewer parts than the parent's key: a hash then no
    /// longer shows which values belong to which columns.
    fn server_bytes(self, is_null: impl Fn(&Part) -> bool) -> &'p [ServerBytes] {
        match self {
            Self::LeaveOut(reference) if !reference.whole || reference.parts().iter().any(is_null) => {
                &reference.server_bytes
            }
            _ => &[],
        }
    }

    /// Returns the length to which the server fills a part's text, where that makes it differ from the parent's.
    fn fill(self, part: usize) -> Option<u32> {
        match self {
            Self::LeaveOut(reference) => reference.fills.get(part).copied().flatten(),
            Self::NoKey => None,
        }
    }
}

/// Result of hashing a key in one image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All parts have values.
    Full(u64),
    /// A part is NULL: the key constrains nothing.
    Null,
    /// A part's value is not known.
    Lost(Reason),
}

/// A definition and the plan by which its rows are hashed.
type PlannedTable = (Arc<Table>, Arc<TablePlan>);

/// Makes write sets, one transaction after another, in reused memory.
///
/// Feed it the rows of a transaction with [`Self::add_row`], then take the result with [`Self::finish`].
#[derive(Debug, Default)]
pub struct WriteSetBuilder {
    options: Options,
    catalog_version: u64,
    /// Plans of each table's definitions; nearly always one.
    plans: HashMap<TableName, Vec<PlannedTable>>,
    hasher: KeyHasher,
    items: Distinct,
    result: WriteSet,
    fallbacks: Fallbacks,
    /// True if a key of the current row has been counted as not known.
    lost: bool,
    /// Notes on the hashes of the row that is being explained.
    notes: Option<Vec<Note>>,
}

impl WriteSetBuilder {
    /// Makes a builder for one log.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Returns the plan of a table under this catalog, kept until the catalog changes; none if the table is not known.
    pub fn plan(&mut self, catalog: &Catalog, table: &TableName) -> Option<Arc<TablePlan>> {
        catalog.get(table).map(|table| self.plan_of(catalog, table))
    }

    /// Returns the plan of one definition of a table, which may be a previous one of this catalog.
    pub fn plan_of(&mut self, catalog: &Catalog, table: &Arc<Table>) -> Arc<TablePlan> {
        if self.catalog_version != catalog.version() {
            self.plans.clear();
            self.catalog_version = catalog.version();
        }
        if let Some(known) = self.plans.get(&table.name)
            && let Some((_, plan)) = known.iter().find(|(of, _)| Arc::ptr_eq(of, table))
        {
            return Arc::clone(plan);
        }
        let plan = Arc::new(TablePlan::new(table, catalog, self.options));
        self.plans.entry(table.name.clone()).or_default().push((Arc::clone(table), Arc::clone(&plan)));
        plan
    }

    /// Notes rows of a table whose keys are not known: the transaction becomes a barrier (R13).
    pub fn add_unknown_table(&mut self, table: &TableName) {
        self.result.barrier = true;
        self.fallbacks.add(Reason::UnknownTable, table);
    }

    /// Adds the touches of one row.
    pub fn add_row(&mut self, plan: &TablePlan, row: &Row<'_, '_>) {
        let generated = if plan.left_out.is_empty() { Vec::new() } else { generated_values(&plan.left_out, row) };
        let images = Images::new(row, &generated);
        self.result.touches_parent |= plan.touches_parent;
        self.result.missing_keys |= plan.missing_keys;
        self.result.separate_tables |= plan.separate_tables;
        plan.fallbacks.iter().for_each(|reason| self.fallbacks.add(*reason, &plan.name));
        if self.options.scheme == Scheme::Group && plan.missing_keys {
            // The server hashes nothing of such a table, neither nullable keys nor references.
            self.result.barrier = true;
            return;
        }
        self.lost = false;
        let full = self.add_keys(plan, &images);
        match self.options.scheme {
            Scheme::Group => {
                if row.foreign_key_checks {
                    plan.references.iter().for_each(|reference| self.add_reference(plan, reference, &images));
                }
            }
            Scheme::Fine => {
                plan.references.iter().for_each(|reference| self.add_reference(plan, reference, &images));
                self.add_table(plan, full);
                self.add_cascades(plan, &images);
            }
        }
    }

    /// Returns the number of different hashes of the transaction so far.
    pub fn distinct(&self) -> usize {
        self.items.len()
    }

    /// Gives up the hashes of the transaction, which becomes a barrier: it has too many of them.
    pub fn give_up_keys(&mut self, table: &TableName) {
        self.items.take();
        self.items.take_kept();
        self.result.events = None;
        self.result.too_many = !std::mem::replace(&mut self.result.barrier, true);
        self.fallbacks.add(Reason::TooManyKeys, table);
    }

    /// Notes a row of a transaction whose hashes were given up.
    pub fn pass_over(&mut self, plan: &TablePlan) {
        self.result.missing_keys |= plan.missing_keys;
        self.result.separate_tables |= plan.separate_tables;
    }

    /// Sets the row event that the next rows belong to. From the first such call on, the touches of each event are kept
    /// separately, except for a transaction with very many touches.
    pub fn begin_event(&mut self, place: usize) {
        if self.items.added() > MOST_KEPT {
            self.items.take_kept();
            self.result.events = None;
            return;
        }
        let at = self.items.keep();
        self.result.events.get_or_insert_default().begin(place, at);
    }

    /// Returns the touches of one row by itself, and notes on each hash. The builder must be between two transactions.
    pub fn explain(&mut self, plan: &TablePlan, row: &Row<'_, '_>) -> (WriteSet, Vec<Note>) {
        self.notes = Some(Vec::new());
        self.add_row(plan, row);
        (self.finish(), self.notes.take().unwrap_or_default())
    }

    /// Returns the transaction's write set; the builder is then ready for the next transaction.
    pub fn finish(&mut self) -> WriteSet {
        let mut result = std::mem::take(&mut self.result);
        result.hashed = self.items.added();
        (result.exclusive, result.shared) = self.items.take();
        if let Some(events) = &mut result.events {
            events.fill(self.items.take_kept());
        }
        result
    }

    /// Returns the fallbacks counted since the last call.
    pub fn take_fallbacks(&mut self) -> Fallbacks {
        std::mem::take(&mut self.fallbacks)
    }

    /// Adds all unique keys; returns true if each image of the row has a full one.
    fn add_keys(&mut self, plan: &TablePlan, images: &Images<'_, '_>) -> bool {
        let mut before_full = images.before.is_none();
        let mut after_full = images.after.is_none();
        for key in &plan.keys {
            let untouched = images.untouched(&key.parts);
            let earlier_full = before_full;
            let before = images.before.map(|_| self.outcome(&key.prefix, &key.parts, |c| images.before(c)));
            let after = images.after.filter(|_| !untouched);
            let after = after.map(|_| self.outcome(&key.prefix, &key.parts, |c| images.after(c)));
            for outcome in [before, after].into_iter().flatten() {
                // A key that an update does not touch is not needed where another key identifies the row.
                self.add_outcome(plan, outcome, untouched && earlier_full);
                if key.twice && matches!(outcome, Outcome::Full(_)) {
                    self.items.repeat();
                }
            }
            before_full |= matches!(before, Some(Outcome::Full(_)));
            after_full |= matches!(if untouched { before } else { after }, Some(Outcome::Full(_)));
            if let Some(whole) = &key.whole {
                self.add_whole(key, whole, images);
            }
        }
        before_full && after_full
    }

    /// Adds the second hash of a key under the server's scheme.
    fn add_whole(&mut self, key: &KeyPlan, whole: &[Part], images: &Images<'_, '_>) {
        let before = images.before.map(|_| self.outcome(&key.prefix, whole, |c| images.before(c)));
        let after = images.after.map(|_| self.outcome(&key.prefix, whole, |c| images.after(c)));
        for outcome in [before, after].into_iter().flatten() {
            if let Outcome::Full(hash) = outcome {
                self.items.exclusive(hash);
            }
        }
    }

    fn add_outcome(&mut self, plan: &TablePlan, outcome: Outcome, dispensable: bool) {
        match outcome {
            Outcome::Full(hash) => self.items.exclusive(hash),
            Outcome::Null => {}
            Outcome::Lost(reason) => {
                if !dispensable || self.options.scheme == Scheme::Group {
                    self.fallbacks.add(reason, &plan.name);
                }
                if !dispensable {
                    self.lost = true;
                    self.give_up(plan.table, plan.table_access != TableAccess::None);
                }
            }
        }
    }

    /// Takes a whole table because some value in it is not known.
    fn give_up(&mut self, table: u64, table_is_taken: bool) {
        if table_is_taken {
            self.items.exclusive(table);
        } else {
            self.result.barrier = true;
        }
    }

    fn add_reference(&mut self, plan: &TablePlan, reference: &ReferencePlan, images: &Images<'_, '_>) {
        let untouched = images.untouched(&reference.columns);
        let parts = reference.parts();
        let prefix = reference.key.as_ref().map_or(&[][..], |key| &key.prefix);
        // The server leaves NULL parts out of a reference and hashes the rest, which may be nothing but the key's
        // name.
        let nulls = if self.options.scheme == Scheme::Group { Nulls::LeaveOut(reference) } else { Nulls::NoKey };
        let before = images.before.map(|_| self.outcome_with(nulls, prefix, parts, |c| images.before(c)));
        let after = images.after.map(|_| self.outcome_with(nulls, prefix, parts, |c| images.after(c)));
        for outcome in [before, after].into_iter().flatten() {
            match outcome {
                Outcome::Null => {}
                _ if reference.key.is_none() => self.items.shared(reference.table),
                Outcome::Full(hash) if self.options.scheme == Scheme::Group => self.items.exclusive(hash),
                Outcome::Full(hash) => self.items.shared(hash),
                // Any transaction that changed the reference, before or after this one, touches this row's own keys
                // too.
                Outcome::Lost(_) if untouched => {}
                Outcome::Lost(reason) => {
                    self.fallbacks.add(reason, &plan.name);
                    self.give_up(reference.table, reference.table_is_taken);
                }
            }
        }
    }

    /// Rule R14: Adds the table's own hash.
    fn add_table(&mut self, plan: &TablePlan, full: bool) {
        match plan.table_access {
            TableAccess::Exclusive => self.items.exclusive(plan.table),
            TableAccess::Shared | TableAccess::SharedWithFullKey if full => self.items.shared(plan.table),
            TableAccess::None if full => {}
            access => {
                if !self.lost {
                    self.fallbacks.add(Reason::NoUniqueKey, &plan.name);
                }
                self.give_up(plan.table, access != TableAccess::None);
            }
        }
    }

    /// Rule R15a: Adds the tables that cascades reach.
    fn add_cascades(&mut self, plan: &TablePlan, images: &Images<'_, '_>) {
        plan.shared_tables.iter().for_each(|table| self.items.shared(*table));
        for cascade in &plan.cascades {
            let deleted = images.after.is_none() && cascade.on_delete;
            if deleted || (cascade.on_update && images.changed(&cascade.columns)) {
                cascade.descendants.iter().for_each(|table| self.items.exclusive(*table));
                self.fallbacks.add(Reason::CascadeNotLogged, &plan.name);
            }
        }
    }

    fn outcome<'i, 'v: 'i>(
        &mut self,
        prefix: &[u8],
        parts: &[Part],
        value_of: impl Fn(usize) -> Option<&'i Value<'v>>,
    ) -> Outcome {
        self.outcome_with(Nulls::NoKey, prefix, parts, value_of)
    }

    fn outcome_with<'i, 'v: 'i>(
        &mut self,
        nulls: Nulls<'_>,
        prefix: &[u8],
        parts: &[Part],
        value_of: impl Fn(usize) -> Option<&'i Value<'v>>,
    ) -> Outcome {
        let outcome = self.hash_parts(nulls, prefix, parts, value_of);
        // Without a name in front, the hash belongs to no key: the table is taken as a whole.
        if let Some(notes) = self.notes.as_mut().filter(|_| !prefix.is_empty()) {
            let result = match outcome {
                Outcome::Full(hash) => Noted::Hash(hash),
                Outcome::Null => Noted::Null,
                Outcome::Lost(reason) => Noted::Lost(reason),
            };
            notes.push(Note::new(prefix, parts, self.hasher.bytes(), result));
        }
        outcome
    }

    fn hash_parts<'i, 'v: 'i>(
        &mut self,
        nulls: Nulls,
        prefix: &[u8],
        parts: &[Part],
        value_of: impl Fn(usize) -> Option<&'i Value<'v>>,
    ) -> Outcome {
        let mut lost = None;
        self.hasher.begin(prefix);
        let is_null =
            |part: &Part| matches!(part, Part::Column { index, .. } if value_of(*index) == Some(&Value::Null));
        let server_bytes = nulls.server_bytes(is_null);
        for (n, part) in parts.iter().enumerate() {
            let Part::Column { index, form, prefix, second } = part else {
                self.hasher.part(b"?");
                continue;
            };
            match value_of(*index) {
                Some(Value::Null) if matches!(nulls, Nulls::LeaveOut(_)) => {}
                Some(Value::Null) => return Outcome::Null,
                Some(value) => {
                    let written = self.hasher.part_with(|out| {
                        if server_bytes.get(n).is_some_and(|bytes| bytes.append(value, out)) {
                            return Ok(());
                        }
                        nulls.fill(n).into_iter().for_each(|length| out.extend_from_slice(&length.to_be_bytes()));
                        let start = out.len();
                        form.append(value, *prefix, out)?;
                        if let Some(second) = second {
                            second.apply(out, start);
                        }
                        Ok(())
                    });
                    lost = lost.or(written.err());
                }
                None => lost = lost.or(Some(Reason::MissingKeyColumn)),
            }
        }
        lost.map_or_else(|| Outcome::Full(self.hasher.finish()), Outcome::Lost)
    }
}
