//! Queues in which nobody else was lately, and which need not be looked at.
//!
//! Sequence numbers count the nodes that were ever made in a directory. Whoever was the first of a queue, has
//! deleted that node, and gets the next number for another one, is alone: nobody has come in between, and those
//! before were gone. But a directory that was removed and made anew counts from zero: a watch tells of that, and
//! being [silent](crate::watch) says that it is the same one. (Unless somebody has taken the right to read it from
//! us before: see the exceptions in README.)
//!
//! So a name that is taken again and again needs no look at its queue. The watch is set when a number follows our
//! own last one for the first time: names that are taken once cost nothing.

use std::collections::HashMap;

use crate::watch::Silent;
use crate::watch::Watch;

use dlock_core::toolkit::Lock;

/// So many directories are remembered.
const KNOWN_MAX: usize = 1_024;

/// The directories that this session knows.
pub(crate) struct Known<W = Watch>(Lock<HashMap<String, Past<W>>>);

struct Past<W> {
    /// The number of our last node, which was the first of its queue when it was deleted.
    last: i32,
    /// Nobody else is known to have come since the one before it.
    is_row: bool,
    /// Of the directory, since a node of ours was in it.
    watch: Option<W>,
}

impl<W: Silent> Known<W> {
    /// Whether the number of a node that is about to be made will say that it is alone, unless somebody else
    /// comes again: then its queue is looked at one round trip later.
    pub(crate) fn is_regular(&self, directory: &str) -> bool {
        let mut known = self.0.lock();
        let past = known.get_mut(directory);
        past.is_some_and(|past| past.is_row && past.is_watched())
    }

    /// Whether a node that was just made is the first, by its number; it will be, as long as it is there.
    pub(crate) fn is_first(&self, directory: &str, sequence: i64) -> bool {
        let mut known = self.0.lock();
        let Some(past) = known.get_mut(directory) else {
            return false;
        };
        past.is_row = i64::from(past.next()) == sequence;
        past.is_row && past.is_watched()
    }

    /// Whether the directory is to be watched before the first of its queue is deleted.
    pub(crate) fn is_worth_a_watch(&self, directory: &str, sequence: i32) -> bool {
        let mut known = self.0.lock();
        let past = known.get_mut(directory);
        past.is_some_and(|past| past.next() == sequence && !past.is_watched())
    }

    /// The first of the queue is deleted; it was there until then, and a new watch was set before.
    pub(crate) fn left(&self, directory: &str, sequence: i32, watch: Option<W>) {
        let mut known = self.0.lock();
        if let Some(past) = known.get_mut(directory) {
            past.is_row = past.next() == sequence;
            past.last = sequence;
            past.watch = watch.or_else(|| past.watch.take());
            return;
        }
        // Any will do: who takes more names than are remembered looks at their queues.
        if known.len() >= KNOWN_MAX
            && let Some(other) = known.keys().next().cloned()
        {
            known.remove(&other);
        }
        let past = Past {
            last: sequence,
            is_row: false,
            watch,
        };
        known.insert(directory.to_owned(), past);
    }
}

impl<W> Default for Known<W> {
    fn default() -> Self {
        Self(Lock::default())
    }
}

impl<W: Silent> Past<W> {
    /// The one after the largest is nobody's (T48).
    fn next(&self) -> i32 {
        self.last.saturating_add(1)
    }

    fn is_watched(&mut self) -> bool {
        self.watch = self.watch.take().and_then(W::silent);
        self.watch.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use super::*;

    #[derive(Clone, Default)]
    struct Fake(Rc<Cell<bool>>);

    impl Silent for Fake {
        fn silent(self) -> Option<Self> {
            (!self.0.get()).then_some(self)
        }
    }

    #[test]
    fn the_second_number_in_a_row_is_worth_a_watch() {
        let known = Known::<Fake>::default();
        assert!(!known.is_worth_a_watch("/a", 3));
        known.left("/a", 3, None);
        assert!(!known.is_regular("/a"));
        assert!(!known.is_worth_a_watch("/a", 5), "somebody was in between");
        assert!(known.is_worth_a_watch("/a", 4));
        known.left("/a", 4, Some(Fake::default()));
        assert!(known.is_regular("/a"));
        assert!(!known.is_regular("/b"));
        assert!(!known.is_worth_a_watch("/a", 5), "it has one");
        known.left("/a", 5, None);
        assert!(known.is_regular("/a"), "which it keeps");
    }

    #[test]
    fn where_others_come_the_queue_is_looked_at_at_once() {
        let known = Known::<Fake>::default();
        known.left("/a", 3, None);
        known.left("/a", 4, Some(Fake::default()));
        assert!(!known.is_first("/a", 6));
        assert!(!known.is_regular("/a"));
        known.left("/a", 6, None);
        assert!(!known.is_regular("/a"));
        known.left("/a", 8, None);
        assert!(!known.is_regular("/a"));
        assert!(known.is_first("/a", 9));
        known.left("/a", 9, None);
        assert!(known.is_regular("/a"));
    }

    #[test]
    fn only_the_next_number_is_first() {
        let known = Known::<Fake>::default();
        known.left("/a", 4, Some(Fake::default()));
        for (sequence, is_first) in [(4, false), (5, true), (6, false), (5 + (1 << 32), false)] {
            assert_eq!(known.is_first("/a", sequence), is_first, "{sequence}");
        }
    }

    #[test]
    fn without_a_silent_watch_none_is_first() {
        let known = Known::<Fake>::default();
        known.left("/a", 4, None);
        assert!(!known.is_first("/a", 5));
        let removed = Fake::default();
        known.left("/a", 4, Some(removed.clone()));
        assert!(known.is_first("/a", 5));
        removed.0.set(true);
        assert!(!known.is_first("/a", 5));
        assert!(!known.is_regular("/a"));
        assert!(known.is_worth_a_watch("/a", 5));
    }

    #[test]
    fn as_many_are_remembered_as_it_says() {
        let known = Known::<Fake>::default();
        for n in 0..2 * KNOWN_MAX {
            known.left(&format!("/{n}"), 0, None);
        }
        assert_eq!(known.0.lock().len(), KNOWN_MAX);
    }
}
