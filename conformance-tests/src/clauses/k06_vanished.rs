//! K6 and K7, a queue whose members have vanished: their host is gone, and their lines were not closed.

use std::{sync::Arc, time::Duration};

use dlock_core::{LockName, Locker};
use dlock_verify::support::Outcome;
use tokio::runtime::{Builder, Runtime};

use crate::{
    case::{Calls, Case, Profile, Rig, case, interpose::Interposed},
    target::Line,
};

/// Enough that the bound is broken if each keeps the lock for its ttl.
const VANISHED: usize = 4;

/// Enough for a waiter to have reached the store, which nothing tells of.
const QUEUE_GAP: Duration = Duration::from_millis(300);

pub(crate) fn cases() -> Vec<Case> {
    vec![case!(waiters_that_vanished_block_nobody, Profile::line)]
}

async fn waiters_that_vanished_block_nobody(rig: &Rig) -> Outcome {
    let (name, ttl, line) = (rig.name("vanished")?, rig.ttl_middle(), rig.line().await?);
    let holder = rig.locker().await?.acquire(&name).await?;
    let host = Host::new(rig, &line, &name, ttl)?;
    let queued = host.calls.acquired(VANISHED);
    rig.within(line.patience(), "the waiters at the store", queued)
        .await?;
    tokio::time::sleep(QUEUE_GAP).await;
    let acquire = rig.locker().await?.acquire(&name).wait_forever();
    let living = tokio::spawn(acquire.into_future());
    tokio::time::sleep(QUEUE_GAP).await;
    line.vanish();
    drop(host);
    holder.release().await?;
    let turn = rig.within(rig.takeover(ttl), "the living one's turn", living);
    Ok(turn.await???.release().await?)
}

/// Waiters with a runtime of their own: when it is dropped, none of them says goodbye.
struct Host {
    runtime: Option<Runtime>,
    calls: Arc<Calls>,
}

impl Host {
    fn new(rig: &Rig, line: &Line, name: &LockName, ttl: Duration) -> Outcome<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let calls = Arc::new(Calls::default());
        for _ in 0..VANISHED {
            let (target, address) = (rig.target.clone(), line.address.clone());
            let (name, calls) = (name.clone(), calls.clone());
            runtime.spawn(async move {
                let backend = target.connect(&address).await?;
                let interposed = Arc::new(Interposed::new(backend, calls));
                let locker = Locker::builder(interposed).ttl(ttl).build()?;
                locker.acquire(&name).wait_forever().await
            });
        }
        Ok(Self {
            runtime: Some(runtime),
            calls,
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
