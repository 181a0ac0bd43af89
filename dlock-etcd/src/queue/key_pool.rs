//! What the keys of places end with.
//!
//! A key that is deleted stays in the store's index until the history is compacted, and whoever reads a
//! queue walks over all of them: with a new key for each attempt, a busy name gets slower by the
//! thousand. So keys are used again, each by one attempt at a time, and only after the store has
//! confirmed that it is gone by an answer to the only request for that. Otherwise a late delete could
//! hit somebody else's place (K4).

use std::collections::HashMap;

use dlock_core::{AttemptId, toolkit::Lock};

/// The endings of one backend's keys: a random number, from which the places of a name count.
#[derive(Default)]
pub(crate) struct Ids(Lock<Table>);

struct Table {
    base: u128,
    /// By queue, who has which place.
    taken: HashMap<String, Vec<Option<AttemptId>>>,
}

/// The ending of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    base: u128,
    at: usize,
}

impl Ids {
    /// The ending for an attempt; the same one if it has one already (K9).
    pub(crate) fn take(&self, queue: &str, attempt: AttemptId) -> Id {
        let mut table = self.0.lock();
        let base = table.base;
        let places = table.taken.entry(queue.to_owned()).or_default();
        let own = places.iter().position(|place| *place == Some(attempt));
        let free = || places.iter().position(Option::is_none);
        let at = own.or_else(free).unwrap_or(places.len());
        if at == places.len() {
            places.push(None);
        }
        places[at] = Some(attempt);
        Id { base, at }
    }

    /// The key is gone, and nothing on its way can make it or delete it.
    pub(crate) fn give_back(&self, queue: &str, id: Id) {
        let mut table = self.0.lock();
        if table.base != id.base {
            return;
        }
        if let Some(places) = table.taken.get_mut(queue) {
            places[id.at] = None;
            if places.iter().all(Option::is_none) {
                table.taken.remove(queue);
            }
        }
    }

    /// Something about a key may be on its way: none of the present ones is used again.
    pub(crate) fn renew(&self, id: Id) {
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

impl Id {
    /// As 32 hexadecimal digits.
    pub(crate) fn digits(self) -> String {
        format!("{:032x}", self.base.wrapping_add(self.at as u128))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: AttemptId = AttemptId::from_u128(1);
    const B: AttemptId = AttemptId::from_u128(2);

    #[test]
    fn a_key_has_one_attempt_at_a_time() {
        let ids = Ids::default();
        let first = ids.take("q/", A);
        assert_eq!(ids.take("q/", A), first);
        let second = ids.take("q/", B);
        assert_ne!(first.digits(), second.digits());
        ids.give_back("q/", first);
        assert_eq!(ids.take("q/", AttemptId::from_u128(3)), first);
        ids.give_back("q/", second);
        ids.give_back("q/", first);
        assert!(ids.0.lock().taken.is_empty());
    }

    #[test]
    fn a_key_in_doubt_is_not_used_again() {
        let ids = Ids::default();
        let (first, second) = (ids.take("q/", A), ids.take("q/", B));
        ids.renew(first);
        let third = ids.take("q/", AttemptId::from_u128(3));
        assert!(third.digits() != first.digits() && third.digits() != second.digits());
        // Of the old ones, nothing counts any more.
        ids.give_back("q/", second);
        ids.renew(second);
        assert_eq!(ids.take("q/", AttemptId::from_u128(3)), third);
        // Nor by its own attempt, which may be undone by it.
        let again = ids.take("q/", A);
        assert!(![first, second, third].contains(&again));
    }
}
