//! Table maps: what the source's tables looked like when their rows were written.

use std::collections::HashSet;

use paraply_binlog::table_map::{MappedColumn, TableMap, TABLE_MAP_EVENT};
use paraply_binlog::transaction::Transaction;
use pyo3::prelude::*;

use crate::errors::log_error;
