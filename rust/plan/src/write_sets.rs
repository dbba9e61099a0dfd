//! Write sets of transactions, from their row events (rules R5, R11 to R15a, R35).

pub use paraply_core::write_set::Scheme;

use paraply_binlog::rows::known_tables::{Cascades, KnownTable, KnownTables, Unusable};
use paraply_binlog::rows::logged_cascades::may_log_cascades;
use paraply_binlog::rows::row_walk::{RowPlan, RowsError};
use paraply_binlog::rows::{NO_FOREIGN_KEY_CHECKS, RowsHeader, SQL_FOREIGN_KEYS};
use paraply_binlog::transaction::{Format, Kind, RowsKind, Transaction};
use paraply_core::schema::Catalog;
use paraply_core::write_set::{Fallbacks, Options as HashOptions, Reason, Row as HashedRow, WriteSet, WriteSetBuilder};

/// Options for hashing rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Party whose conflicts the hashes show.
    pub scheme: Scheme,
    /// For tests only: hash text by its bytes as if collations did not exist.
    pub bytewise: bool,
    /// The log is known to have partial row images; must stay the same for a whole log.
    pub partial_images: bool,
    /// True to keep the hashes of each row event, too.
    pub by_event: bool,
    /// Number of hashes of one transaction that are kept; one with more becomes a barrier. Zero for all.
    pub most_keys: usize,
}

impl Options {
    pub(crate) fn for_format(self, format: &Format) -> HashOptions {
        HashOptions {
            scheme: self.scheme,
            cascades_logged: may_log_cascades(format),
            partial_images: self.partial_images,
            generated_left_out: format.mariadb,
            bytewise: self.bytewise,
        }
    }
}

/// Memory and look-ups that are kept from one transaction to the next.
///
/// One scratch serves one log. Transactions of servers that differ in logging cascades are separated by a barrier where
/// the version changes.
#[derive(Debug, Default)]
pub struct Scratch {
    options: Options,
    builder: WriteSetBuilder,
    in_use: Option<HashOptions>,
    known: KnownTables,
    plan: RowPlan,
    fallbacks: Fallbacks,
}

impl Scratch {
    /// Creates an empty scratch.
    pub fn new(options: Options) -> Self {
        let known = if options.scheme == Scheme::Group { KnownTables::with_previous() } else { KnownTables::default() };
        Self { options, known, ..Self::default() }
    }

    /// Returns the fallbacks counted since the last call.
    pub fn take_fallbacks(&mut self) -> Fallbacks {
        let mut fallbacks = self.builder.take_fallbacks();
        fallbacks.merge(&std::mem::take(&mut self.fallbacks));
        fallbacks
    }

    /// Sets the options for a transaction's format; returns true if they changed.
    fn switch_options(&mut self, format: &Format) -> bool {
        let wanted = self.options.for_format(format);
        if self.in_use == Some(wanted) {
            return false;
        }
        self.fallbacks.merge(&self.builder.take_fallbacks());
        self.builder = WriteSetBuilder::new(wanted);
        self.in_use.replace(wanted).is_some()
    }
}

/// Returns the write set of a transaction, under the catalog that was valid when its rows were written.
///
/// Transactions that are no plain row changes are barriers (rules R5 and R35). So are transactions whose tables are not
/// known or differ from the log (rule R13), or whose rows cannot be decoded without a definition. A group's certifier
/// and a source's tracker hash the rows of XA PREPARE (rule R16); for the applier it is a barrier.
pub fn transaction_write_set(
    transaction: &Transaction,
    catalog: &Catalog,
    scratch: &mut Scratch,
) -> Result<WriteSet, RowsError> {
    let switched = scratch.switch_options(&transaction.format);
    let prepared = scratch.options.scheme == Scheme::Group && transaction.kind == Kind::XaPrepare;
    if transaction.kind != Kind::Dml && !prepared {
        return Ok(WriteSet { barrier: true, ..WriteSet::default() });
    }
    let Scratch { builder, known, plan, fallbacks, options, .. } = scratch;
    plan.prepare(transaction, catalog, known)?;
    if plan.has_unknown_fractions(known) {
        for table in plan.unknown_fractions(known) {
            fallbacks.add(
                table.definition.as_ref().err().map_or(Reason::OtherDefinition, |why| reason(*why)),
                &table.map.name,
            );
        }
        return Ok(WriteSet { barrier: true, ..WriteSet::default() });
    }
    let fine = options.scheme == Scheme::Fine;
    let watches_cascades = fine && may_log_cascades(&transaction.format);
    let mut barrier = switched && fine;
    let mut hash_plan = None;
    let mut event_at = None;
    let (by_event, most_keys) = (options.by_event, options.most_keys);
    let mut gave_up = false;
    let walked = plan.walk(transaction, known, |step, table, header, row| {
        let name = &table.map.name;
        let definition = match &table.definition {
            Ok(definition) => definition,
            Err(unusable) => {
                fallbacks.add(reason(*unusable), name);
                barrier = true;
                return;
            }
        };
        if watches_cascades && hides_cascades(table, header) {
            fallbacks.add(Reason::CascadeNotLogged, name);
            barrier = true;
        }
        if hash_plan.as_ref().is_none_or(|(of, _)| *of != step.table) {
            hash_plan = Some((step.table, builder.plan_of(catalog, definition)));
        }
        let Some((_, plan)) = &hash_plan else { return };
        if gave_up {
            builder.pass_over(plan);
            return;
        }
        let first = event_at.replace(step.event) != Some(step.event);
        if by_event && first {
            builder.begin_event(step.event);
        }
        if !fine && !first && hides_checks(table, header) {
            fallbacks.add(Reason::CascadeIntoItself, name);
        }
        let foreign_key_checks = may_be_checked(table, header, first);
        builder.add_row(plan, &HashedRow { before: row.before, after: row.after, foreign_key_checks });
        if most_keys != 0 && builder.distinct() > most_keys {
            builder.give_up_keys(name);
            gave_up = true;
        }
    });
    // Also after an error, so that nothing of this transaction is left for the next one.
    let mut set = builder.finish();
    walked?;
    set.barrier |= barrier;
    set.too_many &= !barrier;
    Ok(set)
}

/// Returns the write sets of a batch in order, and the fallbacks.
pub fn batch_write_sets(
    transactions: &[Transaction],
    catalog: &Catalog,
    options: &Options,
) -> Result<(Vec<WriteSet>, Fallbacks), RowsError> {
    let mut scratch = Scratch::new(*options);
    let sets = transactions.iter().map(|transaction| transaction_write_set(transaction, catalog, &mut scratch));
    let sets = sets.collect::<Result<Vec<_>, _>>()?;
    Ok((sets, scratch.take_fallbacks()))
}

fn reason(unusable: Unusable) -> Reason {
    match unusable {
        Unusable::UnknownTable => Reason::UnknownTable,
        Unusable::OtherDefinition(_) => Reason::OtherDefinition,
    }
}

/// Returns true if this change of a parent may have changed children that the log does not hold: the storage engine
/// handled the foreign keys, and they were checked.
fn hides_cascades(table: &KnownTable, header: &RowsHeader<'_>) -> bool {
    table.cascades != Cascades::Nowhere
        && header.kind != RowsKind::Insert
        && header.flags & (SQL_FOREIGN_KEYS | NO_FOREIGN_KEY_CHECKS) == 0
}

/// Returns true if it is not known for which rows of an event foreign keys were checked.
///
/// The server writes the rows of a cascade, for which foreign keys are not checked, and the row that began it, for
/// which they are, into one event if they are of one table. The event has the flags of its first row.
fn hides_checks(table: &KnownTable, header: &RowsHeader<'_>) -> bool {
    let cascaded = SQL_FOREIGN_KEYS | NO_FOREIGN_KEY_CHECKS;
    table.cascades == Cascades::ToItself && header.kind != RowsKind::Insert && header.flags & cascaded == cascaded
}

/// Returns true if foreign keys may have been checked for a row of an event (rule R13: also where that is not known).
/// The flags are the `first` row's.
pub(crate) fn may_be_checked(table: &KnownTable, header: &RowsHeader<'_>, first: bool) -> bool {
    header.flags & NO_FOREIGN_KEY_CHECKS == 0 || (!first && hides_checks(table, header))
}

/// Returns the same as [`may_be_checked`] for the flags of an event whose kind is not known: true where in doubt.
pub(crate) fn may_be_checked_by_flags(table: &KnownTable, flags: u16, first: bool) -> bool {
    flags & NO_FOREIGN_KEY_CHECKS == 0 || (!first && table.cascades == Cascades::ToItself)
}

#[cfg(test)]
mod tests;
