//! Futures that end with a hold.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use crate::{
    backend::{attempt::Attempt, state::Phase},
    base::{
        cause::LostCause,
        clock::{BootInstant, Clock},
    },
    engine::{hold::Hold, holds_end::HoldsEnd},
};

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send + Sync>>;

/// Ends when a lock is lost: made by [`Guard::lost`](crate::Guard::lost).
///
/// Level-triggered: one that is made after the loss ends at once. It never ends when the lock is
/// released. It needs a tokio runtime to be polled in.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// use dlock_core::{Locker, LostCause, memory::Memory};
///
/// let store = Memory::new();
/// let locks = Locker::builder(store.clone()).build()?;
/// let guard = locks.acquire("leader").await?;
/// let observer = tokio::spawn(guard.lost());
/// store.revoke("leader");
/// assert_eq!(observer.await.unwrap(), LostCause::Removed);
/// # Ok(())
/// # }
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Lost(Boxed<LostCause>);

/// Ends when a lock is about to expire: made by
/// [`Guard::expires_within`](crate::Guard::expires_within).
///
/// ```
/// # use dlock_core::{Locker, memory::Memory};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> dlock_core::Result<()> {
/// # let locks = Locker::builder(Memory::new()).build()?;
/// use std::time::Duration;
///
/// let guard = locks.acquire("report").ttl(Duration::from_millis(100)).no_renewal().await?;
/// let expires = guard.expires_within(Duration::from_millis(20));
/// let warning = tokio::spawn(async move {
///     expires.await;
///     println!("stop now");
/// });
/// warning.await.unwrap();
/// # Ok(())
/// # }
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct ExpiresWithin(Boxed<()>);

impl Lost {
    pub(crate) fn new(hold: &Arc<Hold>) -> Self {
        let observer = Observer::new(hold);
        Self(Box::pin(async move { observer.lost().await }))
    }
}

impl ExpiresWithin {
    pub(crate) fn new(hold: &Arc<Hold>, left: Duration) -> Self {
        let observer = Observer::new(hold);
        Self(Box::pin(async move { observer.less_than(left).await }))
    }
}

impl Future for Lost {
    type Output = LostCause;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<LostCause> {
        self.0.as_mut().poll(cx)
    }
}

impl Future for ExpiresWithin {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lost")
    }
}

impl fmt::Debug for ExpiresWithin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ExpiresWithin")
    }
}

/// Observes an attempt without keeping its hold alive.
struct Observer {
    attempt: Attempt,
    clock: Clock,
    /// The end that a migration sets to all holds.
    migration: Option<HoldsEnd>,
}

impl Observer {
    fn new(hold: &Hold) -> Self {
        Self {
            attempt: hold.lease.attempt.clone(),
            clock: hold.shared.clock.clone(),
            migration: hold
                .shared
                .migration
                .as_ref()
                .map(|watch| watch.holds_end()),
        }
    }

    async fn lost(&self) -> LostCause {
        loop {
            match self.attempt.state().phase() {
                Phase::Lost(cause) => return cause,
                // The scheduler ends the hold at its deadline; this does not depend on it, as the
                // locker's runtime may be gone.
                Phase::Held(deadline) if BootInstant::from_nanos(deadline) <= self.clock.now() => {
                    self.attempt.expire(self.clock.now());
                }
                phase => self.change(phase, deadline_in(phase)).await,
            }
        }
    }

    async fn less_than(&self, left: Duration) {
        let mut migration = self.migration.clone();
        loop {
            let phase = self.attempt.state().phase();
            if let Phase::Lost(_) = phase {
                return;
            }
            let mut until = deadline_in(phase);
            if let (Phase::Held(_), Some(migration)) = (phase, &migration) {
                until = until.min(migration.until());
            }
            if until != BootInstant::FOREVER {
                until = until.before(left);
            }
            if until <= self.clock.now() {
                return;
            }
            let moved = async {
                match &mut migration {
                    Some(migration) => migration.changed().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.change(phase, until) => {}
                () = moved => {}
            }
        }
    }

    /// Waits until the attempt is not in `phase` any more, or until `until`.
    async fn change(&self, phase: Phase, until: BootInstant) {
        let changed = || self.attempt.state().phase() != phase;
        tokio::select! {
            biased;
            () = self.attempt.woken(changed) => {}
            () = self.clock.sleep_until(until) => {}
        }
    }
}

/// The deadline of the lock itself, if it is held.
fn deadline_in(phase: Phase) -> BootInstant {
    match phase {
        Phase::Held(deadline) => BootInstant::from_nanos(deadline),
        _ => BootInstant::FOREVER,
    }
}
