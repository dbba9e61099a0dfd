//! Transactions, rows, write sets and certification as Arrow record batches.
//!
//! Nothing in this crate knows Python: batches come in and go out as [`arrow_array::RecordBatch`].

#![forbid(unsafe_code)]

pub mod batch;
pub mod certifier_batch;
pub mod error;
mod image_columns;
pub mod recording;
pub mod resolver;
pub mod rows;
pub mod trace;
pub mod values;

pub use batch::Batch;
pub use error::Error;
pub use image_columns::Wanted;
