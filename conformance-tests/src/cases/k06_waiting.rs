//! K6, how a wait ends: `Never` asks once, a bounded wait says why it was in vain, and waiting never
//! eats the ttl.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    ErrorKind, Result,
    backend::{AcquireRequest, DistributedLock, Lease},
};

use super::{
    Case, case,
    tools::{Calls, lost_reply},
};
use crate::{
    interpose::Interpose,
    outcome::{Outcome, ensure},
    rig::Rig,
};

/// A wait that is in vain.
const WAIT: Duration = Duration::from_millis(300);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(never_asks_the_store_past_those_who_wait),
        case!(a_wait_of_zero_asks_once),
        case!(a_wait_ends_contended_in_time),
        case!(a_wait_behind_others_ends_contended_in_time),
        case!(a_wait_without_an_answer_ends_unavailable),
        case!(waiting_does_not_eat_the_ttl),
    ]
}

/// K6: an answer that others of the process are waiting for is not the store's.
async fn never_asks_the_store_past_those_who_wait(rig: &Rig) -> Outcome {
    let (name, calls) = (rig.name("never")?, Arc::new(Calls::default()));
    let (holder, locker) = (rig.locker().await?, rig.locker_over(&calls).await?);
    let guard = holder.acquire(&name).await?;
    let waiting = tokio::spawn({
        let acquire = locker.acquire(&name).wait_forever();
        async move { acquire.await?.release().await }
    });
    rig.soon("the waiter at the store", calls.acquired(1))
        .await?;
    let refused = rig.soon("an answer", locker.try_acquire(&name)).await??;
    ensure!(refused.is_none(), "a second guard: {refused:?}");
    ensure!(calls.acquires() == 2, "the store was not asked");
    guard.release().await?;
    rig.soon("the waiter's turn", waiting).await???;
    Ok(())
}

async fn a_wait_of_zero_asks_once(rig: &Rig) -> Outcome {
    let (name, calls) = (rig.name("zero")?, Arc::new(Calls::default()));
    let guard = rig.locker().await?.acquire(&name).await?;
    let locker = rig.locker_over(&calls).await?;
    let refused = rig
        .soon("an answer", locker.acquire(&name).wait(Duration::ZERO))
        .await?;
    let error = refused.err().ok_or("a second guard")?;
    ensure!(
        error.kind() == ErrorKind::Contended,
        "a lock that is taken: {error}"
    );
    ensure!(
        calls.acquires() == 1,
        "the store was asked {} times",
        calls.acquires()
    );
    Ok(guard.release().await?)
}

async fn a_wait_ends_contended_in_time(rig: &Rig) -> Outcome {
    let name = rig.name("bounded")?;
    let guard = rig.locker().await?.acquire(&name).await?;
    let locker = rig.locker().await?;
    let start = rig.clock.now();
    let refused = rig
        .within(WAIT, "an answer", locker.acquire(&name).wait(WAIT))
        .await?;
    let waited = rig.clock.now().since(start);
    let error = refused.err().ok_or("a second guard")?;
    ensure!(
        error.kind() == ErrorKind::Contended,
        "a lock that is taken: {error}"
    );
    ensure!(waited >= WAIT, "waited {waited:?} instead of {WAIT:?}");
    Ok(guard.release().await?)
}

async fn a_wait_behind_others_ends_contended_in_time(rig: &Rig) -> Outcome {
    let (name, calls) = (rig.name("behind")?, Arc::new(Calls::default()));
    let guard = rig.locker().await?.acquire(&name).await?;
    let locker = rig.locker_over(&calls).await?;
    let first = tokio::spawn({
        let acquire = locker.acquire(&name).wait_forever();
        async move { acquire.await?.release().await }
    });
    rig.soon("the first waiter at the store", calls.acquired(1))
        .await?;
    // A later one does not get to the store, and knows from the first what the store said.
    let refused = rig
        .within(WAIT, "an answer", locker.acquire(&name).wait(WAIT))
        .await?;
    let error = refused.err().ok_or("a second guard")?;
    ensure!(
        error.kind() == ErrorKind::Contended,
        "a lock that is taken: {error}"
    );
    guard.release().await?;
    rig.soon("the first waiter's turn", first).await???;
    Ok(())
}

/// A store that cannot be asked.
struct Unreachable;

#[async_trait]
impl Interpose for Unreachable {
    async fn acquire(&self, _: &dyn DistributedLock, request: &AcquireRequest) -> Result<Lease> {
        request.attempt.report_unavailable(&lost_reply());
        request.attempt.cancelled().await;
        Err(lost_reply())
    }
}

async fn a_wait_without_an_answer_ends_unavailable(rig: &Rig) -> Outcome {
    let (name, locker) = (
        rig.name("silent")?,
        rig.locker_over(&Arc::new(Unreachable)).await?,
    );
    let refused = rig
        .within(WAIT, "an end", locker.acquire(&name).wait(WAIT))
        .await?;
    let error = refused
        .err()
        .ok_or("a guard from a store that is not there")?;
    ensure!(
        error.kind() == ErrorKind::Unavailable,
        "a store that is not there: {error}"
    );
    // With the reason that the backend had, not as a store that is silent.
    ensure!(
        error.to_string().contains("no grant in time"),
        "a store that is not there: {error}"
    );
    Ok(())
}

async fn waiting_does_not_eat_the_ttl(rig: &Rig) -> Outcome {
    let (name, ttl) = (rig.name("long")?, rig.ttl_middle());
    let guard = rig.locker().await?.acquire(&name).await?;
    let acquire = rig
        .locker()
        .await?
        .acquire(&name)
        .ttl(ttl)
        .no_renewal()
        .wait_forever();
    let waiting = tokio::spawn(acquire.into_future());
    tokio::time::sleep(ttl + ttl / 8).await;
    let released = rig.clock.now();
    guard.release().await?;
    let waited = rig.soon("the waiter's turn", waiting).await???;
    // What proves its grant was sent after the release.
    let (deadline, least) = (rig.deadline_at_most(&waited), released.after(ttl * 9 / 10));
    let lacks = least.since(deadline);
    ensure!(
        deadline >= least,
        "waiting has eaten {lacks:?} of a ttl of {ttl:?}"
    );
    Ok(waited.release().await?)
}
