//! Removes what the names of a run left in a store.

use std::{sync::Arc, time::Duration};

use dlock::config::Config;
use dlock_core::{Error, LockName, Result};
use dlock_raw::{
    backend,
    baseline::Floor,
    residue::{Cleared, Residue},
};
use tokio::{task::JoinSet, time::sleep};

use crate::tasks::defect;

/// How many names are removed together, and how many such batches at once.
const BATCH: usize = 64;
const BATCHES_MAX: usize = 16;

/// The pause before what could not be removed is tried again.
const AGAIN: Duration = Duration::from_millis(200);

/// A connection that lists and removes entries of locks by their names.
pub(crate) struct Sweep {
    traces: Arc<Residue>,
    floor: Option<Arc<dyn Floor>>,
}

impl Sweep {
    /// Whether entries of locks in this store can be listed.
    pub(crate) fn can_list(config: &Config) -> bool {
        backend(config.url().scheme()).is_some()
    }

    /// Connects to the store. `floor` has used it, too.
    ///
    /// # Errors
    ///
    /// The errors of the store.
    pub(crate) async fn open(config: &Config, floor: Option<Arc<dyn Floor>>) -> Result<Self> {
        let traces = Arc::new(Residue::open(config).await?);
        Ok(Self { traces, floor })
    }

    /// Removes all that is left of the names, without an end of its own. `left` is how many names are in batches of
    /// which something is known to be there.
    ///
    /// # Errors
    ///
    /// The errors of the store; `left` is right then, too.
    ///
    /// # Cancel safety
    ///
    /// The rest stays in the store.
    pub(crate) async fn remove(&self, names: &[String], left: &mut usize) -> Result<Cleared> {
        let mut all = Cleared::default();
        let mut names: Vec<LockName> = names
            .iter()
            .map(|name| LockName::new(name))
            .collect::<Result<_>>()?;
        loop {
            names = self.pass(&names, &mut all, left).await?;
            if names.is_empty() {
                return Ok(all);
            }
            // The session of a worker that was killed may keep its row or file for a moment.
            sleep(AGAIN).await;
        }
    }

    /// The error of a store inside that could not be reached, such as a node: what is left there is not known.
    pub(crate) fn unreached(&self) -> Option<Error> {
        self.traces.unreached()
    }

    /// Ends the connection.
    pub(crate) async fn close(self) {
        if let Some(traces) = Arc::into_inner(self.traces) {
            traces.close().await;
        }
    }

    /// Tries each name once, and returns those in batches of which something stays.
    async fn pass(
        &self,
        names: &[LockName],
        all: &mut Cleared,
        left: &mut usize,
    ) -> Result<Vec<LockName>> {
        let (mut batches, mut running) = (names.chunks(BATCH), JoinSet::new());
        let (mut again, mut failed) = (Vec::new(), None);
        loop {
            while running.len() < BATCHES_MAX
                && let Some(batch) = batches.next()
            {
                running.spawn(one_batch(
                    self.traces.clone(),
                    self.floor.clone(),
                    batch.to_vec(),
                ));
            }
            let Some(cleared) = running.join_next().await else {
                *left = again.len();
                return failed.map_or(Ok(again), Err);
            };
            let (batch, cleared) = match cleared.map_err(defect)? {
                Ok(done) => done,
                // The others are removed all the same.
                Err(error) => {
                    failed = failed.or(Some(error));
                    continue;
                }
            };
            all.removed += cleared.removed;
            all.locks += cleared.locks;
            if cleared.stays > 0 {
                again.extend(batch);
                *left = again.len().max(*left);
            }
        }
    }
}

async fn one_batch(
    traces: Arc<Residue>,
    floor: Option<Arc<dyn Floor>>,
    names: Vec<LockName>,
) -> Result<(Vec<LockName>, Cleared)> {
    for name in &names {
        floor
            .as_ref()
            .map_or(Ok(()), |floor| floor.remove(name.as_str()))?;
    }
    let cleared = traces.clear(&names).await?;
    Ok((names, cleared))
}
