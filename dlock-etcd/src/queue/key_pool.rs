//! The endings of queue keys, which are used again.
//!
//! A deleted key stays in the store's index until the history is compacted, and each read of a queue
//! walks over all of them. With a new key for each attempt, a busy name would get slower by the thousand.
//!
//! So keys are used again, by one attempt at a time, and only after the store has confirmed the only
//! request that deletes the key. Otherwise a late delete could hit another attempt's key (K4).

use std::collections::HashMap;

use dlock_core::{AttemptId, toolkit::Lock};

/// The endings of one backend's keys: a random number, from which the keys of a name count.
#[derive(Default)]
pub(crate) struct KeyPool(Lock<Table>);

struct Table {
    base: u128,
    /// The attempt that has each ending, by queue.
    taken: HashMap<String, Vec<Option<AttemptId>>>,
}

/// The ending of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyId {
    base: u128,
    index: usize,
}

impl KeyPool {
    /// An ending for an attempt; the same one if the attempt has one already (K9).
    pub(crate) fn take(&self, queue: &str, attempt: AttemptId) -> KeyId {
        let mut table = self.0.lock();
        let base = table.base;
        let attempts = table.taken.entry(queue.to_owned()).or_default();
        let own = attempts.iter().position(|taken| *taken == Some(attempt));
        let free = || attempts.iter().position(Option::is_none);
        let index = own.or_else(free).unwrap_or(attempts.len());
        if index == attempts.len() {
            attempts.push(None);
        }
        attempts[index] = Some(attempt);
        KeyId { base, index }
    }

    /// Frees the ending of a key that is gone; no request under way can create or delete it.
    pub(crate) fn give_back(&self, queue: &str, id: KeyId) {
        let mut table = self.0.lock();
        if table.base != id.base {
            return;
        }
        if let Some(attempts) = table.taken.get_mut(queue) {
            attempts[id.index] = None;
            if attempts.iter().all(Option::is_none) {
                table.taken.remove(queue);
            }
        }
    }

    /// Replaces all endings: a request about this key may still be under way.
    pub(crate) fn rotate(&self, id: KeyId) {
        let mut table = self.0.lock();
        if table.base == id.base {
            *table = Table::default();
        }
    }
}

impl Default for Table {
    fn default() -> Self {
        Self {
            base: rand::random(),
            taken: HashMap::new(),
        }
    }
}

impl KeyId {
    /// The id as 32 hexadecimal digits.
    pub(crate) fn digits(self) -> String {
        let id = self.base.wrapping_add(self.index as u128);
        AttemptId::from_u128(id).with_digits(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: AttemptId = AttemptId::from_u128(1);
    const B: AttemptId = AttemptId::from_u128(2);

    #[test]
    fn a_key_has_one_attempt_at_a_time() {
        let pool = KeyPool::default();
        let first = pool.take("q/", A);
        assert_eq!(pool.take("q/", A), first);
        let second = pool.take("q/", B);
        assert_ne!(first.digits(), second.digits());
        pool.give_back("q/", first);
        assert_eq!(pool.take("q/", AttemptId::from_u128(3)), first);
        pool.give_back("q/", second);
        pool.give_back("q/", first);
        assert!(pool.0.lock().taken.is_empty());
    }

    #[test]
    fn a_key_with_an_unknown_effect_is_not_used_again() {
        let pool = KeyPool::default();
        let (first, second) = (pool.take("q/", A), pool.take("q/", B));
        pool.rotate(first);
        let third = pool.take("q/", AttemptId::from_u128(3));
        assert!(third.digits() != first.digits() && third.digits() != second.digits());
        // The old endings do not count any more.
        pool.give_back("q/", second);
        pool.rotate(second);
        assert_eq!(pool.take("q/", AttemptId::from_u128(3)), third);
        // Nor for their own attempt, which may be undone by the old key.
        let again = pool.take("q/", A);
        assert!(![first, second, third].contains(&again));
    }
}
