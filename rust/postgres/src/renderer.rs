//! Tables and prepared statements, shared by all workers.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use paraply_core::schema::TableName;

use super::error::RenderError;
use super::mapping::TableMapping;

/// Most different statements that are prepared. A log of partial row images may write any combination of columns.
const MOST_PREPARED: usize = 4096;

/// Uses of a statement from which on it is prepared: planning it twice costs less than preparing it for nothing.
const USES_BEFORE_PREPARED: u32 = 2;

/// Failures of sets of one table, each repeated row by row with success, after which its rows are no longer put into
/// sets.
const MOST_REPEATS: u32 = 3;

/// The known tables; shared by all workers.
///
/// Definitions are those of the block that is rendered: they change only while no other block is in flight, in the DDL
/// block that changes them, which is a barrier.
#[derive(Debug, Default)]
pub struct Renderer {
    tables: RwLock<HashMap<TableName, Arc<TableMapping>>>,
    repeats: RwLock<Repeats>,
    prepared: Mutex<Prepared>,
}

#[derive(Debug, Default)]
struct Repeats {
    counts: HashMap<TableName, u32>,
    in_order: HashSet<TableName>,
}

/// The statements that sessions prepare. A name stands for one text for ever, also beside other processes: a pooler may
/// give a session the connection of another one, with the statements that are prepared there.
#[derive(Debug)]
struct Prepared {
    process: u64,
    uses: HashMap<Arc<str>, (u32, Option<Arc<str>>)>,
    texts: HashMap<Arc<str>, Arc<str>>,
}

impl Default for Prepared {
    fn default() -> Self {
        Self { process: RandomState::new().hash_one(std::process::id()), uses: HashMap::new(), texts: HashMap::new() }
    }
}

impl Renderer {
    /// Creates a renderer that knows no table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a table or replaces its definition.
    pub fn define(&self, mapping: TableMapping) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.insert(mapping.source.clone(), Arc::new(mapping));
    }

    /// Forgets a table; an unknown one is ignored.
    pub fn forget(&self, name: &TableName) {
        self.tables.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    /// Returns the definition of a table.
    pub fn table(&self, name: &TableName) -> Result<Arc<TableMapping>, RenderError> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.get(name).cloned().ok_or_else(|| RenderError::UnknownTable { table: name.clone() })
    }

    /// Counts a set of a table that failed where its rows, one after the other, did not.
    ///
    /// The target then has a rule that the order of the rows matters to, such as a foreign key or an exclusion
    /// constraint. After some of these failures the rows of the table are written one by one, in the log's order.
    pub fn set_repeated(&self, table: &TableName) {
        let mut repeats = self.repeats.write().unwrap_or_else(PoisonError::into_inner);
        let count = repeats.counts.entry(table.clone()).or_default();
        *count += 1;
        if *count >= MOST_REPEATS {
            repeats.in_order.insert(table.clone());
        }
    }

    /// Returns the tables whose rows are written one by one, in the log's order.
    pub(super) fn tables_in_order(&self) -> HashSet<TableName> {
        self.repeats.read().unwrap_or_else(PoisonError::into_inner).in_order.clone()
    }

    /// Returns the name under which a statement is prepared, given by its types and text; none if it is not worth it.
    pub(super) fn prepared_name(&self, text: &str) -> Option<Arc<str>> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let Prepared { process, uses, texts } = &mut *prepared;
        if let Some((count, name)) = uses.get_mut(text) {
            *count = count.saturating_add(1);
            if name.is_none() && *count >= USES_BEFORE_PREPARED && texts.len() < MOST_PREPARED {
                let new: Arc<str> = format!("paraply_{process:016x}_{}", texts.len() + 1).into();
                texts.insert(Arc::clone(&new), text.into());
                *name = Some(new);
            }
            return name.clone();
        }
        if uses.len() >= 4 * MOST_PREPARED {
            uses.retain(|_, (_, name)| name.is_some());
        }
        uses.insert(text.into(), (1, None));
        None
    }

    /// Returns the statement that prepares one; none for an unknown name.
    pub fn preparation(&self, name: &str) -> Option<String> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        prepared.texts.get(name).map(|text| format!("PREPARE {name} {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_prepared_statements_are_those_of_one_process() {
        let name = |renderer: &Renderer| {
            renderer.prepared_name("() AS SELECT").or_else(|| renderer.prepared_name("() AS SELECT"))
        };
        let (one, two) = (Renderer::new(), Renderer::new());
        assert!(name(&one).is_some());
        assert_ne!(name(&one), name(&two), "a pooler may keep what another process prepared");
    }

    #[test]
    fn a_statement_is_prepared_from_its_second_use_on() {
        let renderer = Renderer::new();
        assert_eq!(renderer.prepared_name("(integer[]) AS DELETE"), None);
        let name = renderer.prepared_name("(integer[]) AS DELETE").unwrap();
        assert_eq!(renderer.prepared_name("(integer[]) AS DELETE"), Some(Arc::clone(&name)));
        assert_eq!(renderer.preparation(&name).unwrap(), format!("PREPARE {name} (integer[]) AS DELETE"));
        assert_eq!(renderer.preparation("other"), None);
    }

    #[test]
    fn the_number_of_prepared_statements_is_bounded() {
        let renderer = Renderer::new();
        let texts: Vec<String> = (0..MOST_PREPARED + 10).map(|n| n.to_string()).collect();
        let named = texts.iter().filter(|t| renderer.prepared_name(t).or_else(|| renderer.prepared_name(t)).is_some());
        assert_eq!(named.count(), MOST_PREPARED);
        assert!(renderer.prepared_name("0").is_some(), "known ones stay");
    }

    #[test]
    fn a_table_leaves_the_sets_after_some_repeats() {
        let (renderer, table) = (Renderer::new(), TableName::new("d", "t"));
        for _ in 1..MOST_REPEATS {
            renderer.set_repeated(&table);
        }
        assert!(renderer.tables_in_order().is_empty());
        renderer.set_repeated(&table);
        assert!(renderer.tables_in_order().contains(&table));
    }
}
