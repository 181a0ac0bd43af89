//! K3: a renewal answers renewed, lost or unknown; it never re-creates a lock, and the token stays.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Result,
    backend::{DistributedLock, Lease, Renewed},
};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{
    Case, CaseContext, LostReplies, Profile, UnguardedLease, case, interpose::Interpose,
    unknown_error,
};

/// The longest delay between two requests: longer than the pauses of a busy machine.
const STEP_MAX: Duration = Duration::from_secs(1);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(it_moves_the_deadline_and_keeps_the_token, Profile::expires),
        case!(a_lock_is_held_beyond_its_ttl),
        case!(unknown_keeps_the_old_deadline, Profile::expires),
        case!(a_renewal_that_fails_is_tried_again, Profile::expires),
        case!(
            an_expired_lock_is_lost_and_stays_free,
            Profile::frees_expired
        ),
        case!(a_successor_keeps_its_lock, Profile::frees_expired),
        case!(a_removed_lock_is_lost_and_stays_free, Profile::backdoor),
    ]
}

/// How long after a grant of `ttl` its renewal comes.
fn step(context: &CaseContext, ttl: Duration) -> Duration {
    STEP_MAX.min(context.granted_at_least(ttl) * 2 / 3)
}

async fn it_moves_the_deadline_and_keeps_the_token(context: &CaseContext) -> Outcome {
    let (name, locker) = (context.name("renewed")?, context.locker().await?);
    let ttl = context.ttl_middle();
    let guard = locker.acquire(&name).ttl(ttl).no_renewal().await?;
    let (token, first) = (guard.token(), context.deadline_at_most(&guard));
    tokio::time::sleep(step(context, ttl)).await;
    guard.renew().await?;
    ensure!(
        first < context.deadline_at_least(&guard),
        "a renewal did not move the deadline"
    );
    ensure!(
        guard.token() == token,
        "token {token} became {}",
        guard.token()
    );
    let holder = locker
        .inspect(&name)
        .await?
        .ok_or("no holder after a renewal")?;
    ensure!(
        holder.token.is_none_or(|seen| seen == token),
        "token {token}, but {holder:?}"
    );
    Ok(guard.release().await?)
}

async fn a_lock_is_held_beyond_its_ttl(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("kept")?, context.ttl_short());
    let guard = context.locker().await?.acquire(&name).ttl(ttl).await?;
    let token = guard.token();
    tokio::time::sleep(ttl * 2 + context.capabilities.takeover_max).await;
    context.expect_taken(&name).await?;
    ensure!(guard.is_held(), "lost while it was renewed");
    ensure!(
        guard.token() == token,
        "token {token} became {}",
        guard.token()
    );
    Ok(guard.release().await?)
}

/// Loses the replies to the first renewals.
struct LostRenewals(LostReplies);

#[async_trait]
impl Interpose for LostRenewals {
    async fn renew(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<Renewed> {
        self.0.next()?;
        inner.renew(lease).await
    }
}

async fn unknown_keeps_the_old_deadline(context: &CaseContext) -> Outcome {
    let locker = context
        .locker_over(&Arc::new(LostRenewals(LostReplies::first(1))))
        .await?;
    let (name, ttl) = (context.name("unknown")?, context.ttl_middle());
    let guard = locker.acquire(&name).ttl(ttl).no_renewal().await?;
    let first = context.deadline_at_most(&guard);
    tokio::time::sleep(step(context, ttl)).await;
    unknown_error("a renewal without a reply", guard.renew().await)?;
    ensure!(
        context.deadline_at_least(&guard) <= first,
        "unknown moved the deadline"
    );
    ensure!(guard.is_held(), "unknown ended the hold");
    guard.renew().await?;
    Ok(guard.release().await?)
}

async fn a_renewal_that_fails_is_tried_again(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("retried")?, context.ttl_short() * 2);
    let locker = context
        .locker_over(&Arc::new(LostRenewals(LostReplies::first(2))))
        .await?;
    let guard = locker.acquire(&name).ttl(ttl).await?;
    tokio::time::sleep(ttl + context.capabilities.takeover_max).await;
    context.expect_taken(&name).await?;
    ensure!(guard.is_held(), "lost after two renewals without a reply");
    Ok(guard.release().await?)
}

async fn an_expired_lock_is_lost_and_stays_free(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("expired")?, context.ttl_short());
    let loose = UnguardedLease::take(context, &name, ttl).await?;
    // The waiter learns of the expiry by its grant.
    context
        .take(&name, context.takeover(ttl))
        .await?
        .release()
        .await?;
    expect_lost(&loose).await?;
    context.expect_free(&name).await
}

async fn a_successor_keeps_its_lock(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("successor")?, context.ttl_short());
    let loose = UnguardedLease::take(context, &name, ttl).await?;
    let successor = context.take(&name, context.takeover(ttl)).await?;
    expect_lost(&loose).await?;
    successor.renew().await?;
    Ok(successor.release().await?)
}

async fn a_removed_lock_is_lost_and_stays_free(context: &CaseContext) -> Outcome {
    let name = context.name("removed")?;
    let loose = UnguardedLease::take(context, &name, context.ttl_long()).await?;
    context.backdoor()?.remove(&context.address, &name).await?;
    expect_lost(&loose).await?;
    context.expect_free(&name).await
}

async fn expect_lost(loose: &UnguardedLease) -> Outcome {
    let renewed = loose.renew().await?;
    ensure!(
        matches!(renewed, Renewed::Lost(_)),
        "a lock that is gone was renewed: {renewed:?}"
    );
    Ok(())
}
