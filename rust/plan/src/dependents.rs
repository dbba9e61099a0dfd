//! Transactions that depend on others which are to be undone (rule R38).

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, Hasher};

use paraply_binlog::rows::filter::TableFilter;
use paraply_binlog::rows::known_tables::{KnownTable, KnownTables, Unusable};
use paraply_binlog::rows::row_walk::{RowPlan, RowsError};
use paraply_binlog::rows::step_rows::{StepRow, Values, step_rows};
use paraply_binlog::transaction::{Format, Kind, Transaction};
use paraply_core::schema::{Catalog, TableName};
use paraply_core::write_set::{Row, WriteSet, WriteSetBuilder, table_hash};

use crate::row_links::RowLinks;
use crate::write_sets::{Options, may_be_checked_by_flags};

/// Most hashes that are returned of a dependent.
const MOST_NAMED: usize = 4;

/// Database of the progress of channels, whose rows are nobody's data.
const OWN_DATABASE: &str = "paraply";

/// Error of the search.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// A row event is damaged.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// The keys of a table that an undone transaction changes are not known.
    #[error("the keys of {table} are not known: {reason}")]
    UnknownKeys {
        /// The table.
        table: TableName,
        /// The reason.
        reason: &'static str,
    },
}

/// Finds the transactions that depend on undone ones, one batch after another.
#[derive(Debug, Default)]
pub struct DependentFinder {
    options: Options,
    filter: TableFilter,
    /// Dependents are kept: they are not undone, and nothing depends on them.
    keep: bool,
    known: KnownTables,
    plan: RowPlan,
    /// Keys that undone transactions wrote.
    written: HashSet<u64>,
    /// Parent keys to which rows refer that the undoing brings back.
    returning: HashSet<u64>,
    /// Keys that kept dependents use.
    kept: HashSet<u64>,
    /// Keys of undone row changes, if dependents are kept.
    links: RowLinks,
    /// Tables without any key that undone transactions change; their rows are compared by their whole content.
    keyless: HashSet<TableName>,
    /// Tables that undone transactions change, and how many rows.
    affected: HashMap<TableName, u64>,
}

impl DependentFinder {
    /// Creates a finder.
    ///
    /// # Arguments
    ///
    /// * `filter`: tables whose rows are undone.
    /// * `keep`: true if dependents are not undone.
    pub fn new(filter: TableFilter, keep: bool) -> Self {
        Self { filter, keep, options: options(), ..Self::default() }
    }

    /// Returns the tables that undone transactions change, and the numbers of rows.
    pub fn affected(&self) -> &HashMap<TableName, u64> {
        &self.affected
    }

    /// Returns the keys that kept dependents use, with those of all row changes that stay because of them.
    pub fn kept(&self) -> HashSet<u64> {
        self.links.connected(&self.kept)
    }

    /// Looks at one transaction, and returns how it depends on the undone ones.
    ///
    /// # Errors
    ///
    /// [`SearchError`]
    pub fn observe(
        &mut self,
        transaction: &Transaction,
        set: &WriteSet,
        catalog: &Catalog,
        chosen: bool,
    ) -> Result<Option<(Vec<u64>, bool)>, SearchError> {
        if chosen {
            let rest = self.add(transaction, catalog, false)?;
            // The rest of a transaction of which only some tables are undone may depend on that part.
            let hashes = self.touched(&rest);
            return if hashes.is_empty() {
                Ok(None)
            } else {
                self.found(transaction, &rest, catalog, hashes).map(Some)
            };
        }
        if self.affected.is_empty() || transaction.events.is_empty() {
            return Ok(None);
        }
        let mut hashes = self.touched(set);
        let mut depends = !hashes.is_empty();
        if !depends && self.touches_keyless(transaction, catalog)? {
            depends = true;
        }
        if !depends && set.exclusive.iter().any(|hash| self.returning.contains(hash)) {
            hashes = self.removes_parents(transaction, catalog)?;
            depends = !hashes.is_empty();
        }
        if depends {
            return self.found(transaction, set, catalog, hashes).map(Some);
        }
        if set.barrier && transaction.kind != Kind::Ddl && self.touches_affected(transaction, catalog)? {
            return Ok(Some((Vec::new(), true)));
        }
        Ok(None)
    }

    fn found(
        &mut self,
        transaction: &Transaction,
        set: &WriteSet,
        catalog: &Catalog,
        hashes: Vec<u64>,
    ) -> Result<(Vec<u64>, bool), SearchError> {
        if self.keep {
            self.kept.extend(set.exclusive.iter().chain(&set.shared));
            self.keep_keyless(transaction, catalog)?;
        } else {
            self.add(transaction, catalog, true)?;
        }
        Ok((hashes, false))
    }

    fn touched(&self, set: &WriteSet) -> Vec<u64> {
        let touched = set.exclusive.iter().chain(&set.shared).filter(|hash| self.written.contains(hash));
        touched.copied().take(MOST_NAMED).collect()
    }

    /// Adds the keys of an undone transaction; returns those of its rows that are not undone.
    fn add(&mut self, transaction: &Transaction, catalog: &Catalog, whole: bool) -> Result<WriteSet, SearchError> {
        let options = self.options.for_format(&transaction.format);
        let (mut undone, mut rest) = (WriteSetBuilder::new(options), WriteSetBuilder::new(options));
        let (mut returning, mut single) = (WriteSetBuilder::new(options), WriteSetBuilder::new(options));
        // Tables that are not undone, and whose definition is not the log's.
        let mut unknown = Vec::new();
        self.plan.prepare(transaction, catalog, &mut self.known)?;
        for step in self.plan.steps() {
            let Some(table) = self.known.get(step.table) else { continue };
            let name = &table.map.name;
            if name.database == OWN_DATABASE {
                continue;
            }
            let is_undone = whole || self.filter.chooses(&name.database, &name.table);
            let definition = match &table.definition {
                Ok(definition) => definition,
                Err(reason) if is_undone => return Err(unknown_keys(table, *reason)),
                Err(reason) => {
                    unknown.push((name.clone(), *reason));
                    continue;
                }
            };
            let keyless = is_keyless(table, catalog);
            let rows = step_rows(transaction, *step, &self.known)?;
            if is_undone {
                *self.affected.entry(name.clone()).or_default() += rows.rows.len() as u64;
                if keyless {
                    self.keyless.insert(name.clone());
                }
            }
            for (index, row) in rows.rows.iter().enumerate() {
                let checks = may_be_checked_by_flags(table, rows.flags, index == 0);
                let hashed = hashed(row, checks);
                if !is_undone {
                    let plan = rest.plan_of(catalog, definition);
                    rest.add_row(&plan, &hashed);
                    continue;
                }
                if keyless {
                    self.written.extend(image_hashes(name, row));
                }
                if self.keep && keyless {
                    let images: Vec<u64> = image_hashes(name, row).collect();
                    self.links.add(&images, std::iter::empty(), &[]);
                } else if self.keep {
                    let set_of = |row: &Row<'_, '_>| {
                        let plan = single.plan_of(catalog, definition);
                        single.add_row(&plan, row);
                        single.finish()
                    };
                    link(&mut self.links, &hashed, set_of);
                }
                let plan = undone.plan_of(catalog, definition);
                undone.add_row(&plan, &hashed);
                if hashed.before.is_some() {
                    let plan = returning.plan_of(catalog, definition);
                    returning.add_row(&plan, &Row { after: None, ..hashed });
                }
            }
        }
        if let Some((table, reason)) = unknown.into_iter().find(|(table, _)| self.is_related(table, catalog)) {
            return Err(SearchError::UnknownKeys { table, reason: reason.reason() });
        }
        let set = undone.finish();
        if set.barrier {
            let table = self.plan.steps().first().and_then(|step| self.known.get(step.table));
            let table = table.map_or_else(|| TableName::new("", ""), |table| table.map.name.clone());
            return Err(SearchError::UnknownKeys { table, reason: "a key's value is not known from the log" });
        }
        let keyless: HashSet<u64> = self.keyless.iter().map(table_hash).collect();
        self.written.extend(set.exclusive.into_iter().filter(|hash| !keyless.contains(hash)));
        self.returning.extend(returning.finish().shared);
        Ok(rest.finish())
    }

    /// Returns true if a transaction changes a row that equals an undone one, in a table without a key.
    fn touches_keyless(&mut self, transaction: &Transaction, catalog: &Catalog) -> Result<bool, SearchError> {
        if self.keyless.is_empty() {
            return Ok(false);
        }
        let mut touches = false;
        let (keyless, written) = (&self.keyless, &self.written);
        self.plan.prepare(transaction, catalog, &mut self.known)?;
        for step in self.plan.steps() {
            let Some(table) = self.known.get(step.table) else { continue };
            if keyless.contains(&table.map.name) {
                let rows = step_rows(transaction, *step, &self.known)?;
                touches |=
                    rows.rows.iter().flat_map(|row| image_hashes(&table.map.name, row)).any(|h| written.contains(&h));
            }
        }
        Ok(touches)
    }

    fn keep_keyless(&mut self, transaction: &Transaction, catalog: &Catalog) -> Result<(), SearchError> {
        let keyless: HashSet<u64> = self.keyless.iter().map(table_hash).collect();
        self.kept.retain(|hash| !keyless.contains(hash));
        self.plan.prepare(transaction, catalog, &mut self.known)?;
        for step in self.plan.steps() {
            let Some(table) = self.known.get(step.table) else { continue };
            if self.keyless.contains(&table.map.name) {
                let rows = step_rows(transaction, *step, &self.known)?;
                self.kept.extend(rows.rows.iter().flat_map(|row| image_hashes(&table.map.name, row)));
            }
        }
        Ok(())
    }

    /// Returns the parent keys that a transaction removes, of rows that the undoing brings back.
    fn removes_parents(&mut self, transaction: &Transaction, catalog: &Catalog) -> Result<Vec<u64>, SearchError> {
        let options = self.options.for_format(&transaction.format);
        let (mut before, mut after) = (WriteSetBuilder::new(options), WriteSetBuilder::new(options));
        self.plan.prepare(transaction, catalog, &mut self.known)?;
        for step in self.plan.steps() {
            let Some(table) = self.known.get(step.table) else { continue };
            let Ok(definition) = &table.definition else { continue };
            let rows = step_rows(transaction, *step, &self.known)?;
            for row in &rows.rows {
                let whole = hashed(row, true);
                for (builder, row) in
                    [(&mut before, Row { after: None, ..whole }), (&mut after, Row { before: None, ..whole })]
                {
                    let plan = builder.plan_of(catalog, definition);
                    builder.add_row(&plan, &row);
                }
            }
        }
        let after: HashSet<u64> = after.finish().exclusive.into_iter().collect();
        let removed = before.finish().exclusive.into_iter();
        let removed = removed.filter(|hash| self.returning.contains(hash) && !after.contains(hash));
        Ok(removed.take(MOST_NAMED).collect())
    }

    fn touches_affected(&mut self, transaction: &Transaction, catalog: &Catalog) -> Result<bool, SearchError> {
        self.plan.prepare(transaction, catalog, &mut self.known)?;
        let tables = self.plan.steps().iter().filter_map(|step| self.known.get(step.table));
        Ok(tables.map(|table| &table.map.name).any(|name| self.is_related(name, catalog)))
    }

    /// Returns true if undone transactions change a table, or one that it has a foreign key in common with.
    fn is_related(&self, name: &TableName, catalog: &Catalog) -> bool {
        let is_affected = |name: &TableName| self.affected.contains_key(name);
        let table = catalog.get(name);
        is_affected(name)
            || catalog.children(name).iter().any(|child| is_affected(&child.name))
            || table.is_some_and(|table| table.foreign_keys.iter().any(|key| is_affected(&key.parent)))
    }
}

/// Connects the keys of one undone row change.
fn link(links: &mut RowLinks, row: &Row<'_, '_>, mut set_of: impl FnMut(&Row<'_, '_>) -> WriteSet) {
    let whole = set_of(&Row { foreign_key_checks: true, ..*row });
    let before: HashSet<u64> = set_of(&Row { after: None, ..*row }).exclusive.into_iter().collect();
    let after: HashSet<u64> = set_of(&Row { before: None, ..*row }).exclusive.into_iter().collect();
    links.add(&whole.exclusive, before.symmetric_difference(&after).copied(), &whole.shared);
}

/// Returns true if a kept dependent uses a key of a row, or an equal row of a table without a key.
pub fn uses_kept<S: BuildHasher>(
    kept: &HashSet<u64, S>,
    table: &KnownTable,
    catalog: &Catalog,
    format: &Format,
    row: &StepRow<'_>,
) -> bool {
    let Ok(definition) = &table.definition else { return false };
    if is_keyless(table, catalog) {
        return image_hashes(&table.map.name, row).any(|hash| kept.contains(&hash));
    }
    let mut builder = WriteSetBuilder::new(options().for_format(format));
    let plan = builder.plan_of(catalog, definition);
    builder.add_row(&plan, &hashed(row, true));
    builder.finish().exclusive.iter().any(|hash| kept.contains(hash))
}

/// Returns the options of the exact keys of scheme `fine`.
fn options() -> Options {
    Options { partial_images: true, ..Options::default() }
}

fn hashed<'r, 'v>(row: &'r StepRow<'v>, foreign_key_checks: bool) -> Row<'r, 'v> {
    Row { before: row.before.as_deref(), after: row.after.as_deref(), foreign_key_checks }
}

fn unknown_keys(table: &KnownTable, reason: Unusable) -> SearchError {
    SearchError::UnknownKeys { table: table.map.name.clone(), reason: reason.reason() }
}

/// Returns true if nothing but its whole content identifies a row, and no foreign key refers to the table.
fn is_keyless(table: &KnownTable, catalog: &Catalog) -> bool {
    let no_key = table.definition.as_ref().is_ok_and(|definition| definition.unique_keys.is_empty());
    no_key && catalog.children(&table.map.name).is_empty()
}

/// Returns hashes of the whole content of a row before and after its change.
fn image_hashes<'r>(table: &'r TableName, row: &'r StepRow<'_>) -> impl Iterator<Item = u64> + use<'r> {
    let hash = |image: &Values<'_>| {
        let mut hasher = DefaultHasher::new();
        (table, format!("{image:?}")).hash(&mut hasher);
        hasher.finish()
    };
    let hashes: Vec<u64> = [&row.before, &row.after].into_iter().flatten().map(hash).collect();
    hashes.into_iter()
}
