//! Tables as they are compiled in.

use super::levels::{Input, Level};

/// A table as the archive has it.
#[derive(Debug, Default)]
pub(super) struct Raw {
    /// The weights of single characters.
    pub(super) levels: Vec<Level>,
    /// The sequences that weigh together: code points, and the weights of each level.
    pub(super) contractions: Vec<(Vec<u32>, Vec<Vec<u16>>)>,
}

impl Raw {
    pub(super) fn read(data: &[u8], root: Option<&Self>) -> Self {
        let mut input = Input::new(data);
        let count = usize::from(input.byte());
        let levels =
            (0..count).map(|n| Level::read(&mut input, root.and_then(|root| root.levels.get(n)))).collect::<Vec<_>>();
        let contractions = (0..input.word())
            .map(|_| {
                let text = (0..input.byte()).map(|_| input.code_point()).collect();
                let weights = (0..count).map(|_| (0..input.byte()).map(|_| input.word()).collect()).collect();
                (text, weights)
            })
            .collect();
        Self { levels, contractions }
    }
}

/// Unpacks a compiled-in file.
pub(super) fn unpack(data: &[u8]) -> Vec<u8> {
    // The files are part of the program and read by its tests; one that cannot be unpacked leaves its collations without weights.
    zstd::decode_all(data).unwrap_or_default()
}
