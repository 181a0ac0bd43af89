//! The attempts and releases under way, which a shutdown waits for.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::Notify;

/// Counts the attempts and the releases under way.
#[derive(Default)]
pub(crate) struct InFlight {
    count: AtomicUsize,
    drained: Notify,
}

/// One attempt or release under way, until it is dropped.
pub(crate) struct InFlightGuard(Arc<InFlight>);

impl InFlight {
    /// Counts one more until the result is dropped.
    pub(crate) fn track(self: &Arc<Self>) -> InFlightGuard {
        self.count.fetch_add(1, Ordering::AcqRel);
        InFlightGuard(self.clone())
    }

    /// Waits until none is under way.
    pub(crate) async fn drained(&self) {
        loop {
            let mut drained = pin!(self.drained.notified());
            drained.as_mut().enable();
            if self.count.load(Ordering::Acquire) == 0 {
                return;
            }
            drained.await;
        }
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.drained.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future as _, task::Poll};

    use super::*;

    #[tokio::test]
    async fn it_is_drained_when_the_last_one_has_ended() {
        let in_flight = Arc::new(InFlight::default());
        in_flight.drained().await;
        let (first, second) = (in_flight.track(), in_flight.track());
        let mut drained = pin!(in_flight.drained());
        drop(first);
        let pending =
            std::future::poll_fn(|cx| Poll::Ready(drained.as_mut().poll(cx).is_pending()));
        assert!(pending.await);
        drop(second);
        drained.await;
    }
}
