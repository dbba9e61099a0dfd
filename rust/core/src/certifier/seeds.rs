//! The hashing of keys that are hashes already.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The secret of one map: write sets come from logs, and their rows must not be chosen to collide.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeds {
    mask: u64,
    factor: u64,
}

impl Default for Seeds {
    fn default() -> Self {
        let state = RandomState::new();
        Self { mask: state.hash_one(1), factor: state.hash_one(2) | 1 }
    }
}

impl Seeds {
    /// Hashes by one folded multiplication: the keys are good hashes already and only have to be made unpredictable.
    pub(crate) fn hash(self, key: u64) -> u64 {
        let product = u128::from(key ^ self.mask) * u128::from(self.factor);
        (product >> 64) as u64 ^ product as u64
    }
}

impl BuildHasher for Seeds {
    type Hasher = KeyHasher;

    fn build_hasher(&self) -> KeyHasher {
        KeyHasher { seeds: *self, hash: 0 }
    }
}

/// Hashes one key for the standard library's maps.
pub(crate) struct KeyHasher {
    seeds: Seeds,
    hash: u64,
}

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.hash
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.hash = self.seeds.hash(self.hash ^ key);
    }
}
