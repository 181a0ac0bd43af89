//! K5: tokens strictly grow in the order of grants; the same attempt retried gets the same token.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Fencing, Guard, Result, Token,
    backend::{AcquireRequest, DistributedLock, Lease},
    toolkit::Lock,
};

use super::{Case, Profile, case};
use crate::{
    crew::Crew,
    interpose::Interpose,
    outcome::{Outcome, ensure},
    rig::Rig,
    worker::Task,
};

/// How often a lock changes hands in a case.
const GRANTS: usize = 50;

/// How many holders die.
const KILLS: usize = 4;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(they_grow_over_releases, Profile::tokens),
        case!(they_grow_over_expiry, Profile::expires_and_tokens),
        case!(they_grow_over_processes, Profile::processes_and_tokens),
        case!(they_grow_over_kills, Profile::processes_and_tokens),
        case!(they_grow_among_shared_holders, Profile::shared_and_tokens),
        case!(a_retried_attempt_gets_the_same),
    ]
}

async fn they_grow_over_releases(rig: &Rig) -> Outcome {
    let (name, mut last) = (rig.name("releases")?, None);
    let lockers = [rig.locker().await?, rig.locker().await?];
    for locker in lockers.iter().cycle().take(GRANTS) {
        let guard = locker.acquire(&name).await?;
        grown(&mut last, &guard)?;
        guard.release().await?;
    }
    Ok(())
}

async fn they_grow_over_expiry(rig: &Rig) -> Outcome {
    let (name, ttl, mut last) = (rig.name("expiry")?, rig.ttl_short(), None);
    let locker = rig.locker().await?;
    let guard = locker.acquire(&name).ttl(ttl).no_renewal().await?;
    grown(&mut last, &guard)?;
    let successor = rig.take(&name, rig.takeover(ttl)).await?;
    grown(&mut last, &successor)?;
    Ok(successor.release().await?)
}

async fn they_grow_over_processes(rig: &Rig) -> Outcome {
    let (crew, name) = (Crew::new(rig), rig.name("processes")?);
    for _ in 0..KILLS {
        let task = Task::Hold {
            name: name.as_str().to_owned(),
            ttl: rig.ttl_long(),
        };
        let worker = crew.worker(task)?;
        rig.soon("a grant", worker.granted(1)).await?;
        worker.release().await?;
        worker.finished().await?;
    }
    crew.check()
}

async fn they_grow_over_kills(rig: &Rig) -> Outcome {
    let (crew, name, ttl) = (Crew::new(rig), rig.name("kills")?, rig.ttl_short());
    for _ in 0..KILLS {
        let worker = crew.worker(Task::Hold {
            name: name.as_str().to_owned(),
            ttl,
        })?;
        rig.within(rig.takeover(ttl), "a grant after a kill", worker.granted(1))
            .await?;
        worker.kill().await?;
    }
    crew.check()
}

async fn they_grow_among_shared_holders(rig: &Rig) -> Outcome {
    let (name, mut last, mut guards) = (rig.name("shared")?, None, Vec::new());
    for _ in 0..5 {
        let guard = rig.locker().await?.acquire(&name).shared().await?;
        grown(&mut last, &guard)?;
        guards.push(guard);
    }
    for guard in guards {
        guard.release().await?;
    }
    let alone = rig.take(&name, std::time::Duration::ZERO).await?;
    grown(&mut last, &alone)?;
    Ok(alone.release().await?)
}

fn grown(last: &mut Option<Token>, guard: &Guard) -> Outcome {
    let (before, now) = (last.replace(guard.token()), guard.token());
    ensure!(
        before.is_none_or(|before| before < now),
        "token {now} after {before:?}"
    );
    Ok(())
}

/// Loses the first reply of each acquire and asks again for the same attempt.
#[derive(Default)]
struct Retried(Lock<Option<First>>);

/// What became of the first request.
#[derive(Clone, Copy, Debug)]
struct First {
    token: Token,
    /// Whether the store still held the lock when the reply was gone. A hold that is a connection or
    /// a descriptor goes with it, and is undone.
    held: bool,
}

#[async_trait]
impl Interpose for Retried {
    async fn acquire(
        &self,
        inner: &dyn DistributedLock,
        request: &AcquireRequest,
    ) -> Result<Lease> {
        let token = inner.acquire(request).await?.token;
        let held = inner.inspect(&request.name).await?.is_some();
        *self.0.lock() = Some(First { token, held });
        inner.acquire(request).await
    }
}

/// K9: the first request is resolved, with its token, or was undone, and then a later grant has a
/// larger one.
async fn a_retried_attempt_gets_the_same(rig: &Rig) -> Outcome {
    let (name, retried) = (rig.name("retried")?, Arc::new(Retried::default()));
    let guard = rig.locker_over(&retried).await?.acquire(&name).await?;
    let first = *retried.0.lock();
    let (first, again) = (first.ok_or("no first request")?, guard.token());
    let grows = rig.capabilities.fencing == Fencing::Growing;
    let right = if first.held {
        again == first.token
    } else {
        again > first.token || !grows
    };
    ensure!(right, "{again:?} when retried, after {first:?}");
    guard.release().await?;
    rig.expect_free(&name).await
}
