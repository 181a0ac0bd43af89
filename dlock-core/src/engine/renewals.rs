//! Whether the renewals of a locker succeed: reported when that changes, once for all of its locks.

use std::sync::Arc;

use crate::base::{
    clock::{BootInstant, Clock},
    error::Error,
    lock::Lock,
    name::LockName,
};

/// The holds of a locker whose last renewal has failed.
pub(crate) struct Renewals {
    clock: Clock,
    failing: Lock<Failing>,
}

#[derive(Default)]
struct Failing {
    holds: usize,
    /// The time of the first failure.
    since: Option<BootInstant>,
    /// Whether a renewal has succeeded since then.
    has_recovered: bool,
}

/// A hold whose last renewal has failed, until this is dropped.
pub(crate) struct FailingHold(Arc<Renewals>);

impl Renewals {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        let failing = Lock::default();
        Arc::new(Self { clock, failing })
    }

    /// Notes that a renewal of `name` has failed, whose lock ends at `deadline`. Reports the first one.
    pub(crate) fn failed(
        self: &Arc<Self>,
        name: &LockName,
        error: &Error,
        deadline: BootInstant,
    ) -> FailingHold {
        let now = self.clock.now();
        let is_first = {
            let mut failing = self.failing.lock();
            failing.holds += 1;
            let is_first = failing.since.is_none();
            failing.since.get_or_insert(now);
            is_first
        };
        if is_first {
            let left = deadline.since(now);
            tracing::info!(%name, %error, ?left, "renewals began to fail");
        }
        FailingHold(self.clone())
    }
}

impl FailingHold {
    /// Ends it by a renewal.
    pub(crate) fn recovered(self) {
        self.0.failing.lock().has_recovered = true;
    }
}

impl Drop for FailingHold {
    fn drop(&mut self) {
        let ended = {
            let mut failing = self.0.failing.lock();
            failing.holds -= 1;
            match failing.holds {
                0 => std::mem::take(&mut *failing),
                _ => return,
            }
        };
        // Locks that were all released or lost have reported that themselves.
        if let Some(since) = ended.since.filter(|_| ended.has_recovered) {
            let failed_for = self.0.clock.now().since(since);
            tracing::info!(?failed_for, "renewals succeed again");
        }
    }
}
