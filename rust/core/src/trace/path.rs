//! The longest chain of dependencies in a trace: the bound that no number of workers can beat.

use std::collections::HashMap;

use super::{Role, Touches};
use crate::certifier::Seeds;

/// The longest chain that ends in the last exclusive, and in any shared touch since.
#[derive(Debug, Clone, Copy, Default)]
struct Chains {
    exclusive: u32,
    shared: u32,
}

/// Finds the longest chain of transactions that wait for one another; each transaction takes one step.
#[derive(Debug, Default)]
pub struct CriticalPath {
    keys: HashMap<u64, Chains, Seeds>,
    sessions: HashMap<u64, u32, Seeds>,
    /// The chain that ends in the last barrier.
    floor: u32,
    longest: u32,
    transactions: u64,
    barriers: u64,
}

impl CriticalPath {
    /// Adds the next transaction; a local one and a view change are not applied, so they take no step.
    pub fn add(&mut self, role: Role, touches: Touches<'_>) {
        if matches!(role, Role::Local | Role::ViewChange) {
            return;
        }
        self.transactions += 1;
        if role == Role::Barrier || touches.exclusive.is_empty() && touches.shared.is_empty() {
            self.barriers += 1;
            self.longest += 1;
            self.floor = self.longest;
            // Everything touched before is hidden by the barrier.
            self.keys.clear();
            self.sessions.clear();
            return;
        }
        let chain = self.newest(touches) + 1;
        self.longest = self.longest.max(chain);
        for key in touches.exclusive {
            self.keys.insert(*key, Chains { exclusive: chain, shared: 0 });
        }
        for key in touches.shared {
            let known = self.keys.entry(*key).or_default();
            if known.exclusive != chain {
                known.shared = known.shared.max(chain);
            }
        }
        if let Some(session) = touches.session {
            self.sessions.insert(session, chain);
        }
    }

    /// Returns the longest chain among those that a transaction waits for.
    fn newest(&self, touches: Touches<'_>) -> u32 {
        let known = |key: &u64| self.keys.get(key).copied().unwrap_or_default();
        let exclusive = touches.exclusive.iter().map(known).map(|chains| chains.exclusive.max(chains.shared));
        let shared = touches.shared.iter().map(known).map(|chains| chains.exclusive);
        let session = touches.session.and_then(|session| self.sessions.get(&session)).copied();
        exclusive.chain(shared).chain(session).fold(self.floor, u32::max)
    }

    /// Returns the number of transactions that are applied.
    pub fn transactions(&self) -> u64 {
        self.transactions
    }

    /// Returns the number of barriers among them.
    pub fn barriers(&self) -> u64 {
        self.barriers
    }

    /// Returns the number of steps of the longest chain.
    pub fn longest(&self) -> u32 {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(transactions: &[(Role, &[u64], &[u64])]) -> (u64, u32) {
        let mut path = CriticalPath::default();
        for (role, exclusive, shared) in transactions {
            path.add(*role, Touches { exclusive, shared, session: None });
        }
        (path.transactions(), path.longest())
    }

    #[test]
    fn r15_those_that_share_a_key_do_not_wait_for_one_another() {
        let shared: (Role, &[u64], &[u64]) = (Role::Rows, &[], &[1]);
        assert_eq!(path(&[(Role::Rows, &[1], &[]), shared, shared, (Role::Rows, &[1], &[])]), (4, 3));
    }

    #[test]
    fn r5_a_barrier_waits_for_the_longest_chain_and_all_wait_for_it() {
        let one: (Role, &[u64], &[u64]) = (Role::Rows, &[1], &[]);
        let other: (Role, &[u64], &[u64]) = (Role::Rows, &[2], &[]);
        assert_eq!(path(&[one, one, other, (Role::Barrier, &[], &[]), other]), (5, 4));
    }

    #[test]
    fn a_key_that_is_taken_and_shared_by_one_is_taken() {
        let both: (Role, &[u64], &[u64]) = (Role::Rows, &[1], &[1]);
        assert_eq!(path(&[both, both, (Role::Local, &[1], &[]), (Role::ViewChange, &[], &[])]), (2, 2));
    }
}
