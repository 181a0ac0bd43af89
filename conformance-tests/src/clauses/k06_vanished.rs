//! K6 and K7, a queue of vanished waiters: their host is gone, and their connections were not closed.

use std::{sync::Arc, time::Duration};

use dlock_core::{LockName, Locker};
use dlock_verify::support::Outcome;
use tokio::runtime::{Builder, Runtime};

use crate::{
    case::{CallCounter, Case, CaseContext, Profile, case, interpose::Interposed},
    target::Link,
};

/// Enough to break the bound if each keeps the lock for its ttl.
const VANISHED: usize = 4;

/// Enough for a waiter to reach the store; no event reports it.
const QUEUE_GAP: Duration = Duration::from_millis(300);

pub(crate) fn cases() -> Vec<Case> {
    vec![case!(waiters_that_vanished_block_no_other, Profile::link)]
}

async fn waiters_that_vanished_block_no_other(context: &CaseContext) -> Outcome {
    let (name, ttl, link) = (
        context.name("vanished")?,
        context.ttl_middle(),
        context.link().await?,
    );
    let holder = context.locker().await?.acquire(&name).await?;
    let host = Host::new(context, &link, &name, ttl)?;
    let queued = host.calls.acquired(VANISHED);
    context
        .within(link.client_timeout(), "the waiters at the store", queued)
        .await?;
    tokio::time::sleep(QUEUE_GAP).await;
    let acquire = context.locker().await?.acquire(&name).wait_forever();
    let living = tokio::spawn(acquire.into_future());
    tokio::time::sleep(QUEUE_GAP).await;
    link.vanish();
    drop(host);
    holder.release().await?;
    let turn = context.within(context.takeover(ttl), "the living waiter's grant", living);
    Ok(turn.await???.release().await?)
}

/// Waiters with a runtime of their own: when it is dropped, none of them closes its connection cleanly.
struct Host {
    runtime: Option<Runtime>,
    calls: Arc<CallCounter>,
}

impl Host {
    fn new(context: &CaseContext, link: &Link, name: &LockName, ttl: Duration) -> Outcome<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let calls = Arc::new(CallCounter::default());
        for _ in 0..VANISHED {
            let (target, address) = (context.target.clone(), link.address.clone());
            let (name, calls) = (name.clone(), calls.clone());
            runtime.spawn(async move {
                let backend = target.connect(&address).await?;
                let interposed = Interposed::new(backend, calls);
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
