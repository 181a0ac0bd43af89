//! K8: the guard reports a loss at its deadline at the latest, and as soon as the backend knows; never on
//! a release.

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Guard, LostCause, Result,
    backend::{AcquireRequest, Attempt, DistributedLock, Lease},
    toolkit::Lock,
};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{
    Case, CaseContext, Profile, StalledRenewals, case, interpose::Interpose, loss_error,
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

async fn it_comes_at_the_deadline_when_renewals_hang(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("hang")?, context.ttl_short());
    let guard = context.hold_stalled(&name, ttl).await?;
    let deadline = context.deadline_at_most(&guard);
    let cause = context.within(ttl, "the loss", guard.lost()).await?;
    ensure!(cause == LostCause::Expired, "lost because {cause}");
    // The flag may come late on a busy machine; the clock that is_held reads does not.
    let now = context.clock.now();
    ensure!(
        now.after(Duration::from_millis(5)) >= deadline,
        "lost {:?} early",
        deadline.since(now)
    );
    lost_for_good(context, &guard, cause).await
}

/// Level-triggered: a later call returns the same cause at once.
async fn lost_for_good(context: &CaseContext, guard: &Guard, cause: LostCause) -> Outcome {
    ensure!(!guard.is_held(), "held after the loss");
    ensure!(
        guard.remaining() == Duration::ZERO,
        "{:?} remain after the loss",
        guard.remaining()
    );
    let again = context
        .soon("the loss, reported again", guard.lost())
        .await?;
    ensure!(again == cause, "lost because {cause}, then because {again}");
    Ok(())
}

/// Blocked code on the only thread delays the notification, but `is_held` reads the clock.
async fn it_needs_no_timer(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("blocked")?, context.ttl_short());
    let guard = context.hold_unrenewed(&name, ttl).await?;
    std::thread::sleep(ttl);
    ensure!(
        !guard.is_held(),
        "held after its deadline, until a timer fires"
    );
    lost_for_good(context, &guard, LostCause::Expired).await?;
    context.expect_free_soon(&name).await
}

async fn work_is_warned_before_the_deadline(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("warned")?, context.ttl_middle());
    let guard = context.hold_stalled(&name, ttl).await?;
    let (early, left) = (ttl * 3 / 4, ttl / 2);
    context
        .within(ttl, "the warning", guard.expires_within(left))
        .await?;
    ensure!(guard.is_held(), "warned after the loss");
    ensure!(
        guard.remaining() <= left,
        "warned while {:?} remain",
        guard.remaining()
    );
    context
        .soon("a warning that is due", guard.expires_within(early))
        .await?;
    Ok(guard.release().await?)
}

async fn work_is_dropped(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("work")?, context.ttl_short());
    let guard = context.hold_unrenewed(&name, ttl).await?;
    let worked = context
        .within(ttl, "the loss", guard.run(std::future::pending::<()>()))
        .await?;
    let error = loss_error("work under a lost lock", worked)?;
    ensure!(
        error.lost_cause() == Some(LostCause::Expired),
        "lost because: {error}"
    );
    Ok(())
}

async fn it_comes_when_the_lock_is_removed(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("removed")?, context.ttl_middle());
    let guard = context.locker().await?.acquire(&name).ttl(ttl).await?;
    let deadline = context.deadline_at_most(&guard);
    context.backdoor()?.remove(&context.address, &name).await?;
    // If the store does not report the loss, the next renewal finds it, well before the deadline.
    let cause = context.within(ttl, "the loss", guard.lost()).await?;
    let late = context.clock.now().since(deadline);
    ensure!(cause != LostCause::Expired, "the backend never knew");
    ensure!(late == Duration::ZERO, "lost {late:?} after the deadline");
    lost_for_good(context, &guard, cause).await?;
    context.expect_free_soon(&name).await
}

/// Keeps the attempt to report a loss, as a backend with notifications does.
#[derive(Default)]
struct ReportsLoss(Lock<Option<Attempt>>);

#[async_trait]
impl Interpose for ReportsLoss {
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

async fn it_comes_as_soon_as_the_backend_knows(context: &CaseContext) -> Outcome {
    let (name, reports_loss) = (context.name("known")?, Arc::new(ReportsLoss::default()));
    let guard = context
        .locker_over(&reports_loss)
        .await?
        .acquire(&name)
        .await?;
    let attempt = reports_loss.0.lock().take();
    let attempt = attempt.ok_or("no attempt")?;
    attempt.report_lost(LostCause::SessionEnded);
    ensure!(!guard.is_held(), "held although the backend said lost");
    // Once: a later report does not change the cause.
    attempt.report_lost(LostCause::Demoted);
    lost_for_good(context, &guard, LostCause::SessionEnded).await?;
    context.expect_free_soon(&name).await
}

/// Reports a loss before it returns the lease.
struct AnswersEarly;

#[async_trait]
impl Interpose for AnswersEarly {
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

async fn a_backend_that_knows_before_the_grant_makes_it_fail(context: &CaseContext) -> Outcome {
    let name = context.name("early")?;
    let granted = context
        .locker_over(&Arc::new(AnswersEarly))
        .await?
        .acquire(&name)
        .await;
    ensure!(
        granted.is_err(),
        "a grant that was lost before: {granted:?}"
    );
    context.expect_free_soon(&name).await
}

async fn it_never_comes_on_a_release(context: &CaseContext) -> Outcome {
    let (name, locker) = (context.name("released")?, context.locker().await?);
    let guard = locker.acquire(&name).await?;
    let (released, warned) = (guard.lost(), guard.expires_within(Duration::from_millis(1)));
    guard.release().await?;
    let guard = locker.acquire(&name).await?;
    let dropped = guard.lost();
    drop(guard);
    // The lock was acquired again, so the effects of both releases have happened.
    context.take(&name, Duration::ZERO).await?.release().await?;
    let mut futures = (pin!(released), pin!(warned), pin!(dropped));
    let observed = std::future::poll_fn(|cx| {
        let (released, warned, dropped) = &mut futures;
        let lost = [
            released.as_mut().poll(cx).is_ready(),
            dropped.as_mut().poll(cx).is_ready(),
        ];
        Poll::Ready((lost, warned.as_mut().poll(cx).is_ready()))
    });
    let observed = observed.await;
    ensure!(
        observed == ([false, false], false),
        "a release was reported as a loss: {observed:?}"
    );
    Ok(())
}

async fn what_is_lost_is_released(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("tidied")?, context.ttl_short());
    let stalled = Arc::new(StalledRenewals::default());
    let guard = context
        .locker_over(&stalled)
        .await?
        .acquire(&name)
        .ttl(ttl)
        .await?;
    // An entry on a shared session would outlive its guard.
    context
        .within(
            ttl,
            "the release after the loss",
            stalled.released.notified(),
        )
        .await?;
    ensure!(!guard.is_held(), "released while it was held");
    Ok(())
}
