//! The limit of requests in flight, so that a heartbeat never waits behind thousands.
//!
//! A session has one connection, and a server answers its requests in order. A locker with many locks sends thousands
//! of requests after a lost connection, and so may its user. A heartbeat behind them would be answered too late to
//! prove anything, and all locks would be lost (K13). So at most [`IN_FLIGHT_MAX`] requests are sent before one is
//! answered; heartbeats need no slot.
//!
//! A caller may leave its future unpolled for minutes, with a slot of an answered request, or with the notification
//! of a free slot. Answers come in order, so an answered heartbeat proves that all requests before it are answered,
//! too. It frees their slots in any case, and notifies all waiters.

use std::pin::pin;

use dlock_core::toolkit::Lock;
use tokio::sync::Notify;

/// The most requests in flight. That is far more than keeps a server busy, and far less than it answers in a twelfth
/// of the shortest session.
const IN_FLIGHT_MAX: usize = 256;

/// The limit of requests in flight in one session.
#[derive(Default)]
pub(crate) struct RequestLimit {
    slots: Lock<Slots>,
    freed: Notify,
}

#[derive(Default)]
struct Slots {
    /// Heartbeats that were sent.
    heartbeats: u64,
    /// The last heartbeat that was answered.
    answered: u64,
    /// Slots in use since before the last heartbeat was sent.
    before: usize,
    /// Slots in use since then.
    since: usize,
}

/// The slot of a request in flight, until it is dropped or a heartbeat frees it.
pub(crate) struct RequestSlot<'a> {
    limit: &'a RequestLimit,
    /// The last heartbeat before it.
    heartbeat: u64,
}

impl RequestLimit {
    /// Waits for a slot.
    pub(crate) async fn slot(&self) -> RequestSlot<'_> {
        loop {
            let mut freed = pin!(self.freed.notified());
            // Registers for all notifications from now on.
            freed.as_mut().enable();
            if let Some(slot) = self.try_slot() {
                return slot;
            }
            freed.await;
        }
    }

    /// A slot, if one is free.
    pub(crate) fn try_slot(&self) -> Option<RequestSlot<'_>> {
        let mut slots = self.slots.lock();
        if slots.before + slots.since >= IN_FLIGHT_MAX {
            return None;
        }
        slots.since += 1;
        Some(RequestSlot {
            limit: self,
            heartbeat: slots.heartbeats,
        })
    }

    /// Notes that a heartbeat is about to be sent. The one before it is answered or abandoned by then.
    pub(crate) fn heartbeat_sent(&self) {
        let mut slots = self.slots.lock();
        slots.heartbeats += 1;
        slots.before += std::mem::take(&mut slots.since);
    }

    /// Notes that the last heartbeat was answered, and so all requests before it.
    pub(crate) fn heartbeat_answered(&self) {
        let mut slots = self.slots.lock();
        slots.answered = slots.heartbeats;
        slots.before = 0;
        drop(slots);
        self.freed.notify_waiters();
    }
}

impl Drop for RequestSlot<'_> {
    fn drop(&mut self) {
        let mut slots = self.limit.slots.lock();
        if self.heartbeat < slots.answered {
            return;
        }
        if self.heartbeat == slots.heartbeats {
            slots.since -= 1;
        } else {
            slots.before -= 1;
        }
        drop(slots);
        self.limit.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::watch::poll_now;

    fn take(limit: &RequestLimit) -> Option<RequestSlot<'_>> {
        poll_now(limit.slot())
    }

    fn fill(limit: &RequestLimit) -> Vec<RequestSlot<'_>> {
        std::iter::from_fn(|| take(limit)).collect()
    }

    fn in_flight(limit: &RequestLimit) -> usize {
        let slots = limit.slots.lock();
        slots.before + slots.since
    }

    #[tokio::test]
    async fn one_more_waits_until_one_is_answered() {
        let limit = RequestLimit::default();
        let mut slots = fill(&limit);
        assert_eq!(slots.len(), IN_FLIGHT_MAX);
        let answered = async { drop(slots.pop()) };
        let (next, ()) = tokio::join!(limit.slot(), answered);
        assert!(take(&limit).is_none());
        drop(next);
        assert!(take(&limit).is_some());
    }

    #[test]
    fn a_heartbeat_frees_what_was_sent_before_it_and_nothing_else() {
        let limit = RequestLimit::default();
        let mut before = fill(&limit);
        before.pop();
        limit.heartbeat_sent();
        let since = take(&limit).expect("the one that was dropped");
        assert_eq!(in_flight(&limit), IN_FLIGHT_MAX);
        limit.heartbeat_answered();
        assert_eq!(in_flight(&limit), 1);
        drop(before);
        assert_eq!(in_flight(&limit), 1);
        drop(since);
        assert_eq!(in_flight(&limit), 0);
    }

    /// The first waiter is notified of a free slot, and does not take it.
    #[tokio::test]
    async fn one_that_is_not_polled_holds_up_others_until_the_next_heartbeat() {
        let limit = RequestLimit::default();
        let mut slots = fill(&limit);
        let mut lazy = Box::pin(limit.slot());
        assert!(poll_now(lazy.as_mut()).is_none());
        let mut next = Box::pin(limit.slot());
        assert!(poll_now(next.as_mut()).is_none());
        drop(slots.pop());
        assert!(
            poll_now(next.as_mut()).is_none(),
            "the other one was notified"
        );
        limit.heartbeat_sent();
        limit.heartbeat_answered();
        drop(next.await);
        drop(lazy);
    }

    proptest! {
        #[test]
        fn no_slot_is_lost_or_won(steps in prop::collection::vec(0_u8..6, 0..200)) {
            let limit = RequestLimit::default();
            let mut slots = Vec::new();
            for step in steps {
                match step {
                    0..=2 => slots.extend(take(&limit)),
                    3 if !slots.is_empty() => drop(slots.swap_remove(slots.len() / 2)),
                    4 => limit.heartbeat_sent(),
                    5 => limit.heartbeat_answered(),
                    _ => {}
                }
                prop_assert!(in_flight(&limit) <= slots.len());
            }
            drop(slots);
            prop_assert_eq!(in_flight(&limit), 0);
        }
    }
}
