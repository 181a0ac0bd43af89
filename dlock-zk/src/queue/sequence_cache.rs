//! The last sequence number of each queue, by which a list of the queue can be skipped.
//!
//! A sequence number counts the nodes that were ever created in a directory. A client was the first of a queue, has
//! deleted its node, and gets the next number for another one. Then it is alone: no node was created in between, and
//! those before were gone. But a directory that was removed and recreated counts from zero. A watch reports that, and
//! while it is [quiet](crate::watch) the directory is the same one. (Unless an administrator has revoked the right to
//! read it before: see the exceptions in README.)
//!
//! So a name that is acquired repeatedly needs no list. The watch is set when a number follows the last one for the
//! first time, so that a name that is acquired once costs nothing.

use std::collections::HashMap;

use dlock_core::toolkit::Lock;

use crate::watch::{Quiet, Watch};

/// The most directories in the cache.
const DIRECTORIES_MAX: usize = 1_024;

/// The last sequence number of each queue that this session has held.
pub(crate) struct SequenceCache<W = Watch>(Lock<HashMap<String, LastHeld<W>>>);

struct LastHeld<W> {
    /// The number of the session's last node, which was the first of its queue when it was deleted.
    sequence: i32,
    /// Whether that number followed the one before it: no other client came in between.
    is_in_row: bool,
    /// The watch of the directory, set while a node of the session was in it.
    watch: Option<W>,
}

impl<W: Quiet> SequenceCache<W> {
    /// Whether to create the next node without a list: its number will show that it is alone, unless other clients
    /// come again. Then the queue is listed one round trip later.
    pub(crate) fn can_skip_list(&self, directory: &str) -> bool {
        let mut queues = self.0.lock();
        let last = queues.get_mut(directory);
        last.is_some_and(|last| last.is_in_row && last.is_watched())
    }

    /// Whether the number of a new node proves that it is the first of its queue. It stays the first until it is
    /// deleted.
    pub(crate) fn is_next(&self, directory: &str, sequence: i64) -> bool {
        let mut queues = self.0.lock();
        let Some(last) = queues.get_mut(directory) else {
            return false;
        };
        last.is_in_row = i64::from(last.next()) == sequence;
        last.is_in_row && last.is_watched()
    }

    /// Whether to watch the directory before the first node of its queue is deleted.
    pub(crate) fn should_watch(&self, directory: &str, sequence: i32) -> bool {
        let mut queues = self.0.lock();
        let last = queues.get_mut(directory);
        last.is_some_and(|last| last.next() == sequence && !last.is_watched())
    }

    /// Records that the first node of the queue was deleted. It was there until then; `watch` was set before.
    pub(crate) fn released(&self, directory: &str, sequence: i32, watch: Option<W>) {
        let mut queues = self.0.lock();
        if let Some(last) = queues.get_mut(directory) {
            last.is_in_row = last.next() == sequence;
            last.sequence = sequence;
            last.watch = watch.or_else(|| last.watch.take());
            return;
        }
        // Any other one may be evicted: a client with more names lists their queues.
        if queues.len() >= DIRECTORIES_MAX
            && let Some(other) = queues.keys().next().cloned()
        {
            queues.remove(&other);
        }
        let last = LastHeld {
            sequence,
            is_in_row: false,
            watch,
        };
        queues.insert(directory.to_owned(), last);
    }
}

impl<W> Default for SequenceCache<W> {
    fn default() -> Self {
        Self(Lock::default())
    }
}

impl<W: Quiet> LastHeld<W> {
    /// The next number; no node of the session gets the one after the largest (T48).
    fn next(&self) -> i32 {
        self.sequence.saturating_add(1)
    }

    fn is_watched(&mut self) -> bool {
        self.watch = self.watch.take().and_then(W::quiet);
        self.watch.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use super::*;

    #[derive(Clone, Default)]
    struct Fake(Rc<Cell<bool>>);

    impl Quiet for Fake {
        fn quiet(self) -> Option<Self> {
            (!self.0.get()).then_some(self)
        }
    }

    #[test]
    fn the_second_number_in_a_row_is_watched() {
        let sequences = SequenceCache::<Fake>::default();
        assert!(!sequences.should_watch("/a", 3));
        sequences.released("/a", 3, None);
        assert!(!sequences.can_skip_list("/a"));
        assert!(
            !sequences.should_watch("/a", 5),
            "another client was in between"
        );
        assert!(sequences.should_watch("/a", 4));
        sequences.released("/a", 4, Some(Fake::default()));
        assert!(sequences.can_skip_list("/a"));
        assert!(!sequences.can_skip_list("/b"));
        assert!(!sequences.should_watch("/a", 5), "it has one");
        sequences.released("/a", 5, None);
        assert!(sequences.can_skip_list("/a"), "which it keeps");
    }

    #[test]
    fn where_others_come_the_queue_is_listed_at_once() {
        let sequences = SequenceCache::<Fake>::default();
        sequences.released("/a", 3, None);
        sequences.released("/a", 4, Some(Fake::default()));
        assert!(!sequences.is_next("/a", 6));
        assert!(!sequences.can_skip_list("/a"));
        sequences.released("/a", 6, None);
        assert!(!sequences.can_skip_list("/a"));
        sequences.released("/a", 8, None);
        assert!(!sequences.can_skip_list("/a"));
        assert!(sequences.is_next("/a", 9));
        sequences.released("/a", 9, None);
        assert!(sequences.can_skip_list("/a"));
    }

    #[test]
    fn only_the_next_number_is_first() {
        let sequences = SequenceCache::<Fake>::default();
        sequences.released("/a", 4, Some(Fake::default()));
        for (sequence, is_next) in [(4, false), (5, true), (6, false), (5 + (1 << 32), false)] {
            assert_eq!(sequences.is_next("/a", sequence), is_next, "{sequence}");
        }
    }

    #[test]
    fn without_a_quiet_watch_none_is_first() {
        let sequences = SequenceCache::<Fake>::default();
        sequences.released("/a", 4, None);
        assert!(!sequences.is_next("/a", 5));
        let removed = Fake::default();
        sequences.released("/a", 4, Some(removed.clone()));
        assert!(sequences.is_next("/a", 5));
        removed.0.set(true);
        assert!(!sequences.is_next("/a", 5));
        assert!(!sequences.can_skip_list("/a"));
        assert!(sequences.should_watch("/a", 5));
    }

    #[test]
    fn the_cache_is_bounded() {
        let sequences = SequenceCache::<Fake>::default();
        for n in 0..2 * DIRECTORIES_MAX {
            sequences.released(&format!("/{n}"), 0, None);
        }
        assert_eq!(sequences.0.lock().len(), DIRECTORIES_MAX);
    }
}
