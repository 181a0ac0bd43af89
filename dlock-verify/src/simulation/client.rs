//! One client: a locker in a runtime of its own, whose clock advances only in its steps.

use std::{io, sync::Arc, time::Duration};

use dlock_core::{Clock, Locker, Result, backend::DistributedLock, memory::Memory};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
    time::sleep,
};

use super::{
    backend::Backend,
    conditions::Conditions,
    flaw::Flaw,
    network::Network,
    workload::{Shared, Task},
};
use crate::{
    history::{FencedRegister, Recorder},
    random::Random,
};

/// A hold lasts up to one and a half ttls, but not longer than this, in virtual milliseconds.
const HOLD_MAX: u64 = 500;

/// The tasks of a client.
const TASKS: usize = 2;

/// A locker shuts down within this, in its own time: its last releases are tried again for longer than it.
const SHUTDOWN_MAX: Duration = Duration::from_secs(60);

/// A layer around the backend of each client.
pub type Layer = fn(Box<dyn DistributedLock>) -> Box<dyn DistributedLock>;

pub(super) struct Client {
    runtime: Runtime,
    network: Network,
    /// Until its shutdown.
    locker: Option<Locker>,
    tasks: Vec<JoinHandle<()>>,
    /// The client has run up to this millisecond.
    ran_until: u64,
    /// The client does not run before this millisecond.
    pub(super) suspended_until: u64,
}

/// The parts of a client.
pub(super) struct Parts {
    pub(super) store: Memory,
    pub(super) clock: Clock,
    pub(super) ttl: Duration,
    pub(super) random: Random,
    pub(super) flaw: Option<Flaw>,
    pub(super) layer: Option<Layer>,
    pub(super) recorder: Recorder,
    pub(super) register: Arc<FencedRegister>,
    pub(super) shared: Arc<Shared>,
}

impl Client {
    pub(super) fn start(mut parts: Parts) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()?;
        let network = Network::new(parts.store.clone(), parts.random.fork());
        let entered = runtime.enter();
        let locker = parts.locker(&network).map_err(io::Error::other)?;
        let tasks = (0..TASKS)
            .map(|_| {
                let task = Task {
                    locker: locker.clone(),
                    recorder: parts.recorder.clone(),
                    register: parts.register.clone(),
                    random: parts.random.fork(),
                    hold_max: parts.hold_max(),
                    shared: parts.shared.clone(),
                };
                tokio::spawn(task.run())
            })
            .collect();
        drop(entered);
        Ok(Self {
            runtime,
            network,
            locker: Some(locker),
            tasks,
            ran_until: 0,
            suspended_until: 0,
        })
    }

    pub(super) fn set(&self, conditions: Conditions) {
        self.network.set(conditions);
    }

    /// Runs up to this millisecond.
    pub(super) fn run_until(&mut self, millis: u64) {
        let rest = Duration::from_millis(millis - self.ran_until);
        self.runtime.block_on(async move { sleep(rest).await });
        self.ran_until = millis;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.tasks.iter().all(JoinHandle::is_finished)
    }

    /// Begins to shut the locker down.
    pub(super) fn shut_down(&mut self) {
        let locker = self.locker.take();
        self.tasks.push(self.runtime.spawn(async move {
            if let Some(locker) = locker {
                let _ = locker.shutdown(SHUTDOWN_MAX).await;
            }
        }));
    }

    /// The tasks that still run.
    pub(super) fn running(&self) -> usize {
        self.runtime.metrics().num_alive_tasks()
    }
}

impl Parts {
    fn hold_max(&self) -> u64 {
        let millis = u64::try_from(self.ttl.as_millis()).unwrap_or(HOLD_MAX);
        (millis / 2).saturating_mul(3).min(HOLD_MAX)
    }

    fn locker(&self, network: &Network) -> Result<Locker> {
        let backend: Box<dyn DistributedLock> = Box::new(Backend::new(network.clone(), self.flaw));
        let backend = match self.layer {
            Some(layer) => layer(backend),
            None => backend,
        };
        Locker::builder(backend)
            .ttl(self.ttl)
            .clock(self.clock.clone())
            .build()
    }
}
