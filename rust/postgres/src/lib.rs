//! PostgreSQL as a target: row changes become statements in SQL text.
//!
//! [`mapping`] defines how each column of a source table is written, [`literal`] writes one value, [`render`] turns row
//! changes into statements in the log's order and counts the rows that each of them must affect (R32), [`sets`] turns those
//! of a block into few statements for many rows.

#![forbid(unsafe_code)]

mod conditions;
pub mod error;
mod events;
pub mod exact;
mod generated;
pub mod json;
mod json_patch;
pub mod literal;
pub mod mapping;
pub mod render;
pub mod renderer;
pub mod sets;

pub use error::{NotStorable, RenderError};
pub use events::{Form, Part};
pub use mapping::{ColumnMapping, Kind, MappingError, TableMapping};
pub use render::{Change, Statement, StatementWriter};
pub use renderer::Renderer;
pub use sets::SetWriter;
