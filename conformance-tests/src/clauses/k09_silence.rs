//! K9 and K7, when the store is silent for longer than every timeout. An attempt that ended in that time holds
//! nothing when the store answers again.

use std::{sync::Arc, time::Duration};

use dlock_core::{ErrorKind, Guard, LockName, Locker, Result};
use dlock_verify::{ensure, support::Outcome};
use tokio::task::JoinHandle;

use crate::{
    case::{CallCounter, Case, CaseContext, Profile, case, interpose::Interposed},
    target::Link,
};

/// Enough for a request to be sent, or a waiter to reach the store; no event reports either.
const ON_ITS_WAY: Duration = Duration::from_millis(300);

/// A wait that ends in the silence.
const WAIT: Duration = Duration::from_millis(1_500);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_wait_that_ended_in_a_silence_leaves_nothing, Profile::link),
        case!(
            a_wait_that_was_dropped_in_a_silence_leaves_nothing,
            Profile::link
        ),
        case!(a_wait_whose_connections_die_leaves_nothing, Profile::link),
    ]
}

type Waiting = JoinHandle<Result<Guard>>;

async fn a_wait_that_ended_in_a_silence_leaves_nothing(context: &CaseContext) -> Outcome {
    let mut silence = Silence::new(context).await?;
    let acquire = |name: &LockName| silence.locker.acquire(name).wait(WAIT);
    let behind = silence
        .queue(tokio::spawn(acquire(&silence.taken).into_future()))
        .await?;
    silence.link.silence();
    let waiting_alone = tokio::spawn(acquire(&silence.free).into_future());
    let bound = WAIT + silence.link.client_timeout();
    for (what, waiting) in [
        ("a wait behind a holder", behind),
        ("a wait", waiting_alone),
    ] {
        let error = context
            .within(bound, format!("the end of {what}"), waiting)
            .await??;
        let error = error.err().ok_or("a guard from a silent store")?;
        let kinds = [ErrorKind::Contended, ErrorKind::Unavailable];
        ensure!(kinds.contains(&error.kind()), "{what} ends with: {error}");
    }
    silence.end().await?;
    silence.link.heal();
    silence.leaves_nothing().await
}

async fn a_wait_that_was_dropped_in_a_silence_leaves_nothing(context: &CaseContext) -> Outcome {
    let mut silence = dropped(context).await?;
    silence.end().await?;
    silence.link.heal();
    silence.leaves_nothing().await
}

/// The store executes the request, but the connections for its reply are gone.
async fn a_wait_whose_connections_die_leaves_nothing(context: &CaseContext) -> Outcome {
    let mut silence = dropped(context).await?;
    silence.end().await?;
    let healed = silence.link.heal_without_answers();
    context.soon("what was sent before", healed).await?;
    silence.leaves_nothing().await
}

/// Two waits, dropped in a silence.
async fn dropped(context: &CaseContext) -> Outcome<Silence<'_>> {
    let silence = Silence::new(context).await?;
    let acquire = |name: &LockName| silence.locker.acquire(name).wait_forever();
    let behind = silence
        .queue(tokio::spawn(acquire(&silence.taken).into_future()))
        .await?;
    silence.link.silence();
    let waiting_alone = tokio::spawn(acquire(&silence.free).into_future());
    tokio::time::sleep(ON_ITS_WAY).await;
    for waiting in [behind, waiting_alone] {
        waiting.abort();
        ensure!(waiting.await.is_err(), "a wait ended before it was dropped");
    }
    Ok(silence)
}

/// A client of a store that will be silent, and two locks: one free, one held by another client.
struct Silence<'a> {
    context: &'a CaseContext,
    link: Arc<Link>,
    calls: Arc<CallCounter>,
    locker: Locker,
    free: LockName,
    taken: LockName,
    holder: Option<Guard>,
}

impl<'a> Silence<'a> {
    async fn new(context: &'a CaseContext) -> Outcome<Self> {
        let (link, calls) = (context.link().await?, Arc::new(CallCounter::default()));
        let backend = context.backend_over_link(&link).await?;
        let locker = context.locker_of(Interposed::new(backend, calls.clone()))?;
        // Its connections are open.
        locker
            .acquire(context.name("warm")?)
            .await?
            .release()
            .await?;
        let taken = context.name("taken")?;
        Ok(Self {
            context,
            link,
            calls,
            locker,
            free: context.name("free")?,
            holder: Some(context.locker().await?.acquire(&taken).await?),
            taken,
        })
    }

    /// Waits until `waiting` is in the queue.
    async fn queue(&self, waiting: Waiting) -> Outcome<Waiting> {
        let calls = self.calls.acquired(2);
        self.context.soon("the waiter at the store", calls).await?;
        tokio::time::sleep(ON_ITS_WAY).await;
        Ok(waiting)
    }

    /// Waits until every timeout has expired. The ttl is long, so no lock expires.
    async fn end(&mut self) -> Outcome {
        // The next holder is not defined.
        if let Some(holder) = self.holder.take() {
            holder.release().await?;
        }
        tokio::time::sleep(self.link.silent_for()).await;
        Ok(())
    }

    async fn leaves_nothing(&self) -> Outcome {
        let delivered = self.link.delivered();
        self.context.soon("what was sent before", delivered).await?;
        for name in [&self.free, &self.taken] {
            self.context.expect_free_soon(name).await?;
        }
        Ok(())
    }
}
