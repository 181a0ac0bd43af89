//! K4: a release frees our own grant only, however late or repeated, and differs from a loss.

use std::{pin::pin, sync::Arc, task::Poll};

use async_trait::async_trait;
use dlock_core::{
    Error, Guard, Result,
    backend::{DistributedLock, Lease, Renewed},
};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{
    Case, CaseContext, LostReplies, Profile, UnguardedLease, case, interpose::Interpose,
    loss_error, unknown_error,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(it_frees_the_lock),
        case!(dropping_the_guard_frees_the_lock),
        case!(a_second_one_is_a_success),
        case!(a_second_one_spares_the_successor),
        case!(a_late_one_spares_the_successor, Profile::frees_expired),
        case!(a_renewal_that_lands_after_it_finds_nothing),
        case!(it_goes_on_without_its_caller),
        case!(it_is_retried_until_confirmed),
        case!(it_reports_a_loss),
        case!(a_scope_reports_a_loss),
        case!(a_scope_returns_its_value_and_frees_the_lock),
    ]
}

async fn it_frees_the_lock(context: &CaseContext) -> Outcome {
    let (name, locker) = (context.name("freed")?, context.locker().await?);
    let guard = locker.acquire(&name).await?;
    context.expect_taken(&name).await?;
    guard.release().await?;
    context.expect_free(&name).await?;
    let holder = locker.inspect(&name).await?;
    ensure!(holder.is_none(), "after a release there is {holder:?}");
    Ok(())
}

async fn dropping_the_guard_frees_the_lock(context: &CaseContext) -> Outcome {
    let name = context.name("dropped")?;
    drop(context.locker().await?.acquire(&name).await?);
    context.expect_free_soon(&name).await
}

async fn a_second_one_is_a_success(context: &CaseContext) -> Outcome {
    let name = context.name("twice")?;
    let loose = UnguardedLease::take(context, &name, context.ttl_long()).await?;
    loose.release().await?;
    context.expect_free(&name).await?;
    loose.release().await
}

async fn a_second_one_spares_the_successor(context: &CaseContext) -> Outcome {
    let name = context.name("successor")?;
    let loose = UnguardedLease::take(context, &name, context.ttl_long()).await?;
    loose.release().await?;
    let successor = context.locker().await?.acquire(&name).await?;
    spares(context, &loose, successor).await
}

async fn a_late_one_spares_the_successor(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("successor")?, context.ttl_short());
    let loose = UnguardedLease::take(context, &name, ttl).await?;
    let wait = context.takeover(ttl) + context.tolerance();
    let successor = context.locker().await?.acquire(&name).wait(wait).await?;
    spares(context, &loose, successor).await
}

async fn spares(context: &CaseContext, old: &UnguardedLease, successor: Guard) -> Outcome {
    old.release().await?;
    context.expect_spared(successor).await
}

async fn a_renewal_that_lands_after_it_finds_nothing(context: &CaseContext) -> Outcome {
    let name = context.name("renewed")?;
    let loose = UnguardedLease::take(context, &name, context.ttl_long()).await?;
    loose.release().await?;
    let renewed = loose.renew().await?;
    ensure!(
        matches!(renewed, Renewed::Lost(_)),
        "a released lock was renewed: {renewed:?}"
    );
    context.expect_free(&name).await
}

/// Delays releases.
struct LateReleases;

#[async_trait]
impl Interpose for LateReleases {
    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        tokio::task::yield_now().await;
        inner.release(lease).await
    }
}

async fn it_goes_on_without_its_caller(context: &CaseContext) -> Outcome {
    let name = context.name("abandoned")?;
    let guard = context
        .locker_over(&Arc::new(LateReleases))
        .await?
        .acquire(&name)
        .await?;
    {
        let mut release = pin!(guard.release());
        let poll = std::future::poll_fn(|cx| Poll::Ready(release.as_mut().poll(cx))).await;
        ensure!(poll.is_pending(), "released before the store was reached");
    }
    context.expect_free_soon(&name).await
}

/// Fails the first releases without passing them on.
struct LostReleases(LostReplies);

#[async_trait]
impl Interpose for LostReleases {
    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        self.0.next()?;
        inner.release(lease).await
    }
}

async fn it_is_retried_until_confirmed(context: &CaseContext) -> Outcome {
    let name = context.name("retried")?;
    let locker = context
        .locker_over(&Arc::new(LostReleases(LostReplies::first(3))))
        .await?;
    let guard = locker.acquire(&name).await?;
    unknown_error("a release without a reply", guard.release().await)?;
    context.expect_free_soon(&name).await
}

async fn it_reports_a_loss(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("lost")?, context.ttl_short());
    let guard = context.hold_unrenewed(&name, ttl).await?;
    context.within(ttl, "the loss", guard.lost()).await?;
    loss_error("the release of a lost guard", guard.release().await)?;
    context.expect_free_soon(&name).await
}

async fn a_scope_reports_a_loss(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("lost")?, context.ttl_short());
    let acquire = context.locker().await?.acquire(&name).ttl(ttl).no_renewal();
    let scope = acquire.scope(async |_: &Guard| std::future::pending::<Result<()>>().await);
    let ended = context.within(ttl, "the end of the scope", scope).await?;
    loss_error("a scope whose lock was lost", ended)?;
    context.expect_free_soon(&name).await
}

async fn a_scope_returns_its_value_and_frees_the_lock(context: &CaseContext) -> Outcome {
    let name = context.name("scope")?;
    let locker = context.locker().await?;
    let body = async |guard: &Guard| Ok::<_, Error>(guard.is_held());
    let held = locker.scope(&name, body).await?;
    ensure!(held, "a scope ran without its lock");
    context.expect_free_soon(&name).await
}
