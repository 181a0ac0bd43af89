//! All faults end, the workers pause, and a witness takes every name.

use std::time::Duration;

use dlock_core::{BootInstant, Clock, Locker};
use serde::{Deserialize, Serialize};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::scene::Scene;
use crate::{
    chaos::{
        client::{Order, Resources},
        target::Target,
    },
    history::{Entry, EventKind, Owner},
    support::{Outcome, failed, within},
};

/// Beside the store's bound, workers may take so long to end what they do.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// All names are free within the store's bound and this.
const FREE_MAX: Duration = Duration::from_secs(1);

/// An entry that is left so long after everything has ended is residue.
const LEFT_AFTER: Duration = Duration::from_millis(200);

/// Workers close sockets and end tasks in the background, within this.
const QUIET_MAX: Duration = Duration::from_secs(5);

/// How often resources are counted until they are as few as before.
const COUNT_EVERY: Duration = Duration::from_millis(200);

/// One time at which the clients had nothing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Settled {
    /// The time, in nanoseconds on the boot-time clock.
    pub at: u64,
    /// The grants before it.
    pub grants: u64,
    /// How long it took until the witness had taken every name.
    pub free_after: Duration,
    /// The longest lag of this machine in that time.
    pub lag: Duration,
    /// The errors of names that stayed taken.
    pub taken: Vec<String>,
    /// The most that a worker has open.
    pub resources: Resources,
    /// The connections that the servers count.
    pub connections: Option<u64>,
}

impl Scene {
    /// Settles, and lets the workers go on.
    pub(super) async fn settle(&self) -> Outcome<Settled> {
        let settled = self.pause().await?;
        self.workers.order(&Order::Resume).await?;
        Ok(settled)
    }

    async fn pause(&self) -> Outcome<Settled> {
        let workers = self.workers.count();
        self.observer.before_pause();
        // Times are unique.
        let number = self.clock.now().as_nanos();
        self.workers.order(&Order::Pause { number }).await?;
        let max = PAUSE_MAX + self.target.heal_max();
        within(
            max,
            "a pause of all workers",
            self.observer.until_paused(workers),
        )
        .await?;
        self.list().await;
        self.watchdog.take();
        let begin = self.clock.now();
        let taken = take_all(&self.witness, &self.names, &*self.target).await?;
        let freed = self.clock.now();
        let free_after = freed.since(begin);
        let lag = self.watchdog.take();
        until_idle_ones_are_closed(&*self.target, &self.clock, freed).await;
        let resources = self.quiet().await?;
        let connections = connections(&*self.target, &self.clock).await;
        Ok(Settled {
            at: begin.as_nanos(),
            grants: self.observer.counts().grants,
            free_after,
            lag,
            taken,
            resources,
            connections,
        })
    }

    /// As [`settle`](Self::settle), and lists what is left once everything must have ended. The workers stay paused.
    pub(super) async fn settle_finally(&self) -> Outcome<Settled> {
        let settled = self.pause().await?;
        let witness = self.witness.capabilities();
        sleep(self.target.ttl() + witness.takeover_max + LEFT_AFTER).await;
        self.list().await;
        Ok(settled)
    }

    /// Records the holders that the store shows, for the checks of what is left in it.
    async fn list(&self) {
        let mut entries = Vec::new();
        for name in &self.names {
            // A store that does not answer shows nothing; the witness finds that out.
            if let Ok(Some(holder)) = self.witness.inspect(name.as_str()).await {
                entries.push(Entry {
                    name: name.as_str().into(),
                    what: format!("{holder:?}"),
                    documented: false,
                    owner: holder.note.as_deref().and_then(Owner::from_note),
                });
            }
        }
        self.observer.record(EventKind::Listed { entries });
    }

    /// The resources of the worker that has most, when nothing changes any more.
    async fn quiet(&self) -> Outcome<Resources> {
        let mut last = self.count().await?;
        let settling = async {
            loop {
                sleep(COUNT_EVERY).await;
                let next = self.count().await?;
                let is_quiet = next.descriptors >= last.descriptors && next.tasks >= last.tasks;
                last = next;
                if is_quiet {
                    return Ok::<_, libtest_mimic::Failed>(());
                }
            }
        };
        // Counts that still fall are few enough.
        let _ = timeout(QUIET_MAX, settling).await;
        Ok(last)
    }

    async fn count(&self) -> Outcome<Resources> {
        self.observer.before_count();
        self.workers.order(&Order::Count).await?;
        let all = self.observer.resources(self.workers.count());
        let all = within(QUIET_MAX, "the resources of all workers", all).await?;
        all.into_iter()
            .reduce(Resources::most)
            .ok_or_else(|| failed("no workers".to_owned()))
    }
}

/// Takes every name once: the errors of those that stay taken.
pub(super) async fn take_all(
    witness: &Locker,
    names: &[String],
    target: &dyn Target,
) -> Outcome<Vec<String>> {
    let ttl = target.ttl();
    let takeover = ttl + witness.capabilities().takeover_max;
    let max = takeover + target.heal_max() + FREE_MAX;
    let mut takes = JoinSet::new();
    for name in names {
        let (name, witness) = (name.clone(), witness.clone());
        takes.spawn(async move {
            let guard = witness.acquire(name.as_str()).ttl(ttl).wait(max).await;
            let taken = guard.as_ref().err().map(|error| format!("{name}: {error}"));
            if let Ok(guard) = guard {
                let _ = guard.release().await;
            }
            taken
        });
    }
    let mut taken = Vec::new();
    while let Some(ended) = takes.join_next().await {
        taken.extend(ended?);
    }
    Ok(taken)
}

/// Waits until no client has a connection that it does not need since `freed`: the witness had one for each name.
async fn until_idle_ones_are_closed(target: &dyn Target, clock: &Clock, freed: BootInstant) {
    clock.sleep_until(freed.after(target.idle_max())).await;
}

/// The connections that the servers count when no more end: a server ends a session a little later than its client.
async fn connections(target: &dyn Target, clock: &Clock) -> Option<u64> {
    let end = clock.now().after(QUIET_MAX);
    let mut last = target.connections().await?;
    while clock.now() < end {
        sleep(COUNT_EVERY).await;
        let next = target.connections().await?;
        if next >= last {
            break;
        }
        last = next;
    }
    Some(last)
}

#[cfg(test)]
impl Settled {
    pub(in crate::chaos) fn empty() -> Self {
        Self {
            at: 0,
            grants: 0,
            free_after: Duration::ZERO,
            lag: Duration::ZERO,
            taken: Vec::new(),
            resources: Resources::default(),
            connections: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use dlock_core::{Error, Result};
    use tokio::process::Command;

    use super::*;
    use crate::{chaos::Fault, ensure};

    const IDLE: Duration = Duration::from_millis(500);

    /// The connections of clients, before and after those are closed that no client needs.
    const ALL: u64 = 45;
    const NEEDED: u64 = 9;

    /// A server whose clients close what they do not need after [`IDLE`].
    struct Server {
        clock: Clock,
        freed: BootInstant,
    }

    #[async_trait]
    impl Target for Server {
        fn store(&self) -> &'static str {
            "idle"
        }

        fn servers(&self) -> Vec<std::net::SocketAddr> {
            Vec::new()
        }

        fn url(&self, _: &[std::net::SocketAddr]) -> String {
            String::new()
        }

        async fn connect(&self, _: &str) -> Result<Locker> {
            Err(Error::closed())
        }

        fn worker(&self) -> Outcome<Command> {
            Err(failed("no worker".to_owned()))
        }

        fn faults(&self) -> Vec<Arc<dyn Fault>> {
            Vec::new()
        }

        fn heal_max(&self) -> Duration {
            Duration::ZERO
        }

        fn idle_max(&self) -> Duration {
            IDLE
        }

        async fn connections(&self) -> Option<u64> {
            let is_idle = self.clock.now().since(self.freed) < IDLE;
            Some(if is_idle { ALL } else { NEEDED })
        }
    }

    #[tokio::test]
    async fn connections_are_counted_when_idle_ones_are_closed() -> Outcome {
        let clock = Clock::boottime();
        let freed = clock.now();
        let server = Server {
            clock: clock.clone(),
            freed,
        };
        until_idle_ones_are_closed(&server, &clock, freed).await;
        let counted = connections(&server, &clock).await;
        ensure!(counted == Some(NEEDED), "{counted:?}");
        Ok(())
    }
}
