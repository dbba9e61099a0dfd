//! Parts of keys, with what the server hashes of them besides.

use super::server_cut::Cut;
use super::value_form::ValueForm;

/// One part of a key.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// A column's value, or its first characters, or as much of its form as the server hashes.
    Column { index: usize, form: ValueForm, prefix: Option<u32>, second: Option<Second> },
    /// A value that no image has.
    Unknown,
}

/// Second hash of a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Second {
    /// Part of the value that the server hashes.
    pub cut: Option<Cut>,
    /// True if the server fills it to another length than the first time.
    pub filled: bool,
}

impl Second {
    /// Turns the form after `start` into that of the second hash.
    pub(super) fn apply(self, form: &mut Vec<u8>, start: usize) {
        self.cut.into_iter().for_each(|cut| cut.apply(form, start));
        if self.filled {
            form.push(0);
        }
    }
}
