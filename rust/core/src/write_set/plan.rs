//! Plan for hashing a table's rows, made once from the schema.

use super::cascade::{Cascade, affected_neighbours, cascades_of};
use super::fallback::Reason;
use super::hash::{key_prefix, table_hash};
use super::images::LeftOut;
use super::part::{Part, Second};
use super::reference::{Target, server_target, target_of};
use super::server_bytes::ServerBytes;
use super::server_cut::{Again, Hashed};
use super::value_form::ValueForm;
use super::{Options, Scheme};
use crate::generated::Computed;
use crate::schema::{Catalog, ForeignKey, KeyPart, ReferenceAction, Table, TableName, UniqueKey};

/// Plan for hashing the rows of one table.
#[derive(Debug)]
pub struct TablePlan {
    pub(super) name: TableName,
    pub(super) keys: Vec<KeyPlan>,
    pub(super) references: Vec<ReferencePlan>,
    /// The hash of the table itself.
    pub(super) table: u64,
    pub(super) table_access: TableAccess,
    /// Hashes of other tables (and of this one) that every writer takes shared.
    pub(super) shared_tables: Vec<u64>,
    pub(super) cascades: Vec<Cascade>,
    /// Fallback reasons that apply to every row of this table.
    pub(super) fallbacks: Vec<Reason>,
    /// Generated columns that an image may lack although their values change, in the table's order.
    pub(super) left_out: Vec<LeftOut>,
    pub(super) touches_parent: bool,
    pub(super) missing_keys: bool,
    pub(super) separate_tables: bool,
}

/// Way in which each writer takes the table's own hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableAccess {
    /// Not at all: the keys are complete, and a row whose keys are not known is a barrier.
    None,
    /// Shared, so that a writer whose keys are not all known can take it exclusively.
    Shared,
    /// Shared if both images have a full key, else exclusive (rule R14).
    SharedWithFullKey,
    /// Exclusive: a foreign key refers to less than a key of this table.
    Exclusive,
}

/// A unique key.
#[derive(Debug)]
pub(super) struct KeyPlan {
    pub prefix: Vec<u8>,
    pub parts: Vec<Part>,
    /// Parts that the server hashes besides: the same once more with whole values.
    pub whole: Option<Vec<Part>>,
    /// True if the server hashes the same twice instead (R16).
    pub twice: bool,
}

/// A foreign key of this table.
#[derive(Debug)]
pub(super) struct ReferencePlan {
    /// The child's columns under the parent's key name; none where the parent's table counts as one value.
    pub key: Option<KeyPlan>,
    /// The child's columns.
    pub columns: Vec<Part>,
    /// The hash of the parent's table.
    pub table: u64,
    /// True if writers of the parent's table take that hash, so that taking it exclusively blocks them.
    pub table_is_taken: bool,
    /// Under the server's scheme: true if the columns are all of the parent's key.
    pub whole: bool,
    /// Under the server's scheme: byte format of each part where others are left out.
    pub server_bytes: Vec<ServerBytes>,
    /// Under the server's scheme: the length to which each text is filled, where the parent's is filled to another one.
    pub fills: Vec<Option<u32>>,
}

impl ReferencePlan {
    /// Returns the child's columns, in the order of the parent's key if there is one.
    pub(super) fn parts(&self) -> &[Part] {
        self.key.as_ref().map_or(&self.columns, |key| &key.parts)
    }
}

impl TablePlan {
    /// Makes the plan of a table.
    pub fn new(table: &Table, catalog: &Catalog, options: Options) -> Self {
        let keys: Vec<KeyPlan> = table.unique_keys.iter().map(|key| key_plan(table, key, options)).collect();
        let mut fallbacks = key_fallbacks(&keys);
        let references = match options.scheme {
            Scheme::Group => group_references(table, catalog, options, &mut fallbacks),
            Scheme::Fine => fine_references(table, catalog, options, &mut fallbacks),
        };
        let fine = options.scheme == Scheme::Fine;
        let cascading = fine && !options.cascades_logged;
        let access = if fine { table_access(table, catalog, options) } else { TableAccess::None };
        if access == TableAccess::Exclusive {
            fallbacks.push(Reason::NonUniqueParentKey);
        }
        fallbacks.sort_unstable();
        fallbacks.dedup();
        Self {
            name: table.name.clone(),
            keys,
            references,
            table: table_hash(&table.name),
            table_access: access,
            shared_tables: if cascading { affected_neighbours(table, catalog) } else { Vec::new() },
            cascades: if cascading { cascades_of(table, catalog) } else { Vec::new() },
            fallbacks,
            left_out: if fine && options.generated_left_out { left_out(table) } else { Vec::new() },
            // The server ignores foreign keys where it finds no key to hash.
            touches_parent: has_server_key(table) && !catalog.children(&table.name).is_empty(),
            missing_keys: !has_server_key(table),
            separate_tables: cascades_reach_generated(table),
        }
    }

    /// Returns the table.
    pub fn name(&self) -> &TableName {
        &self.name
    }
}

/// Returns true if foreign keys may change rows of the table, and with them its generated columns.
fn cascades_reach_generated(table: &Table) -> bool {
    let changes =
        |key: &ForeignKey| [key.on_delete, key.on_update].iter().any(|&action| action != ReferenceAction::Refuse);
    table.columns.iter().any(|column| column.generated.is_some()) && table.foreign_keys.iter().any(changes)
}

/// Returns the generated columns of a table.
fn left_out(table: &Table) -> Vec<LeftOut> {
    let generated = table.columns.iter().enumerate().filter(|(_, column)| column.generated.is_some());
    generated.map(|(column, _)| LeftOut { column, computed: Computed::of(table, column) }).collect()
}

/// Returns true if the server finds a key that identifies rows: a primary key, even over prefixes, or a unique key of
/// whole columns that are declared NOT NULL.
fn has_server_key(table: &Table) -> bool {
    let counts = |part: &KeyPart| match part {
        KeyPart::Column(index) => table.columns.get(*index).is_some_and(|column| !column.nullable),
        KeyPart::Prefix { .. } | KeyPart::Expression => false,
    };
    let told_apart = |key: &UniqueKey| key.name == "PRIMARY" || key.parts.iter().all(counts);
    table.unique_keys.iter().any(|key| !key.parts.is_empty() && told_apart(key))
}

/// Returns true if the parts of some unique key are all declared NOT NULL.
fn has_declared_key(table: &Table) -> bool {
    let set = |part: &KeyPart| match part {
        KeyPart::Column(index) | KeyPart::Prefix { column: index, .. } => {
            table.columns.get(*index).is_some_and(|column| !column.nullable)
        }
        KeyPart::Expression => false,
    };
    table.unique_keys.iter().any(|key| !key.parts.is_empty() && key.parts.iter().all(set))
}

fn table_access(table: &Table, catalog: &Catalog, options: Options) -> TableAccess {
    let children = catalog.children(&table.name);
    let referred_by_less = children.iter().any(|child| {
        let own = child.foreign_keys.iter().filter(|key| key.parent == table.name);
        own.into_iter().any(|key| matches!(target_of(child, key, catalog, options.bytewise), Target::Table(_)))
    });
    if referred_by_less {
        TableAccess::Exclusive
    } else if !has_declared_key(table) {
        TableAccess::SharedWithFullKey
    } else if options.partial_images && (table.unique_keys.len() > 1 || !children.is_empty()) {
        TableAccess::Shared
    } else {
        TableAccess::None
    }
}

fn key_plan(table: &Table, key: &UniqueKey, options: Options) -> KeyPlan {
    let again = |part: &KeyPart| match *part {
        KeyPart::Column(index) => table.columns.get(index).map(|column| Again::of(column, None)),
        KeyPart::Prefix { column, length } => table.columns.get(column).map(|column| Again::of(column, Some(length))),
        KeyPart::Expression => None,
    };
    let again: Vec<Again> = key.parts.iter().map(|part| again(part).unwrap_or(Again::Alike)).collect();
    let is_twofold = options.scheme == Scheme::Group && again.iter().any(|part| *part != Again::Alike);
    let is_same = |(part, again): (&KeyPart, &Again)| {
        matches!(part, KeyPart::Column(_)) && *again != Again::Otherwise { filled: true }
    };
    let twice = is_twofold && key.parts.iter().zip(&again).all(is_same);
    let whole = || key.parts.iter().zip(&again).map(|(part, again)| whole_part(table, part, *again, options)).collect();
    KeyPlan {
        prefix: key_prefix(&key.name, &table.name),
        parts: key.parts.iter().map(|part| key_part(table, part, options)).collect(),
        whole: (is_twofold && !twice).then(whole),
        twice,
    }
}

fn key_part(table: &Table, part: &KeyPart, options: Options) -> Part {
    let (index, prefix) = match *part {
        KeyPart::Column(index) => (index, None),
        KeyPart::Prefix { column, length } => (column, Some(length)),
        KeyPart::Expression => return Part::Unknown,
    };
    let Some(column) = table.columns.get(index) else { return Part::Unknown };
    let form = ValueForm::of(column, options.bytewise);
    Part::Column { index, form, prefix, second: None }
}

/// Returns a part with the whole value, or as much of it as the server hashes.
fn whole_part(table: &Table, part: &KeyPart, again: Again, options: Options) -> Part {
    let Part::Column { index, form, .. } = key_part(table, part, options) else { return Part::Unknown };
    let filled = again == Again::Otherwise { filled: true };
    let hashed = table.columns.get(index).filter(|_| !options.bytewise).map_or(Hashed::Whole, Hashed::of);
    let whole = |form, cut| Part::Column { index, form, prefix: None, second: Some(Second { cut, filled }) };
    match hashed {
        Hashed::Whole => whole(form, None),
        Hashed::Beginning(cut) => whole(form, Some(cut)),
        Hashed::Unknown => whole(ValueForm::Unknown(Reason::UnknownCollation), None),
    }
}

fn key_fallbacks(keys: &[KeyPlan]) -> Vec<Reason> {
    let parts = keys.iter().flat_map(|key| key.parts.iter().chain(key.whole.iter().flatten()));
    parts
        .filter_map(|part| match part {
            Part::Unknown => Some(Reason::ExpressionKey),
            Part::Column { form: ValueForm::Unknown(reason), .. } => Some(*reason),
            Part::Column { .. } => None,
        })
        .collect()
}

/// Returns the references under the server's scheme: a unique key of the parent must begin with the reference's
/// columns.
fn group_references(
    table: &Table,
    catalog: &Catalog,
    options: Options,
    fallbacks: &mut Vec<Reason>,
) -> Vec<ReferencePlan> {
    let mut references = Vec::new();
    for key in &table.foreign_keys {
        match server_target(table, key, catalog) {
            Ok(Some(server)) => {
                let plan = reference(table, key, Some((server.prefix, key.columns.as_slice())), false, options);
                let columns = key.columns.iter().filter_map(|index| table.columns.get(*index));
                let server_bytes = columns.map(ServerBytes::of).collect();
                let (whole, fills) = (server.whole, server.fills);
                references.push(ReferencePlan { whole, server_bytes, fills, ..plan });
            }
            Ok(None) => {}
            Err(reason) => fallbacks.push(reason),
        }
    }
    references
}

fn fine_references(
    table: &Table,
    catalog: &Catalog,
    options: Options,
    fallbacks: &mut Vec<Reason>,
) -> Vec<ReferencePlan> {
    let mut references = Vec::new();
    for key in &table.foreign_keys {
        let taken = catalog.get(&key.parent).is_some_and(|p| table_access(p, catalog, options) != TableAccess::None);
        match target_of(table, key, catalog, options.bytewise) {
            Target::Key { name, columns } => {
                let prefix = key_prefix(&name, &key.parent);
                references.push(reference(table, key, Some((prefix, columns.as_slice())), taken, options));
            }
            Target::Table(reason) => {
                fallbacks.push(reason);
                // Writers of a table that is not known are barriers; no hash has to be taken against them.
                references.push(reference(table, key, None, taken || reason == Reason::UnknownParent, options));
            }
        }
    }
    references
}

fn reference(
    table: &Table,
    key: &ForeignKey,
    target: Option<(Vec<u8>, &[usize])>,
    table_is_taken: bool,
    options: Options,
) -> ReferencePlan {
    let part = |index: &usize| key_part(table, &KeyPart::Column(*index), options);
    ReferencePlan {
        key: target.map(|(prefix, columns)| KeyPlan {
            prefix,
            parts: columns.iter().map(part).collect(),
            whole: None,
            twice: false,
        }),
        columns: key.columns.iter().map(part).collect(),
        table: table_hash(&key.parent),
        table_is_taken,
        whole: true,
        server_bytes: Vec::new(),
        fills: Vec::new(),
    }
}
