//! What the server calls the watches of one stream.
//!
//! We choose their numbers and etcd keeps them, so many can be asked for without waiting for an answer.
//! Its gRPC proxy gives numbers of its own, and not in the order of the questions: then one watch is
//! asked for at a time, and the answer is about that one.

use std::collections::{BTreeSet, HashMap};

use dlock_core::BootInstant;

/// The first number of ours. A server that chooses by itself counts from zero, and never so far.
pub(crate) const FIRST: i64 = 1 << 32;

/// The numbers of one stream.
#[derive(Default)]
pub(crate) struct Numbers {
    /// What was asked for and is not answered yet.
    asked: BTreeSet<i64>,
    /// When the last one was asked for.
    asked_at: Option<BootInstant>,
    /// By our number, the server's; and the other way round.
    given: HashMap<i64, i64>,
    ours: HashMap<i64, i64>,
    /// Whether the first answer has shown that the server keeps our numbers.
    are_kept: bool,
}

impl Numbers {
    /// Since when an answer must be awaited before the next watch is asked for; `None` if it need not.
    pub(crate) fn awaited_since(&self) -> Option<BootInstant> {
        if self.are_kept || self.asked.is_empty() {
            return None;
        }
        self.asked_at
    }

    /// The watch is asked for.
    pub(crate) fn ask(&mut self, id: i64, now: BootInstant) {
        self.asked.insert(id);
        self.asked_at = Some(now);
    }

    /// The server has made a watch, and calls it `number`: which of ours it is. `None` if nobody asked.
    pub(crate) fn answered(&mut self, number: i64) -> Option<i64> {
        self.are_kept = self.asked.contains(&number);
        let id = if self.are_kept {
            number
        } else {
            *self.asked.first()?
        };
        self.asked.remove(&id);
        self.given.insert(id, number);
        self.ours.insert(number, id);
        Some(id)
    }

    /// What the server calls a watch that ends now; `None` if it has not answered yet.
    pub(crate) fn end(&mut self, id: i64) -> Option<i64> {
        let number = self.given.remove(&id)?;
        self.ours.remove(&number);
        Some(number)
    }

    /// Ours that the server calls so.
    pub(crate) fn ours(&self, number: i64) -> Option<i64> {
        self.ours.get(&number).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: BootInstant = BootInstant::from_nanos(1);

    #[test]
    fn many_are_asked_for_at_once_where_our_numbers_are_kept() {
        let mut numbers = Numbers::default();
        numbers.ask(FIRST, NOW);
        assert_eq!(numbers.awaited_since(), Some(NOW), "it is not known yet");
        assert_eq!(numbers.answered(FIRST), Some(FIRST));
        for id in [FIRST + 1, FIRST + 2] {
            assert_eq!(numbers.awaited_since(), None);
            numbers.ask(id, NOW);
        }
        // In any order.
        assert_eq!(numbers.answered(FIRST + 2), Some(FIRST + 2));
        assert_eq!(numbers.end(FIRST + 1), None, "not answered");
        assert_eq!(numbers.answered(FIRST + 1), Some(FIRST + 1));
        assert_eq!(numbers.end(FIRST + 1), Some(FIRST + 1));
    }

    #[test]
    fn one_at_a_time_is_asked_for_where_they_are_not() {
        let mut numbers = Numbers::default();
        for (id, number) in [(FIRST, 0), (FIRST + 1, 1)] {
            assert_eq!(numbers.awaited_since(), None);
            numbers.ask(id, NOW);
            assert_eq!(numbers.awaited_since(), Some(NOW));
            assert_eq!(numbers.answered(number), Some(id));
        }
        assert_eq!(numbers.ours(1), Some(FIRST + 1));
        assert_eq!(numbers.end(FIRST + 1), Some(1));
        assert_eq!(numbers.ours(1), None);
        assert_eq!(numbers.answered(7), None, "nobody asked");
    }
}
