//! K3: a renewal answers renewed, lost or unknown; it never re-creates a lock, and the token stays.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    ErrorKind, Result,
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

/// How much later a second request is sent than the first: more than a busy machine stops for.
const STEP: Duration = Duration::from_secs(1);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(it_moves_the_deadline_and_keeps_the_token, Profile::expires),
        case!(a_lock_is_held_beyond_its_ttl),
        case!(unknown_keeps_the_old_deadline, Profile::expires),
        case!(a_renewal_that_fails_is_tried_again, Profile::expires),
        case!(an_expired_lock_is_lost_and_stays_free, Profile::expires),
        case!(a_successor_keeps_its_lock, Profile::expires),
        case!(a_removed_lock_is_lost_and_stays_free, Profile::backdoor),
    ]
}

async fn it_moves_the_deadline_and_keeps_the_token(rig: &Rig) -> Outcome {
    let (name, locker) = (rig.name("renewed")?, rig.locker().await?);
    let guard = locker
        .acquire(&name)
        .ttl(rig.ttl_middle())
        .no_renewal()
        .await?;
    let (token, first) = (guard.token(), rig.deadline_at_most(&guard));
    tokio::time::sleep(STEP).await;
    guard.renew().await?;
    ensure!(
        first < rig.deadline_at_least(&guard),
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
        .ok_or("nobody holds it after a renewal")?;
    ensure!(
        holder.token.is_none_or(|seen| seen == token),
        "token {token}, but {holder:?}"
    );
    Ok(guard.release().await?)
}

async fn a_lock_is_held_beyond_its_ttl(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("kept")?, rig.ttl_short());
    let guard = rig.locker().await?.acquire(&name).ttl(ttl).await?;
    let token = guard.token();
    tokio::time::sleep(ttl * 2 + rig.capabilities.takeover_max).await;
    rig.expect_taken(&name).await?;
    ensure!(guard.is_held(), "lost while it was renewed");
    ensure!(
        guard.token() == token,
        "token {token} became {}",
        guard.token()
    );
    Ok(guard.release().await?)
}

/// Loses the replies to the first renewals.
struct LostRenewals(AtomicUsize);

#[async_trait]
impl Interpose for LostRenewals {
    async fn renew(&self, inner: &dyn DistributedLock, lease: &Lease) -> Result<Renewed> {
        let left = |left: usize| left.checked_sub(1);
        match self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
        {
            Ok(_) => Err(lost_reply()),
            Err(_) => inner.renew(lease).await,
        }
    }
}

async fn unknown_keeps_the_old_deadline(rig: &Rig) -> Outcome {
    let locker = rig
        .locker_over(&Arc::new(LostRenewals(AtomicUsize::new(1))))
        .await?;
    let acquire = locker
        .acquire(&rig.name("unknown")?)
        .ttl(rig.ttl_middle())
        .no_renewal();
    let guard = acquire.await?;
    let first = rig.deadline_at_most(&guard);
    tokio::time::sleep(STEP).await;
    let error = guard
        .renew()
        .await
        .err()
        .ok_or("a renewal without a reply is a success")?;
    ensure!(
        error.kind() != ErrorKind::Lost,
        "unknown became lost: {error}"
    );
    ensure!(
        rig.deadline_at_least(&guard) <= first,
        "unknown moved the deadline"
    );
    ensure!(guard.is_held(), "unknown ended the hold");
    guard.renew().await?;
    Ok(guard.release().await?)
}

async fn a_renewal_that_fails_is_tried_again(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("retried")?, rig.ttl_short() * 2);
    let locker = rig
        .locker_over(&Arc::new(LostRenewals(AtomicUsize::new(2))))
        .await?;
    let guard = locker.acquire(&name).ttl(ttl).await?;
    tokio::time::sleep(ttl + rig.capabilities.takeover_max).await;
    rig.expect_taken(&name).await?;
    ensure!(guard.is_held(), "lost after two renewals without a reply");
    Ok(guard.release().await?)
}

async fn an_expired_lock_is_lost_and_stays_free(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("expired")?, rig.ttl_short());
    let loose = Loose::take(rig, &name, ttl).await?;
    // Whoever waited for it is told of the expiry by getting it.
    rig.take(&name, rig.takeover(ttl)).await?.release().await?;
    expect_lost(&loose).await?;
    rig.expect_free(&name).await
}

async fn a_successor_keeps_its_lock(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("successor")?, rig.ttl_short());
    let loose = Loose::take(rig, &name, ttl).await?;
    let successor = rig.take(&name, rig.takeover(ttl)).await?;
    expect_lost(&loose).await?;
    successor.renew().await?;
    Ok(successor.release().await?)
}

async fn a_removed_lock_is_lost_and_stays_free(rig: &Rig) -> Outcome {
    let name = rig.name("removed")?;
    let loose = Loose::take(rig, &name, rig.ttl_long()).await?;
    rig.backdoor()?.remove(&rig.address, &name).await?;
    expect_lost(&loose).await?;
    rig.expect_free(&name).await
}

async fn expect_lost(loose: &Loose) -> Outcome {
    let renewed = loose.renew().await?;
    ensure!(
        matches!(renewed, Renewed::Lost(_)),
        "a lock that is gone was renewed: {renewed:?}"
    );
    Ok(())
}
