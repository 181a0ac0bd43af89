//! How many requests are under way, so that a heartbeat never waits behind thousands.
//!
//! A session has one connection, over which a server answers in the order of the questions. Behind the thousands
//! that a locker with many locks asks after a lost connection, or a burst of its user, a heartbeat would be so late
//! that it proves nothing, and all locks would be lost (K13). So at most [`UNDER_WAY_MAX`] others are sent before
//! one is answered; heartbeats ask for no place.
//!
//! Whoever asks may leave its future unpolled for minutes, with a place that is free by now, or with the word that
//! one is. As answers come in order, all that was sent before a heartbeat has been answered when that has been: then
//! its places are free in any case, and all who wait are told.

use std::pin::pin;

use tokio::sync::Notify;

use dlock_core::toolkit::Lock;

/// So many requests are sent before one is answered. It is far more than keeps a server busy, and far less than it
/// answers in a twelfth of the shortest session.
const UNDER_WAY_MAX: usize = 256;

/// The places of one session.
#[derive(Default)]
pub(crate) struct Flow {
    taken: Lock<Taken>,
    freed: Notify,
}

#[derive(Default)]
struct Taken {
    /// Heartbeats that were sent.
    beats: u64,
    /// The last of them that was answered.
    answered: u64,
    /// How many places were taken before the last heartbeat was sent, and since.
    before: usize,
    since: usize,
}

/// The place of a request that is under way, until it is dropped or a heartbeat frees it.
pub(crate) struct Place<'a> {
    flow: &'a Flow,
    /// The last heartbeat before it.
    beat: u64,
}

impl Flow {
    /// Waits for a place.
    pub(crate) async fn place(&self) -> Place<'_> {
        loop {
            let mut freed = pin!(self.freed.notified());
            // What is freed from now on is heard.
            freed.as_mut().enable();
            if let Some(place) = self.free() {
                return place;
            }
            freed.await;
        }
    }

    fn free(&self) -> Option<Place<'_>> {
        let mut taken = self.taken.lock();
        if taken.before + taken.since >= UNDER_WAY_MAX {
            return None;
        }
        taken.since += 1;
        Some(Place {
            flow: self,
            beat: taken.beats,
        })
    }

    /// A heartbeat is about to be sent. They go one after the other: one that is not answered is given up first.
    pub(crate) fn beat(&self) {
        let mut taken = self.taken.lock();
        taken.beats += 1;
        taken.before += std::mem::take(&mut taken.since);
    }

    /// The last heartbeat was answered, and before it whatever was asked before it.
    pub(crate) fn beaten(&self) {
        let mut taken = self.taken.lock();
        taken.answered = taken.beats;
        taken.before = 0;
        drop(taken);
        self.freed.notify_waiters();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.flow.taken.lock();
        if self.beat < taken.answered {
            return;
        }
        if self.beat == taken.beats {
            taken.since -= 1;
        } else {
            taken.before -= 1;
        }
        drop(taken);
        self.flow.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::watch::at_once;

    fn take(flow: &Flow) -> Option<Place<'_>> {
        at_once(flow.place())
    }

    fn fill(flow: &Flow) -> Vec<Place<'_>> {
        std::iter::from_fn(|| take(flow)).collect()
    }

    fn under_way(flow: &Flow) -> usize {
        let taken = flow.taken.lock();
        taken.before + taken.since
    }

    #[tokio::test]
    async fn one_more_waits_until_one_is_answered() {
        let flow = Flow::default();
        let mut places = fill(&flow);
        assert_eq!(places.len(), UNDER_WAY_MAX);
        let answered = async { drop(places.pop()) };
        let (next, ()) = tokio::join!(flow.place(), answered);
        assert!(take(&flow).is_none());
        drop(next);
        assert!(take(&flow).is_some());
    }

    #[test]
    fn a_heartbeat_frees_what_was_sent_before_it_and_nothing_else() {
        let flow = Flow::default();
        let mut before = fill(&flow);
        before.pop();
        flow.beat();
        let since = take(&flow).expect("the one that was given up");
        assert_eq!(under_way(&flow), UNDER_WAY_MAX);
        flow.beaten();
        assert_eq!(under_way(&flow), 1);
        drop(before);
        assert_eq!(under_way(&flow), 1);
        drop(since);
        assert_eq!(under_way(&flow), 0);
    }

    /// It is told that a place is free, and takes none.
    #[tokio::test]
    async fn one_that_is_not_polled_holds_up_others_until_the_next_heartbeat() {
        let flow = Flow::default();
        let mut places = fill(&flow);
        let mut lazy = Box::pin(flow.place());
        assert!(at_once(lazy.as_mut()).is_none());
        let mut next = Box::pin(flow.place());
        assert!(at_once(next.as_mut()).is_none());
        drop(places.pop());
        assert!(at_once(next.as_mut()).is_none(), "the other one was told");
        flow.beat();
        flow.beaten();
        drop(next.await);
        drop(lazy);
    }

    proptest! {
        #[test]
        fn no_place_is_lost_or_won(steps in prop::collection::vec(0_u8..6, 0..200)) {
            let flow = Flow::default();
            let mut places = Vec::new();
            for step in steps {
                match step {
                    0..=2 => places.extend(take(&flow)),
                    3 if !places.is_empty() => drop(places.swap_remove(places.len() / 2)),
                    4 => flow.beat(),
                    5 => flow.beaten(),
                    _ => {}
                }
                prop_assert!(under_way(&flow) <= places.len());
            }
            drop(places);
            prop_assert_eq!(under_way(&flow), 0);
        }
    }
}
