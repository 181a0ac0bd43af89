//! The worker processes of a run, each behind proxies of its own.

use std::{
    fmt,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use dlock_core::Clock;
use tokio::{process::Command, sync::Mutex};

use super::observer::Observer;
use crate::{
    chaos::client::{Assignment, Order, WORKER_ENV},
    history::{Event, EventKind},
    proxy::Proxy,
    support::{Outcome, within},
    worker::WorkerProcess,
};

/// The end of a worker takes at most so long: its releases, and the close of its locker.
const END_MAX: Duration = Duration::from_secs(20);

/// How a worker is started.
pub(in crate::chaos) type Start = Box<dyn Fn() -> Outcome<Command> + Send + Sync>;

/// The workers of a run, for faults of the client's side.
pub struct Workers {
    observer: Arc<Observer>,
    slots: Vec<Slot>,
    start: Start,
    clients: AtomicU32,
    clock: Clock,
}

struct Slot {
    number: usize,
    /// With the URL of its proxies.
    assignment: Assignment,
    proxies: Vec<Proxy>,
    running: Mutex<Option<Running>>,
}

struct Running {
    client: u32,
    process: WorkerProcess,
    /// How many faults have stopped it that are not undone yet: two may strike the same worker.
    stops: u32,
}

impl Workers {
    /// Starts them. `pattern` is the assignment of each, with another URL.
    pub(in crate::chaos) async fn start(
        observer: Arc<Observer>,
        pattern: &Assignment,
        servers: &[SocketAddr],
        url: impl Fn(&[SocketAddr]) -> String,
        start: Start,
    ) -> Outcome<Self> {
        let mut slots = Vec::new();
        for number in 0..pattern.load.workers {
            let proxies = servers.iter().map(|server| Proxy::start(*server));
            let proxies = proxies.collect::<Result<Vec<_>, _>>()?;
            let addresses: Vec<_> = proxies.iter().map(Proxy::address).collect();
            let assignment = Assignment {
                url: url(&addresses),
                worker: number,
                ..pattern.clone()
            };
            slots.push(Slot {
                number,
                assignment,
                proxies,
                running: Mutex::new(None),
            });
        }
        let workers = Self {
            observer,
            slots,
            start,
            clients: AtomicU32::new(1),
            clock: Clock::boottime(),
        };
        for worker in 0..workers.count() {
            workers.start_again(worker).await?;
        }
        Ok(workers)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// The proxies of a worker, one for each server.
    #[must_use]
    pub fn proxies(&self, worker: usize) -> &[Proxy] {
        self.slots.get(worker).map_or(&[], |slot| &slot.proxies)
    }

    /// How many connections the workers have made so far.
    #[must_use]
    pub fn connections(&self) -> u64 {
        let proxies = self.slots.iter().flat_map(|slot| &slot.proxies);
        proxies.map(|proxy| proxy.accepted() as u64).sum()
    }

    /// Stops a worker where it is (SIGSTOP): how many acquires and holds are going on in it. Nothing to do when it
    /// is killed, or stopped already.
    ///
    /// # Errors
    ///
    /// When it has ended by itself.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn stop(&self, worker: usize) -> Outcome<u64> {
        let slot = self.slot(worker)?;
        let mut running = slot.running.lock().await;
        let Some(running) = &mut *running else {
            return Ok(0);
        };
        if running.stops == 0 {
            self.record(slot, running.client, EventKind::Stopped);
            running.process.stop()?;
        }
        running.stops += 1;
        Ok(self.observer.going_on(running.client))
    }

    /// Lets a worker go on (SIGCONT), once all its stops are undone. Nothing to do for a worker that was killed since
    /// then, or for the one in its place.
    ///
    /// # Errors
    ///
    /// When it has ended by itself.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn resume(&self, worker: usize) -> Outcome {
        let slot = self.slot(worker)?;
        let mut running = slot.running.lock().await;
        let Some(running) = running.as_mut().filter(|running| running.stops > 0) else {
            return Ok(());
        };
        running.stops -= 1;
        if running.stops == 0 {
            running.process.resume()?;
            self.record(slot, running.client, EventKind::Resumed);
        }
        Ok(())
    }

    /// Kills a worker (SIGKILL), until it is [started again](Self::start_again): how many acquires and holds ended
    /// with it.
    ///
    /// # Errors
    ///
    /// When it has ended by itself.
    ///
    /// # Cancel safety
    ///
    /// It is killed, and its end may be missing in the history.
    pub async fn kill(&self, worker: usize) -> Outcome<u64> {
        let slot = self.slot(worker)?;
        let Some(running) = slot.running.lock().await.take() else {
            return Ok(0);
        };
        let Running {
            client, process, ..
        } = running;
        let at = self.clock.now().as_nanos();
        process.kill().await?;
        let going_on = self.observer.going_on(client);
        let killed = Event::new(at, client, EventKind::Killed);
        self.observer.event(worker, killed);
        Ok(going_on)
    }

    /// Starts a killed worker, as a new client. Nothing to do when it runs.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    ///
    /// # Cancel safety
    ///
    /// Safe.
    pub async fn start_again(&self, worker: usize) -> Outcome {
        let slot = self.slot(worker)?;
        let mut running = slot.running.lock().await;
        if running.is_some() {
            return Ok(());
        }
        let client = self.clients.fetch_add(1, Ordering::Relaxed);
        let assignment = Assignment {
            client,
            seed: slot.assignment.seed ^ (u64::from(client) << 32),
            ..slot.assignment.clone()
        };
        let mut command = (self.start)()?;
        command.env(WORKER_ENV, serde_json::to_string(&assignment)?);
        let (observer, number) = (self.observer.clone(), slot.number);
        let take = move |report| observer.take(number, client, report);
        let process = WorkerProcess::start(command, take)?;
        *running = Some(Running {
            client,
            process,
            stops: 0,
        });
        Ok(())
    }

    /// Records that the entry of a lock is gone.
    pub(in crate::chaos) fn destroyed(&self, name: &str) {
        let name = name.into();
        self.observer.record(EventKind::Destroyed { name });
    }

    /// Gives an order to all.
    pub(in crate::chaos) async fn order(&self, order: &Order) -> Outcome {
        for slot in &self.slots {
            if let Some(running) = &*slot.running.lock().await {
                let sent = running.process.order(order).await;
                let number = slot.number;
                sent.map_err(|failed| format!("worker {number} has ended: {failed:?}"))?;
            }
        }
        Ok(())
    }

    /// Ends all in an orderly way.
    pub(in crate::chaos) async fn end(&self) -> Outcome {
        self.order(&Order::End).await?;
        for slot in &self.slots {
            if let Some(Running { process, .. }) = slot.running.lock().await.take() {
                let what = format!("the end of worker {}", slot.number);
                within(END_MAX, what, process.finished()).await??;
            }
        }
        Ok(())
    }

    fn record(&self, slot: &Slot, client: u32, kind: EventKind) {
        let event = Event::new(self.clock.now().as_nanos(), client, kind);
        self.observer.event(slot.number, event);
    }

    fn slot(&self, worker: usize) -> Outcome<&Slot> {
        let slot = self.slots.get(worker);
        slot.ok_or_else(|| format!("no worker {worker}").into())
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers")
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chaos::load::Load,
        checker::{Facts, NEVER},
    };

    /// One worker, which does nothing.
    async fn idle() -> Outcome<Workers> {
        let load = Load {
            workers: 1,
            ..Load::default()
        };
        let pattern = Assignment {
            url: String::new(),
            client: 0,
            worker: 0,
            seed: 0,
            ttl: Duration::ZERO,
            prefix: String::new(),
            load,
        };
        let start: Start = Box::new(|| {
            let mut command = Command::new("sleep");
            command.arg("60");
            Ok(command)
        });
        let observer = Arc::new(Observer::new(Vec::new(), 1));
        Workers::start(observer, &pattern, &[], |_| String::new(), start).await
    }

    fn facts(workers: &Workers) -> Facts {
        workers.observer.events().iter().collect()
    }

    #[tokio::test]
    async fn two_faults_may_stop_one_worker() -> Outcome {
        let workers = idle().await?;
        workers.stop(0).await?;
        workers.stop(0).await?;
        workers.resume(0).await?;
        let stops = &facts(&workers).stops;
        assert!(stops[&1].iter().all(|stop| stop.to == NEVER), "{stops:?}");
        workers.resume(0).await?;
        let facts = facts(&workers);
        assert!(facts.malformed.is_empty(), "{:?}", facts.malformed);
        assert!(facts.stops[&1].iter().all(|stop| stop.to < NEVER));
        Ok(())
    }

    #[tokio::test]
    async fn a_worker_is_killed_while_it_is_stopped() -> Outcome {
        let workers = idle().await?;
        workers.stop(0).await?;
        workers.kill(0).await?;
        workers.start_again(0).await?;
        workers.resume(0).await?;
        let facts = facts(&workers);
        assert!(facts.malformed.is_empty(), "{:?}", facts.malformed);
        Ok(())
    }
}
