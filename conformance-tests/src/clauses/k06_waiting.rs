//! K6, the end of a wait: `Never` sends one request, a bounded wait fails with its reason, and waiting
//! does not consume the ttl.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    ErrorKind, Result,
    backend::{AcquireRequest, DistributedLock, Lease},
};
use dlock_verify::{ensure, support::Outcome};

use crate::case::{CallCounter, Case, CaseContext, case, interpose::Interpose, lost_reply};

/// A wait that times out.
const WAIT: Duration = Duration::from_millis(300);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(never_reaches_the_store_past_those_who_wait),
        case!(a_wait_of_zero_makes_one_request),
        case!(a_wait_ends_contended_in_time),
        case!(a_wait_behind_others_ends_contended_in_time),
        case!(a_wait_without_an_answer_ends_unavailable),
        case!(waiting_does_not_eat_the_ttl),
    ]
}

/// K6: a local queue answers without a request to the store.
async fn never_reaches_the_store_past_those_who_wait(context: &CaseContext) -> Outcome {
    let (name, calls) = (context.name("never")?, Arc::new(CallCounter::default()));
    let (holder, locker) = (context.locker().await?, context.locker_over(&calls).await?);
    let guard = holder.acquire(&name).await?;
    let waiting = tokio::spawn({
        let acquire = locker.acquire(&name).wait_forever();
        async move { acquire.await?.release().await }
    });
    context
        .soon("the waiter at the store", calls.acquired(1))
        .await?;
    let refused = context
        .soon("an answer", locker.try_acquire(&name))
        .await??;
    ensure!(refused.is_none(), "a second guard: {refused:?}");
    ensure!(calls.acquires() == 2, "the store got no request");
    guard.release().await?;
    context.soon("the waiter's turn", waiting).await???;
    Ok(())
}

async fn a_wait_of_zero_makes_one_request(context: &CaseContext) -> Outcome {
    let (name, calls) = (context.name("zero")?, Arc::new(CallCounter::default()));
    let guard = context.locker().await?.acquire(&name).await?;
    let locker = context.locker_over(&calls).await?;
    let refused = context
        .soon("an answer", locker.acquire(&name).wait(Duration::ZERO))
        .await?;
    let error = refused.err().ok_or("a second guard")?;
    ensure!(
        error.kind() == ErrorKind::Contended,
        "a lock that is taken: {error}"
    );
    ensure!(
        calls.acquires() == 1,
        "the store got {} requests",
        calls.acquires()
    );
    Ok(guard.release().await?)
}

async fn a_wait_ends_contended_in_time(context: &CaseContext) -> Outcome {
    let name = context.name("bounded")?;
    let guard = context.locker().await?.acquire(&name).await?;
    let locker = context.locker().await?;
    let (wait, start) = (context.answer_max(WAIT), context.clock.now());
    let refused = context
        .within(wait, "an answer", locker.acquire(&name).wait(wait))
        .await?;
    let waited = context.clock.now().since(start);
    let error = refused.err().ok_or("a second guard")?;
    ensure!(
        error.kind() == ErrorKind::Contended,
        "a lock that is taken: {error}"
    );
    ensure!(waited >= wait, "waited {waited:?} instead of {wait:?}");
    Ok(guard.release().await?)
}

async fn a_wait_behind_others_ends_contended_in_time(context: &CaseContext) -> Outcome {
    let (name, calls) = (context.name("behind")?, Arc::new(CallCounter::default()));
    let guard = context.locker().await?.acquire(&name).await?;
    let locker = context.locker_over(&calls).await?;
    let first = tokio::spawn({
        let acquire = locker.acquire(&name).wait_forever();
        async move { acquire.await?.release().await }
    });
    context
        .soon("the first waiter at the store", calls.acquired(1))
        .await?;
    let wait = context.answer_max(WAIT);
    // A later acquire does not reach the store, and has the store's answer from the first.
    let refused = context
        .within(wait, "an answer", locker.acquire(&name).wait(wait))
        .await?;
    let error = refused.err().ok_or("a second guard")?;
    ensure!(
        error.kind() == ErrorKind::Contended,
        "a lock that is taken: {error}"
    );
    guard.release().await?;
    context.soon("the first waiter's turn", first).await???;
    Ok(())
}

/// A store that cannot be reached.
struct Unreachable;

#[async_trait]
impl Interpose for Unreachable {
    async fn acquire(&self, _: &dyn DistributedLock, request: &AcquireRequest) -> Result<Lease> {
        request.attempt.report_unavailable(&lost_reply());
        request.attempt.cancelled().await;
        Err(lost_reply())
    }
}

async fn a_wait_without_an_answer_ends_unavailable(context: &CaseContext) -> Outcome {
    let (name, locker) = (
        context.name("silent")?,
        context.locker_over(&Arc::new(Unreachable)).await?,
    );
    let refused = context
        .within(WAIT, "an end", locker.acquire(&name).wait(WAIT))
        .await?;
    let error = refused
        .err()
        .ok_or("a guard from a store that is not there")?;
    ensure!(
        error.kind() == ErrorKind::Unavailable,
        "a store that is not there: {error}"
    );
    // The error has the backend's reason.
    ensure!(
        error.to_string().contains("no grant in time"),
        "a store that is not there: {error}"
    );
    Ok(())
}

async fn waiting_does_not_eat_the_ttl(context: &CaseContext) -> Outcome {
    let (name, ttl) = (context.name("long")?, context.ttl_middle());
    let guard = context.locker().await?.acquire(&name).await?;
    let acquire = context
        .locker()
        .await?
        .acquire(&name)
        .ttl(ttl)
        .no_renewal()
        .wait_forever();
    let waiting = tokio::spawn(acquire.into_future());
    tokio::time::sleep(ttl + ttl / 8).await;
    let released = context.clock.now();
    guard.release().await?;
    let waited = context.soon("the waiter's turn", waiting).await???;
    let least = released.after(context.granted_at_least(ttl));
    let deadline = context.deadline_at_most(&waited);
    let lacks = least.since(deadline);
    ensure!(
        deadline >= least,
        "waiting has eaten {lacks:?} of a ttl of {ttl:?}"
    );
    Ok(waited.release().await?)
}
