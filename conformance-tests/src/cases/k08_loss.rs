//! K8: the guard says lost at its deadline at the latest, and as soon as the backend knows; never on
//! a release.

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    ErrorKind, Guard, LostCause, Result,
    backend::{AcquireRequest, Attempt, DistributedLock, Lease},
    toolkit::Lock,
};

use super::{Case, Profile, case, tools::StalledRenewals};
use crate::{
    interpose::Interpose,
    outcome::{Outcome, ensure},
    rig::Rig,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(
            it_comes_at_the_deadline_when_renewals_hang,
            Profile::expires
        ),
        case!(it_needs_no_timer).on_one_thread(),
        case!(work_is_warned_before_the_deadline, Profile::expires),
        case!(work_is_dropped),
        case!(it_comes_when_the_lock_is_removed, Profile::backdoor),
        case!(it_comes_as_soon_as_the_backend_knows),
        case!(a_backend_that_knows_before_the_grant_makes_it_fail),
        case!(it_never_comes_on_a_release),
        case!(what_is_lost_is_released, Profile::expires),
    ]
}

async fn it_comes_at_the_deadline_when_renewals_hang(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("hang")?, rig.ttl_short());
    let locker = rig
        .locker_over(&Arc::new(StalledRenewals::default()))
        .await?;
    let guard = locker.acquire(&name).ttl(ttl).await?;
    let deadline = rig.deadline_at_most(&guard);
    let cause = rig.within(ttl, "the loss", guard.lost()).await?;
    ensure!(cause == LostCause::Expired, "lost because {cause}");
    // The flag may come late on a busy machine; the clock that is_held reads does not.
    let now = rig.clock.now();
    ensure!(
        now.after(Duration::from_millis(5)) >= deadline,
        "lost {:?} early",
        deadline.since(now)
    );
    lost_for_good(rig, &guard, cause).await
}

/// Level-triggered: whoever asks later gets the same answer at once.
async fn lost_for_good(rig: &Rig, guard: &Guard, cause: LostCause) -> Outcome {
    ensure!(!guard.is_held(), "held after the loss");
    ensure!(
        guard.remaining() == Duration::ZERO,
        "{:?} remain after the loss",
        guard.remaining()
    );
    let again = rig.soon("the loss, asked for again", guard.lost()).await?;
    ensure!(again == cause, "lost because {cause}, then because {again}");
    Ok(())
}

/// While code blocks the only thread nothing can be told; but is_held reads the clock.
async fn it_needs_no_timer(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("blocked")?, rig.ttl_short());
    let guard = rig
        .locker()
        .await?
        .acquire(&name)
        .ttl(ttl)
        .no_renewal()
        .await?;
    std::thread::sleep(ttl);
    ensure!(
        !guard.is_held(),
        "held after its deadline, until a timer fires"
    );
    lost_for_good(rig, &guard, LostCause::Expired).await?;
    rig.expect_free_soon(&name).await
}

async fn work_is_warned_before_the_deadline(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("warned")?, rig.ttl_middle());
    let locker = rig
        .locker_over(&Arc::new(StalledRenewals::default()))
        .await?;
    let guard = locker.acquire(&name).ttl(ttl).await?;
    let (early, left) = (ttl * 3 / 4, ttl / 2);
    rig.within(ttl, "the warning", guard.expires_within(left))
        .await?;
    ensure!(guard.is_held(), "warned after the loss");
    ensure!(
        guard.remaining() <= left,
        "warned while {:?} remain",
        guard.remaining()
    );
    rig.soon("a warning that is due", guard.expires_within(early))
        .await?;
    Ok(guard.release().await?)
}

async fn work_is_dropped(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("work")?, rig.ttl_short());
    let guard = rig
        .locker()
        .await?
        .acquire(&name)
        .ttl(ttl)
        .no_renewal()
        .await?;
    let worked = rig
        .within(ttl, "the loss", guard.run(std::future::pending::<()>()))
        .await?;
    let error = worked.err().ok_or("work without an end has ended")?;
    ensure!(
        error.kind() == ErrorKind::Lost,
        "work under a lost lock says: {error}"
    );
    ensure!(
        error.lost_cause() == Some(LostCause::Expired),
        "lost because: {error}"
    );
    Ok(())
}

async fn it_comes_when_the_lock_is_removed(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("removed")?, rig.ttl_middle());
    let guard = rig.locker().await?.acquire(&name).ttl(ttl).await?;
    let deadline = rig.deadline_at_most(&guard);
    rig.backdoor()?.remove(&rig.address, &name).await?;
    // A store that does not tell is asked by the next renewal, which comes well before the deadline.
    let cause = rig.within(ttl, "the loss", guard.lost()).await?;
    let late = rig.clock.now().since(deadline);
    ensure!(cause != LostCause::Expired, "the backend never knew");
    ensure!(late == Duration::ZERO, "lost {late:?} after the deadline");
    lost_for_good(rig, &guard, cause).await?;
    rig.expect_free_soon(&name).await
}

/// Keeps the attempt, as a backend does that can learn of a loss by itself.
#[derive(Default)]
struct Knowing(Lock<Option<Attempt>>);

#[async_trait]
impl Interpose for Knowing {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await;
        *self.0.lock() = Some(request.attempt.clone());
        lease
    }
}

async fn it_comes_as_soon_as_the_backend_knows(rig: &Rig) -> Outcome {
    let (name, knowing) = (rig.name("known")?, Arc::new(Knowing::default()));
    let guard = rig.locker_over(&knowing).await?.acquire(&name).await?;
    let attempt = knowing.0.lock().take();
    let attempt = attempt.ok_or("no attempt")?;
    attempt.report_lost(LostCause::SessionEnded);
    ensure!(!guard.is_held(), "held although the backend said lost");
    // Once: what comes later does not change the cause.
    attempt.report_lost(LostCause::Demoted);
    lost_for_good(rig, &guard, LostCause::SessionEnded).await?;
    rig.expect_free_soon(&name).await
}

/// Says lost before it answers.
struct Hasty;

#[async_trait]
impl Interpose for Hasty {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await;
        request.attempt.report_lost(LostCause::SessionEnded);
        lease
    }
}

async fn a_backend_that_knows_before_the_grant_makes_it_fail(rig: &Rig) -> Outcome {
    let name = rig.name("hasty")?;
    let granted = rig
        .locker_over(&Arc::new(Hasty))
        .await?
        .acquire(&name)
        .await;
    ensure!(
        granted.is_err(),
        "a grant that was lost before: {granted:?}"
    );
    rig.expect_free_soon(&name).await
}

async fn it_never_comes_on_a_release(rig: &Rig) -> Outcome {
    let (name, locker) = (rig.name("released")?, rig.locker().await?);
    let guard = locker.acquire(&name).await?;
    let (released, warned) = (guard.lost(), guard.expires_within(Duration::from_millis(1)));
    guard.release().await?;
    let guard = locker.acquire(&name).await?;
    let dropped = guard.lost();
    drop(guard);
    // The lock was free and taken again, so whatever the first ends lead to has happened.
    rig.take(&name, Duration::ZERO).await?.release().await?;
    let mut futures = (pin!(released), pin!(warned), pin!(dropped));
    let told = std::future::poll_fn(|cx| {
        let (released, warned, dropped) = &mut futures;
        let lost = [
            released.as_mut().poll(cx).is_ready(),
            dropped.as_mut().poll(cx).is_ready(),
        ];
        Poll::Ready((lost, warned.as_mut().poll(cx).is_ready()))
    });
    let told = told.await;
    ensure!(
        told == ([false, false], false),
        "a release was told as a loss: {told:?}"
    );
    Ok(())
}

async fn what_is_lost_is_released(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("tidied")?, rig.ttl_short());
    let stalled = Arc::new(StalledRenewals::default());
    let guard = rig
        .locker_over(&stalled)
        .await?
        .acquire(&name)
        .ttl(ttl)
        .await?;
    // An entry on a shared session would outlive its guard.
    rig.within(
        ttl,
        "the release after the loss",
        stalled.released.notified(),
    )
    .await?;
    ensure!(!guard.is_held(), "released while it was held");
    Ok(())
}
