//! One level of a table's weights, as the archive holds them.

use std::sync::Arc;

/// Code points on a page of the table.
pub(super) const PAGE: usize = 256;
/// All pages of Unicode.
const PAGES: usize = 0x11_0000 / PAGE;
/// Marks a page that is the same as that of the root.
const ROOTS: u8 = 2;

/// The unread rest of a weights file; past its end come zeros, which are characters without weight.
pub(super) struct Input<'d>(&'d [u8]);

impl<'d> Input<'d> {
    pub(super) fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    pub(super) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub(super) fn word(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    pub(super) fn code_point(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), 0])
    }
}

/// One level's weights; a language shares most pages with its root.
#[derive(Debug, Clone, Default)]
pub(super) struct Level {
    pages: Vec<Arc<Page>>,
}

/// The weights of 256 code points.
#[derive(Debug)]
pub(super) enum Page {
    /// Weights of the first code point, and the increment of each from one code point to the next.
    Even(Vec<(u16, u16)>),
    /// All weights in order, and the start of each code point's weights (and the end of the last one's).
    Listed {
        /// 257 positions in `weights`.
        starts: Vec<u16>,
        /// The weights.
        weights: Vec<u16>,
    },
}

impl Level {
    /// Reads one level of a table; pages that are its root's are shared with it.
    pub(super) fn read(input: &mut Input<'_>, root: Option<&Self>) -> Self {
        let page = |n| match (input.byte(), root.and_then(|root| root.pages.get(n))) {
            (ROOTS, Some(shared)) => Arc::clone(shared),
            (kind, _) => Arc::new(Page::read(input, kind)),
        };
        Self { pages: (0..PAGES).map(page).collect() }
    }

    /// Calls `f` with each weight of a character, in order.
    #[inline]
    pub(super) fn weights(&self, code_point: u32, f: impl FnMut(u16)) {
        let code_point = code_point as usize;
        if let Some(page) = self.pages.get(code_point / PAGE) {
            page.weights(code_point % PAGE, f);
        }
    }

    /// Iterates over the pages in the order of code points.
    pub(super) fn pages(&self) -> impl Iterator<Item = &Page> {
        self.pages.iter().map(Arc::as_ref)
    }
}

impl Page {
    fn read(input: &mut Input<'_>, kind: u8) -> Self {
        if kind == 0 {
            let count = input.byte();
            return Self::Even((0..count).map(|_| (input.word(), input.word())).collect());
        }
        let counts: Vec<u8> = (0..PAGE).map(|_| input.byte()).collect();
        let mut starts = vec![0_u16];
        let mut total = 0;
        for count in counts {
            total += u16::from(count);
            starts.push(total);
        }
        let mut last = 0_u16;
        let mut next = || {
            last = last.wrapping_add(input.word());
            last
        };
        Self::Listed { starts, weights: (0..total).map(|_| next()).collect() }
    }

    /// Returns true if all code points weigh the same.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self, Self::Even(steps) if steps.iter().all(|(_, step)| *step == 0))
    }

    /// Calls `f` with each weight of the page's code point `n`.
    #[inline]
    pub(super) fn weights(&self, n: usize, mut f: impl FnMut(u16)) {
        match self {
            Self::Even(steps) => {
                for (first, step) in steps {
                    f(first.wrapping_add(step.wrapping_mul(n as u16)));
                }
            }
            Self::Listed { starts, weights } => {
                if let (Some(start), Some(end)) = (starts.get(n), starts.get(n + 1)) {
                    let own = weights.get(usize::from(*start)..usize::from(*end)).unwrap_or_default();
                    for weight in own {
                        f(*weight);
                    }
                }
            }
        }
    }
}
