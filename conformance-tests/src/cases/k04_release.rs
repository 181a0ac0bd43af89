//! K4: a release frees our own grant only, however late or repeated, and is told apart from a loss.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Poll,
};

use async_trait::async_trait;
use dlock_core::{
    Error, ErrorKind, Guard, Result,
    backend::{DistributedLock, Lease, Renewed},
};

use super::{
    Case, Profile, case,
    tools::{Loose, lost_reply},
};
use crate::{
    interpose::Interpose,
    outcome::{Outcome, ensure},
    rig::Rig,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(it_frees_the_lock),
        case!(dropping_the_guard_frees_the_lock),
        case!(a_second_one_is_a_success),
        case!(a_second_one_spares_the_successor),
        case!(a_late_one_spares_the_successor, Profile::expires),
        case!(a_renewal_that_lands_after_it_finds_nothing),
        case!(it_goes_on_without_its_caller),
        case!(it_is_retried_until_confirmed),
        case!(it_reports_a_loss),
        case!(a_scope_reports_a_loss),
        case!(a_scope_returns_its_value_and_frees_the_lock),
    ]
}

async fn it_frees_the_lock(rig: &Rig) -> Outcome {
    let (name, locker) = (rig.name("freed")?, rig.locker().await?);
    let guard = locker.acquire(&name).await?;
    rig.expect_taken(&name).await?;
    guard.release().await?;
    rig.expect_free(&name).await?;
    let holder = locker.inspect(&name).await?;
    ensure!(holder.is_none(), "after a release there is {holder:?}");
    Ok(())
}

async fn dropping_the_guard_frees_the_lock(rig: &Rig) -> Outcome {
    let name = rig.name("dropped")?;
    drop(rig.locker().await?.acquire(&name).await?);
    rig.expect_free_soon(&name).await
}

async fn a_second_one_is_a_success(rig: &Rig) -> Outcome {
    let name = rig.name("twice")?;
    let loose = Loose::take(rig, &name, rig.ttl_long()).await?;
    loose.release().await?;
    rig.expect_free(&name).await?;
    loose.release().await
}

async fn a_second_one_spares_the_successor(rig: &Rig) -> Outcome {
    let name = rig.name("successor")?;
    let loose = Loose::take(rig, &name, rig.ttl_long()).await?;
    loose.release().await?;
    let successor = rig.locker().await?.acquire(&name).await?;
    spares(rig, &loose, successor).await
}

async fn a_late_one_spares_the_successor(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("successor")?, rig.ttl_short());
    let loose = Loose::take(rig, &name, ttl).await?;
    let wait = rig.takeover(ttl) + rig.slack();
    let successor = rig.locker().await?.acquire(&name).wait(wait).await?;
    spares(rig, &loose, successor).await
}

async fn spares(rig: &Rig, old: &Loose, successor: Guard) -> Outcome {
    old.release().await?;
    rig.expect_taken(successor.name()).await?;
    successor.renew().await?;
    Ok(successor.release().await?)
}

async fn a_renewal_that_lands_after_it_finds_nothing(rig: &Rig) -> Outcome {
    let name = rig.name("renewed")?;
    let loose = Loose::take(rig, &name, rig.ttl_long()).await?;
    loose.release().await?;
    let renewed = loose.renew().await?;
    ensure!(
        matches!(renewed, Renewed::Lost(_)),
        "a released lock was renewed: {renewed:?}"
    );
    rig.expect_free(&name).await
}

/// Does not pass a release on at once.
struct LateReleases;

#[async_trait]
impl Interpose for LateReleases {
    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        tokio::task::yield_now().await;
        inner.release(lease).await
    }
}

async fn it_goes_on_without_its_caller(rig: &Rig) -> Outcome {
    let name = rig.name("abandoned")?;
    let guard = rig
        .locker_over(&Arc::new(LateReleases))
        .await?
        .acquire(&name)
        .await?;
    {
        let mut release = pin!(guard.release());
        let poll = std::future::poll_fn(|cx| Poll::Ready(release.as_mut().poll(cx))).await;
        ensure!(poll.is_pending(), "released before the store was told");
    }
    rig.expect_free_soon(&name).await
}

/// Fails the first releases without passing them on.
struct LostReleases(AtomicUsize);

#[async_trait]
impl Interpose for LostReleases {
    async fn release(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<()> {
        let left = |left: usize| left.checked_sub(1);
        match self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
        {
            Ok(_) => Err(lost_reply()),
            Err(_) => inner.release(lease).await,
        }
    }
}

async fn it_is_retried_until_confirmed(rig: &Rig) -> Outcome {
    let name = rig.name("retried")?;
    let locker = rig
        .locker_over(&Arc::new(LostReleases(AtomicUsize::new(3))))
        .await?;
    let guard = locker.acquire(&name).await?;
    let error = guard
        .release()
        .await
        .err()
        .ok_or("a release without a reply is a success")?;
    ensure!(
        error.kind() != ErrorKind::Lost,
        "a release without a reply became a loss: {error}"
    );
    rig.expect_free_soon(&name).await
}

async fn it_reports_a_loss(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("lost")?, rig.ttl_short());
    let guard = rig
        .locker()
        .await?
        .acquire(&name)
        .ttl(ttl)
        .no_renewal()
        .await?;
    rig.within(ttl, "the loss", guard.lost()).await?;
    let error = guard
        .release()
        .await
        .err()
        .ok_or("the release of a lost guard is a success")?;
    ensure!(
        error.kind() == ErrorKind::Lost,
        "the release of a lost guard says: {error}"
    );
    rig.expect_free_soon(&name).await
}

async fn a_scope_reports_a_loss(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("lost")?, rig.ttl_short());
    let acquire = rig.locker().await?.acquire(&name).ttl(ttl).no_renewal();
    let scope = acquire.scope(async |_: &Guard| std::future::pending::<Result<()>>().await);
    let error = rig.within(ttl, "the end of the scope", scope).await?;
    let error = error
        .err()
        .ok_or("a scope whose lock was lost is a success")?;
    ensure!(
        error.kind() == ErrorKind::Lost,
        "a scope whose lock was lost says: {error}"
    );
    rig.expect_free_soon(&name).await
}

async fn a_scope_returns_its_value_and_frees_the_lock(rig: &Rig) -> Outcome {
    let name = rig.name("scope")?;
    let locker = rig.locker().await?;
    let body = async |guard: &Guard| Ok::<_, Error>(guard.is_held());
    let held = locker.scope(&name, body).await?;
    ensure!(held, "a scope ran without its lock");
    rig.expect_free_soon(&name).await
}
