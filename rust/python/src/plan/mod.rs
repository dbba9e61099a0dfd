//! Blocks, GTIDs, certification and progress.

pub mod block;
pub mod certifier;
pub mod gtid;
pub mod known_tables;
pub mod ledger;
pub mod numberer;
pub mod planner;
pub mod resolver;
pub mod single_rows;
pub mod stamper;
pub mod verifier;
