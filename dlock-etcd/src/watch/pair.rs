//! The watch of the first two keys of a queue, by the waiter that has the second one.
//!
//! A server may send the events of one watch before earlier events of another one. But one watch gets its events
//! in the order of their revisions, and all of one revision together. So one watch of both keys shows whether the
//! second key was there when the first one was deleted. Then it comes first, and no read is needed (K1).

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use tokio::sync::Notify;

/// Both keys are there, as far as is known.
const WAITS: u8 = 0;
/// The first key was deleted, and the second one was there.
const IS_FIRST: u8 = 1;
/// The second key was deleted.
const IS_GONE: u8 = 2;

/// The first two keys of a queue.
pub(crate) struct Pair {
    pub(super) own: Vec<u8>,
    pub(super) first: Vec<u8>,
    pub(super) wake: Arc<Notify>,
    state: AtomicU8,
}

impl Pair {
    /// The waiter's `own` key, and the `first` one.
    pub(crate) fn new(own: Vec<u8>, first: Vec<u8>, wake: Arc<Notify>) -> Self {
        Self {
            own,
            first,
            wake,
            state: AtomicU8::new(WAITS),
        }
    }

    /// Whether `key` is the first one.
    pub(crate) fn has_first(&self, key: &[u8]) -> bool {
        self.first == key
    }

    /// Whether the waiter's key comes first now, and was not deleted since, as far as is known.
    pub(crate) fn is_first(&self) -> bool {
        self.state.load(Ordering::Acquire) == IS_FIRST
    }

    /// The range of the watch. Keys between both are other waiters'.
    pub(super) fn range(&self) -> (Vec<u8>, Vec<u8>) {
        let (begin, last) = match self.own < self.first {
            true => (&self.own, &self.first),
            false => (&self.first, &self.own),
        };
        (begin.clone(), [last, &[0][..]].concat())
    }

    /// Notes the deletions in one reply to the watch. If it `is_gapless`, none was missed before.
    pub(super) fn note(&self, is_deleted: impl Fn(&[u8]) -> bool, is_gapless: bool) {
        // Our own key first: both may be deleted in one revision.
        if is_deleted(&self.own) {
            self.state.store(IS_GONE, Ordering::Release);
        } else if is_gapless && is_deleted(&self.first) {
            let _ =
                self.state
                    .compare_exchange(WAITS, IS_FIRST, Ordering::AcqRel, Ordering::Acquire);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(own: &str, first: &str) -> Pair {
        Pair::new(own.into(), first.into(), Arc::default())
    }

    fn after(replies: &[&[&str]], is_gapless: bool) -> bool {
        let pair = pair("own", "first");
        for reply in replies {
            pair.note(
                |key| reply.iter().any(|deleted| deleted.as_bytes() == key),
                is_gapless,
            );
        }
        pair.is_first()
    }

    #[test]
    fn the_second_key_is_first_when_the_first_one_is_deleted() {
        assert!(!after(&[], true));
        assert!(!after(&[&["other"]], true));
        assert!(after(&[&["other"], &["first", "other"]], true));
    }

    #[test]
    fn a_key_that_is_deleted_is_not_first() {
        assert!(!after(&[&["own"]], true));
        assert!(!after(&[&["own"], &["first"]], true));
        assert!(!after(&[&["first", "own"]], true));
        assert!(!after(&[&["first"], &["own"]], true), "it is known in time");
    }

    #[test]
    fn after_a_gap_it_is_read() {
        assert!(!after(&[&["first"]], false));
    }

    #[test]
    fn the_range_has_both_keys() {
        let both = (b"a".to_vec(), b"b\0".to_vec());
        assert_eq!(pair("a", "b").range(), both);
        assert_eq!(pair("b", "a").range(), both);
    }
}
