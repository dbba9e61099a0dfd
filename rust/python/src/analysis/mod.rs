//! Recording of logs, and simulation of appliers.

pub mod key_names;
pub mod recorder;
pub mod recording;
pub mod results;
