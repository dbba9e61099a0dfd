//! Weights of characters in the levels after the first. Few combinations occur, so each has a number (its signature),
//! and a text's later levels are written from runs of these numbers.

use std::collections::HashMap;

use super::levels::{Level, PAGE};

/// Value for a level with different weights.
const MIXED: (u16, u16) = (0, u16::MAX);

/// The signatures of all characters, and of sequences that weigh together.
#[derive(Debug, Default)]
pub(super) struct Signatures {
    levels: usize,
    pages: Vec<SignaturePage>,
    /// For each signature and level its weight and the number of its repetitions; or [`MIXED`].
    uniform: Vec<(u16, u16)>,
    /// For each signature and level all weights.
    weights: Vec<Box<[u16]>>,
}

#[derive(Debug)]
enum SignaturePage {
    /// All code points have this signature.
    All(u32),
    Listed(Box<[u32; PAGE]>),
}

/// The numbers that were assigned.
#[derive(Debug, Default)]
pub(super) struct Numbers(HashMap<Vec<u16>, u32>);

impl Signatures {
    /// Assigns numbers to the weights of all characters in some levels; `numbers` is for [`Self::number`].
    pub(super) fn new(levels: &[Level], numbers: &mut Numbers) -> Self {
        let mut out = Self { levels: levels.len(), ..Self::default() };
        let pages = levels.first().map_or(0, |level| level.pages().count());
        let mut each = vec![Vec::new(); levels.len()];
        for page in 0..pages {
            let mut of = |n: usize, out: &mut Self| {
                for (level, weights) in levels.iter().zip(&mut each) {
                    weights.clear();
                    level.weights((page * PAGE + n) as u32, |weight| weights.push(weight));
                }
                out.number(&each, numbers)
            };
            let constant =
                levels.iter().all(|level| level.pages().nth(page).is_some_and(super::levels::Page::is_constant));
            let found = if constant {
                SignaturePage::All(of(0, &mut out))
            } else {
                let mut listed = Box::new([0; PAGE]);
                for (n, signature) in listed.iter_mut().enumerate() {
                    *signature = of(n, &mut out);
                }
                SignaturePage::Listed(listed)
            };
            out.pages.push(found);
        }
        out
    }

    /// Returns the signature with these weights, level by level; a new one unless they are known.
    pub(super) fn number(&mut self, weights: &[Vec<u16>], numbers: &mut Numbers) -> u32 {
        let key: Vec<u16> =
            weights.iter().flat_map(|level| std::iter::once(level.len() as u16).chain(level.iter().copied())).collect();
        let next = numbers.0.len() as u32;
        *numbers.0.entry(key).or_insert_with(|| {
            for level in weights {
                self.uniform.push(match level.split_first() {
                    None => (0, 0),
                    Some((one, rest)) if rest.iter().all(|weight| weight == one) => (*one, level.len() as u16),
                    Some(_) => MIXED,
                });
                self.weights.push(level.clone().into_boxed_slice());
            }
            next
        })
    }

    /// Returns the signature of a character.
    #[inline]
    pub(super) fn of(&self, code_point: u32) -> u32 {
        match self.pages.get(code_point as usize / PAGE) {
            Some(SignaturePage::All(signature)) => *signature,
            Some(SignaturePage::Listed(listed)) => listed[code_point as usize % PAGE],
            None => 0,
        }
    }

    /// Returns the signature that all characters of a page have, if they have one.
    pub(super) fn of_page(&self, page: usize) -> Option<u32> {
        match self.pages.get(page) {
            Some(SignaturePage::All(signature)) => Some(*signature),
            Some(SignaturePage::Listed(_)) => None,
            None => Some(0),
        }
    }

    /// Calls `f` with the weights of `count` repetitions of a signature in one level (0 for the first of the later
    /// levels), each with the number of its repetitions.
    #[inline]
    pub(super) fn weights(&self, signature: u32, count: u32, level: usize, mut f: impl FnMut(u16, u32)) {
        let at = signature as usize * self.levels + level;
        match self.uniform.get(at) {
            Some(&MIXED) => {
                let all = self.weights.get(at).map(AsRef::as_ref).unwrap_or_default();
                for _ in 0..count {
                    for weight in all {
                        f(*weight, 1);
                    }
                }
            }
            Some((_, 0)) | None => {}
            Some((weight, times)) => f(*weight, count * u32::from(*times)),
        }
    }
}
