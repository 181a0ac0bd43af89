//! K9 and K7, when the store is silent for longer than every time-out: whatever ended meanwhile is not
//! held when it answers again.

use std::{sync::Arc, time::Duration};

use dlock_core::{ErrorKind, Guard, LockName, Locker, Result};
use dlock_verify::{ensure, support::Outcome};
use tokio::task::JoinHandle;

use crate::{
    case::{Calls, Case, Profile, Rig, case, interpose::Interposed},
    target::Line,
};

/// Enough for a request to be on its way, or a waiter to have reached the store, which nothing tells of.
const ON_ITS_WAY: Duration = Duration::from_millis(300);

/// A wait that ends in the silence.
const WAIT: Duration = Duration::from_millis(1_500);

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_wait_that_ended_in_a_silence_leaves_nothing, Profile::line),
        case!(
            a_wait_that_was_dropped_in_a_silence_leaves_nothing,
            Profile::line
        ),
        case!(a_wait_whose_connections_die_leaves_nothing, Profile::line),
    ]
}

type Waiting = JoinHandle<Result<Guard>>;

async fn a_wait_that_ended_in_a_silence_leaves_nothing(rig: &Rig) -> Outcome {
    let mut silence = Silence::new(rig).await?;
    let acquire = |name: &LockName| silence.locker.acquire(name).wait(WAIT);
    let behind = silence
        .queue(tokio::spawn(acquire(&silence.taken).into_future()))
        .await?;
    silence.line.silence();
    let asking = tokio::spawn(acquire(&silence.free).into_future());
    let bound = WAIT + silence.line.patience();
    for (what, waiting) in [("a wait behind a holder", behind), ("a wait", asking)] {
        let error = rig
            .within(bound, format!("the end of {what}"), waiting)
            .await??;
        let error = error.err().ok_or("a guard from a silent store")?;
        let kinds = [ErrorKind::Contended, ErrorKind::Unavailable];
        ensure!(kinds.contains(&error.kind()), "{what} ends with: {error}");
    }
    silence.end().await?;
    silence.line.heal();
    silence.leaves_nothing().await
}

async fn a_wait_that_was_dropped_in_a_silence_leaves_nothing(rig: &Rig) -> Outcome {
    let mut silence = dropped(rig).await?;
    silence.end().await?;
    silence.line.heal();
    silence.leaves_nothing().await
}

/// What the store does for it, it does for nobody: the connections are gone that it would have answered on.
async fn a_wait_whose_connections_die_leaves_nothing(rig: &Rig) -> Outcome {
    let mut silence = dropped(rig).await?;
    silence.end().await?;
    let healed = silence.line.heal_without_answers();
    rig.soon("what was sent before", healed).await?;
    silence.leaves_nothing().await
}

/// Two waits, dropped in a silence.
async fn dropped(rig: &Rig) -> Outcome<Silence<'_>> {
    let silence = Silence::new(rig).await?;
    let acquire = |name: &LockName| silence.locker.acquire(name).wait_forever();
    let behind = silence
        .queue(tokio::spawn(acquire(&silence.taken).into_future()))
        .await?;
    silence.line.silence();
    let asking = tokio::spawn(acquire(&silence.free).into_future());
    tokio::time::sleep(ON_ITS_WAY).await;
    for waiting in [behind, asking] {
        waiting.abort();
        ensure!(waiting.await.is_err(), "a wait ended before it was dropped");
    }
    Ok(silence)
}

/// A client of a store that will be silent, and two locks: one is free, and one is held by somebody else.
struct Silence<'a> {
    rig: &'a Rig,
    line: Arc<Line>,
    calls: Arc<Calls>,
    locker: Locker,
    free: LockName,
    taken: LockName,
    holder: Option<Guard>,
}

impl<'a> Silence<'a> {
    async fn new(rig: &'a Rig) -> Outcome<Self> {
        let (line, calls) = (rig.line().await?, Arc::new(Calls::default()));
        let backend = rig.backend_over_line(&line).await?;
        let locker = rig.locker_of(Arc::new(Interposed::new(backend, calls.clone())))?;
        // Its connections are there.
        locker.acquire(rig.name("warm")?).await?.release().await?;
        let taken = rig.name("taken")?;
        Ok(Self {
            rig,
            line,
            calls,
            locker,
            free: rig.name("free")?,
            holder: Some(rig.locker().await?.acquire(&taken).await?),
            taken,
        })
    }

    /// Waits until `waiting` stands in the queue.
    async fn queue(&self, waiting: Waiting) -> Outcome<Waiting> {
        let calls = self.calls.acquired(2);
        self.rig.soon("the waiter at the store", calls).await?;
        tokio::time::sleep(ON_ITS_WAY).await;
        Ok(waiting)
    }

    /// Waits until every time-out is over. The ttl is long, so nothing is free by time.
    async fn end(&mut self) -> Outcome {
        // Whose turn comes now cannot be told.
        if let Some(holder) = self.holder.take() {
            holder.release().await?;
        }
        tokio::time::sleep(self.line.silent_for()).await;
        Ok(())
    }

    async fn leaves_nothing(&self) -> Outcome {
        let delivered = self.line.delivered();
        self.rig.soon("what was sent before", delivered).await?;
        for name in [&self.free, &self.taken] {
            self.rig.expect_free_soon(name).await?;
        }
        Ok(())
    }
}
