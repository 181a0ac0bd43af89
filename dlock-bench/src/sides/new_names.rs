//! Tasks that repeat a cycle, each time on a name that was never used before.

use std::{sync::Arc, time::Duration};

use dlock_core::{Locker, Result, backend::async_trait};
use dlock_raw::{
    baseline::{Cycle, NewName},
    residue::Cleared,
};

use super::{
    cycles::Cycling,
    runner::{Runner, Sample},
};
use crate::{names::Numbered, sweep::Sweep};

/// Tasks side by side, and the names that they use.
pub(crate) struct NewNames {
    cycling: Cycling,
    numbered: Vec<Numbered>,
    sweep: Arc<Sweep>,
}

impl NewNames {
    /// A task for each of the `numbered` names, which `make` makes.
    pub(crate) fn new(
        numbered: Vec<Numbered>,
        sweep: &Arc<Sweep>,
        make: impl Fn() -> Box<dyn NewName>,
    ) -> Self {
        let tasks = numbered.iter().map(|names| {
            let (task, names) = (make(), names.clone());
            Box::new(EachOnce { task, names }) as Box<dyn Cycle>
        });
        Self {
            cycling: Cycling::new(tasks),
            numbered,
            sweep: sweep.clone(),
        }
    }
}

#[async_trait]
impl Runner for NewNames {
    async fn slice(&mut self, window: Duration, cycle: Duration) -> Result<Sample> {
        self.cycling.slice(window, cycle).await
    }

    /// Some stores keep an entry for each name: so there are never more than of one slice.
    async fn clear(&mut self) -> Result<Cleared> {
        let used: Vec<String> = self.numbered.iter().flat_map(Numbered::used).collect();
        let cleared = self.sweep.remove(&used, &mut 0).await?;
        self.numbered.iter().for_each(Numbered::clear);
        Ok(cleared)
    }
}

/// One task, and its names.
struct EachOnce {
    task: Box<dyn NewName>,
    names: Numbered,
}

#[async_trait]
impl Cycle for EachOnce {
    async fn cycle(&mut self) -> Result<()> {
        self.task.cycle(&self.names.next()).await
    }
}

/// dlock's own cycle.
pub(crate) struct Locked(pub(crate) Locker);

#[async_trait]
impl NewName for Locked {
    async fn cycle(&mut self, name: &str) -> Result<()> {
        self.0.acquire(name).await?.release().await
    }
}
