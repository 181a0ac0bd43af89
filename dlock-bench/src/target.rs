//! A store to measure, and the processes that measure it.

use std::{fmt, process::Command, sync::Arc};

use dlock::config::{Config, Registry};

/// A store to measure.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Target {
    /// How dlock connects to it.
    pub config: Config,
    /// The stores that this program knows, among them this one.
    pub registry: Registry,
    /// How further processes are started, which connect to it in the same way.
    pub worker: WorkerCommand,
    /// The process of its server, if this program started it.
    pub pid: Option<u32>,
}

impl Target {
    /// A store whose server is not this program's.
    #[must_use]
    pub fn new(config: Config, registry: Registry, worker: WorkerCommand) -> Self {
        Self {
            config,
            registry,
            worker,
            pid: None,
        }
    }

    /// Sets the process of the server.
    #[must_use]
    pub fn pid(self, pid: Option<u32>) -> Self {
        Self { pid, ..self }
    }
}

/// Makes the command of a further process.
///
/// The command has no arguments for the work yet. The benchmark appends `--once NAME` for [`one_shot`], `--spin` for
/// [`spin`] or `--host HOST` for [`serve`], which the process then calls.
///
/// [`one_shot`]: crate::worker::one_shot
/// [`serve`]: crate::worker::serve
/// [`spin`]: crate::worker::spin
#[derive(Clone)]
pub struct WorkerCommand(Arc<dyn Fn() -> Command + Send + Sync>);

impl WorkerCommand {
    /// Makes commands with `make`.
    pub fn new(make: impl Fn() -> Command + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    pub(crate) fn make(&self) -> tokio::process::Command {
        tokio::process::Command::from((self.0)())
    }
}

impl fmt::Debug for WorkerCommand {
    /// Without the environment, which may have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerCommand").finish_non_exhaustive()
    }
}
