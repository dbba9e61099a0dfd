//! Write sets of both schemes, compared with what servers hash and with a plain reference.

mod events;
mod fine;
mod group;
mod reference;
mod tables;
