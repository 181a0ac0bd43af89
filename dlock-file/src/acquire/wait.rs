//! Waiting for a file that is locked.

use std::{sync::Arc, time::Duration};

use dlock_core::{
    Result,
    backend::{AcquireRequest, Lease},
};
use tokio::time::sleep;

use crate::{
    acquire::{
        attempt::{grant, unless_ended},
        back_off::BackOff,
    },
    keys::FileName,
    lifecycle::Lifecycle,
    store::lock_file::{LockFile, TryLock},
    watch::{RECHECK_EVERY, Subscription},
};

/// The pause between two tries without inotify.
const POLL_EVERY: Duration = Duration::from_millis(50);

/// Waits until `file` is locked; `None` when the file turns out to be removed or replaced.
///
/// One descriptor serves the whole wait: each close of it would wake all other waiters.
pub(crate) async fn wait(
    lifecycle: &Arc<Lifecycle>,
    request: &AcquireRequest,
    file_name: &FileName,
    file: LockFile,
) -> Result<Option<Lease>> {
    let mut waiter = Waiter::default();
    let mut is_subscribed = false;
    loop {
        lifecycle.check_open()?;
        let sent = request.sent_now();
        match file.try_lock()? {
            TryLock::Locked => return grant(lifecycle, request, file_name, file, sent),
            TryLock::Contended => request.attempt.report_contended(),
            TryLock::Inspected => {}
        }
        if !is_subscribed {
            is_subscribed = true;
            waiter.subscription = lifecycle.subscribe(file_name);
            if waiter.subscription.is_some() {
                // A release between the try and the subscription has sent no event.
                continue;
            }
        }
        if !file.is_in_place()? {
            return Ok(None);
        }
        // Boxed, as most locks are free: the futures of acquires stay small.
        unless_ended(lifecycle, request, Box::pin(waiter.pause())).await?;
    }
}

/// One waiter of one file.
#[derive(Debug, Default)]
struct Waiter {
    /// `None` where there is no watch; then it polls.
    subscription: Option<Subscription>,
    /// The back-off starts before the first event, which may have come before the subscription.
    back_off: BackOff,
}

impl Waiter {
    /// Waits until it is time for another try.
    ///
    /// # Cancel safety
    ///
    /// Safe: no wake-up is lost.
    async fn pause(&mut self) {
        let pause = self.back_off.peek();
        let Some(subscription) = &self.subscription else {
            sleep(pause.unwrap_or(POLL_EVERY)).await;
            self.back_off.skip();
            return;
        };
        tokio::select! {
            () = subscription.woken() => self.back_off.reset(),
            () = sleep(pause.unwrap_or(RECHECK_EVERY)) => self.back_off.skip(),
        }
    }
}
