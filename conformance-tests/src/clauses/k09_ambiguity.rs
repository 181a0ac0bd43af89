//! K9: an acquire whose reply is lost is resolved, with the same token, or undone.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Effect, ErrorKind, Result,
    backend::{AcquireRequest, DistributedLock, Lease},
};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{
    Case, CaseContext, Profile, UnguardedLease, case, interpose::Interpose, lost_reply,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_retry_leaves_one_hold),
        case!(
            a_hold_that_no_client_knows_of_ends_by_itself,
            Profile::frees_leases
        ),
        case!(an_error_after_an_undone_grant_leaves_nothing),
    ]
}

/// Loses the first reply and repeats the request of the same attempt.
struct Retried;

#[async_trait]
impl Interpose for Retried {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        drop(inner.acquire(request).await?);
        inner.acquire(request).await
    }
}

async fn a_retry_leaves_one_hold(context: &CaseContext) -> Outcome {
    let (name, locker) = (
        context.name("retried")?,
        context.locker_over(&Arc::new(Retried)).await?,
    );
    let guard = locker.acquire(&name).await?;
    context.expect_taken(&name).await?;
    guard.renew().await?;
    guard.release().await?;
    // One release undoes the effects of both requests.
    context.expect_free(&name).await
}

async fn a_hold_that_no_client_knows_of_ends_by_itself(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("unknown")?, context.ttl_short());
    // The caller has no reply, and cannot release the lock.
    drop(UnguardedLease::take(context, &name, ttl).await?);
    context
        .take(&name, context.takeover(ttl))
        .await?
        .release()
        .await?;
    Ok(())
}

/// Undoes the grant when the reply is lost.
struct Undone;

#[async_trait]
impl Interpose for Undone {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let lease = inner.acquire(request).await?;
        inner.release(&lease).await?;
        Err(lost_reply())
    }
}

async fn an_error_after_an_undone_grant_leaves_nothing(context: &CaseContext) -> Outcome {
    let (name, locker) = (
        context.name("undone")?,
        context.locker_over(&Arc::new(Undone)).await?,
    );
    let error = locker
        .acquire(&name)
        .await
        .err()
        .ok_or("a guard without a lease")?;
    let (kind, effect) = (error.kind(), error.effect());
    let reported = kind == ErrorKind::Unavailable && effect == Effect::Unknown;
    ensure!(
        reported,
        "what the backend said of its reply has become {kind:?}, {effect:?}: {error}"
    );
    context.expect_free(&name).await
}
