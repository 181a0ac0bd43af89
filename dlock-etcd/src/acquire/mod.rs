//! Acquiring a lock: a try, or a wait for a lock that is taken.

use std::sync::Arc;

use dlock_core::{
    Result,
    backend::{AcquireRequest, Lease, Wait},
};

use crate::{keys, lease::poll_watchdog::PollWatchdog, shared::Shared};

mod attempt;
mod grant;
mod turn;
mod undo;
mod wait;

/// Acquires the lock, and responds to the watchdog while it is polled.
pub(crate) async fn acquire(shared: &Shared, request: &AcquireRequest) -> Result<Lease> {
    let config = &shared.members.config;
    keys::check(config.format, config.key_prefix(), &request.name)?;
    let watchdog = Arc::default();
    tokio::select! {
        biased;
        lease = try_or_wait(shared, request, &watchdog) => lease,
        never = watchdog.respond() => match never {},
    }
}

async fn try_or_wait(
    shared: &Shared,
    request: &AcquireRequest,
    watchdog: &Arc<PollWatchdog>,
) -> Result<Lease> {
    match request.wait {
        Wait::Never => attempt::try_acquire(shared, request, watchdog).await,
        Wait::UntilCancelled => match attempt::enqueue(shared, request, watchdog).await {
            Ok(lease) => Ok(lease),
            // Boxed here and below, as most locks are free: the futures of acquires stay small.
            first => Box::pin(wait::until_granted(shared, request, watchdog, first)).await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In bytes: the limit of core's own futures, less what the trait's future adds.
    const SIZE_MAX: usize = 960;

    fn size_of_future<F>(_: impl FnOnce(&'static Shared, &'static AcquireRequest) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_an_acquire_is_small() {
        let size = size_of_future(acquire);
        assert!(size <= SIZE_MAX, "{size}");
    }
}
