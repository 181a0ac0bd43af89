//! The interface of a store, and the parts that all stores share.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use dlock_verify::{
    chaos::{Load, Target},
    support::Outcome,
};
use tokio::process::Command;

/// A store that can be started.
#[async_trait]
pub(crate) trait Store: Send + Sync {
    /// The name on the command line, in plans and in `dlock-verify/exceptions.toml`.
    fn name(&self) -> &'static str;

    /// Whether continuous integration runs it: its time is short.
    fn in_ci(&self) -> bool {
        true
    }

    /// Starts its servers; they end with the result.
    async fn start(&self) -> Outcome<Started>;
}

/// A store that runs.
pub(crate) struct Started {
    pub(crate) target: Arc<dyn Target>,
    /// The logs of its servers, to be kept after a failure.
    pub(crate) logs: Vec<PathBuf>,
}

/// For stores whose servers take much of the machine.
pub(super) const SMALL: Load = Load {
    workers: 4,
    tasks: 12,
    hot: 12,
    shared: 24,
};

/// How workers and the witness connect.
pub(crate) async fn connect(url: String) -> Result<Locker> {
    dlock::connect(url.as_str()).await
}

/// Workers are this program, started again.
pub(super) fn worker() -> Outcome<Command> {
    Ok(Command::new(std::env::current_exe()?))
}
