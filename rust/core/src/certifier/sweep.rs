//! Progress of the removal of dead items.

/// Shards of the certification info that are still to be swept.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    /// The shard that is swept next.
    pub(super) next: usize,
    /// Number of shards to sweep.
    pub(super) left: usize,
    /// Number of items certified since the last sweep.
    pub(super) credit: usize,
}
