//! K5: tokens strictly grow in the order of grants; the same attempt retried gets the same token.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::{
    Fencing, Guard, Holder, Result, Token,
    backend::{AcquireRequest, DistributedLock, Lease},
    toolkit::Lock,
};
use dlock_verify::{ensure, support::Outcome};
use tokio::task::JoinSet;

use crate::{
    case::{Case, CaseContext, ClientGroup, Profile, UnguardedLease, case, interpose::Interpose},
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
        case!(only_the_holder_raises_the_counter, Profile::tokens),
        case!(raises_at_the_same_time_are_all_done, Profile::tokens),
    ]
}

async fn they_grow_over_releases(context: &CaseContext) -> Outcome {
    let (name, mut last) = (context.name("releases")?, None);
    let lockers = [context.locker().await?, context.locker().await?];
    for locker in lockers.iter().cycle().take(context.times(GRANTS)) {
        let guard = locker.acquire(&name).await?;
        grown(&mut last, &guard)?;
        guard.release().await?;
    }
    Ok(())
}

async fn they_grow_over_expiry(context: &CaseContext) -> Outcome {
    let (name, ttl, mut last) = (context.name("expiry")?, context.ttl_short(), None);
    let locker = context.locker().await?;
    let guard = locker.acquire(&name).ttl(ttl).no_renewal().await?;
    grown(&mut last, &guard)?;
    let successor = context.take(&name, context.takeover(ttl)).await?;
    grown(&mut last, &successor)?;
    Ok(successor.release().await?)
}

async fn they_grow_over_processes(context: &CaseContext) -> Outcome {
    let (group, name) = (ClientGroup::new(context), context.name("processes")?);
    for _ in 0..KILLS {
        let task = Task::Hold {
            name: name.as_str().to_owned(),
            ttl: context.ttl_long(),
        };
        let worker = group.worker(task)?;
        context.soon("a grant", worker.granted(1)).await??;
        worker.release().await?;
        worker.finished().await?;
    }
    group.check()
}

async fn they_grow_over_kills(context: &CaseContext) -> Outcome {
    let (group, name, ttl) = (
        ClientGroup::new(context),
        context.name("kills")?,
        context.ttl_short(),
    );
    for _ in 0..KILLS {
        let worker = group.worker(Task::Hold {
            name: name.as_str().to_owned(),
            ttl,
        })?;
        context
            .within(
                context.takeover(ttl),
                "a grant after a kill",
                worker.granted(1),
            )
            .await??;
        worker.kill().await?;
    }
    group.check()
}

async fn they_grow_among_shared_holders(context: &CaseContext) -> Outcome {
    let (name, mut last, mut guards) = (context.name("shared")?, None, Vec::new());
    for _ in 0..5 {
        let guard = context.locker().await?.acquire(&name).shared().await?;
        grown(&mut last, &guard)?;
        guards.push(guard);
    }
    for guard in guards {
        guard.release().await?;
    }
    let alone = context.take(&name, std::time::Duration::ZERO).await?;
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

/// Loses the first reply of each acquire and repeats the request of the same attempt.
#[derive(Default)]
struct Retried(Lock<Option<First>>);

/// The result of the first request.
#[derive(Clone, Copy, Debug)]
struct First {
    token: Token,
    /// Whether the store still held the lock when the reply was lost.
    ///
    /// A hold that is a connection or a descriptor ends with it.
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
        let holder = inner.inspect(&request.name).await?;
        // A part of it that is left is another lock.
        let is_same = |holder: Holder| holder.token.is_none_or(|shown| shown == token);
        let held = holder.is_some_and(is_same);
        *self.0.lock() = Some(First { token, held });
        inner.acquire(request).await
    }
}

/// K9: the first request is resolved with its token, or undone; then a later grant has a larger token.
async fn a_retried_attempt_gets_the_same(context: &CaseContext) -> Outcome {
    let (name, retried) = (context.name("retried")?, Arc::new(Retried::default()));
    let guard = context.locker_over(&retried).await?.acquire(&name).await?;
    let first = *retried.0.lock();
    let (first, again) = (first.ok_or("no first request")?, guard.token());
    let grows = context.capabilities.fencing == Fencing::Growing;
    let right = if first.held {
        again == first.token
    } else {
        again > first.token || !grows
    };
    ensure!(right, "{again:?} when retried, after {first:?}");
    guard.release().await?;
    context.expect_free(&name).await
}

/// How far a counter is raised.
const RAISED_BY: u64 = 1_000_000;

/// The tokens of a quorum grow by it. A store without such a counter has nothing to raise.
async fn only_the_holder_raises_the_counter(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("raised")?, context.ttl_long());
    let first = UnguardedLease::take(context, &name, ttl).await?;
    let Some(counter) = first.backend.token_counter() else {
        return first.release().await;
    };
    let own = first.lease.token;
    let raised = own.with_base(RAISED_BY).ok_or("a token")?;
    ensure!(counter.raise(&first.lease, raised).await?, "it is held");
    ensure!(counter.raise(&first.lease, own).await?, "never lowered");
    let holder = first.backend.inspect(&name).await?.ok_or("a holder")?;
    let shown = [Some(own), Some(raised)].contains(&holder.token);
    ensure!(shown, "{holder:?} with {own} and {raised}");
    first.renew().await?;
    first.release().await?;
    let higher = raised.with_base(RAISED_BY).ok_or("a token")?;
    ensure!(!counter.raise(&first.lease, higher).await?, "released");
    let second = context.take(&name, std::time::Duration::ZERO).await?;
    ensure!(
        raised < second.token() && second.token() < higher,
        "{} after {raised}",
        second.token()
    );
    ensure!(!counter.raise(&first.lease, higher).await?, "another's");
    second.release().await?;
    let third = context.take(&name, std::time::Duration::ZERO).await?;
    ensure!(third.token() < higher, "{} before {higher}", third.token());
    third.release().await?;
    context.expect_free(&name).await
}

/// A store may combine them: the largest is neither the first nor the last.
async fn raises_at_the_same_time_are_all_done(context: &CaseContext) -> Outcome {
    const RAISES: u64 = 40;
    const LARGEST_AT: u64 = 30;
    let (name, ttl) = (context.name("raises")?, context.ttl_long());
    let held = UnguardedLease::take(context, &name, ttl).await?;
    if held.backend.token_counter().is_none() {
        return held.release().await;
    }
    let to = |times| held.lease.token.with_base(times * RAISED_BY);
    let mut raises = JoinSet::new();
    for number in 1..=RAISES {
        let times = if number == LARGEST_AT {
            RAISES + 1
        } else {
            number
        };
        let (backend, lease) = (held.backend.clone(), held.lease.clone());
        let token = to(times).ok_or("a token")?;
        raises.spawn(async move {
            match backend.token_counter() {
                Some(counter) => counter.raise(&lease, token).await,
                None => Ok(false),
            }
        });
    }
    while let Some(raised) = raises.join_next().await {
        ensure!(raised??, "it is held");
    }
    held.release().await?;
    let next = context.take(&name, std::time::Duration::ZERO).await?;
    let largest = to(RAISES + 1).ok_or("a token")?;
    ensure!(next.token() > largest, "{} after {largest}", next.token());
    next.release().await?;
    context.expect_free(&name).await
}
