//! The place of a store in a run: its data, its names, its connection, and its error.

use dlock_core::{Error, ErrorKind, Result};

use crate::{
    data,
    names::Names,
    store::{self, Left, Store},
    target::Target,
};

/// A store of the run, or why it is none.
pub(crate) struct Slot {
    pub(crate) data: data::Store,
    pub(crate) target: Target,
    /// The names of its locks, also of those before it was connected.
    pub(crate) names: Names,
    store: Option<Store>,
    error: Option<Error>,
}

impl Slot {
    /// The slot of a store that is not connected yet.
    pub(crate) fn new(target: Target, names: Names) -> Self {
        Self {
            data: store::described(&target.config),
            target,
            names,
            store: None,
            error: None,
        }
    }

    /// Ends the store, and removes what its names left in it.
    ///
    /// # Errors
    ///
    /// That something is left, or that it is not known.
    ///
    /// # Cancel safety
    ///
    /// The rest stays in the store.
    pub(crate) async fn clean_up(self) -> Result<(), Left> {
        store::clean_up(&self.target.config, &self.names, self.store.as_ref()).await
    }

    /// Records how connecting went.
    ///
    /// # Errors
    ///
    /// The error itself, if the store is configured wrongly: the user has to mend that first.
    pub(crate) fn connected(&mut self, connected: Result<(Store, data::Store)>) -> Result<()> {
        match connected {
            Ok((store, data)) => {
                self.data = data;
                self.store = Some(store);
            }
            Err(error) => match error.kind() {
                ErrorKind::InvalidConfig | ErrorKind::InvalidInput | ErrorKind::Unsupported => {
                    return Err(error);
                }
                _ => self.fail("connecting", &error),
            },
        }
        Ok(())
    }

    /// The store, as long as nothing failed.
    pub(crate) fn live(&self) -> Option<&Store> {
        self.store.as_ref().filter(|_| self.error.is_none())
    }

    /// Whether nothing was measured of the store.
    pub(crate) fn is_empty(&self) -> bool {
        self.data.cycles.is_empty() && self.live().is_none()
    }

    /// The store, also after a failure.
    pub(crate) fn any(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Records what failed, and in which phase of the run. The first error stays.
    pub(crate) fn fail(&mut self, phase: &str, error: &Error) {
        if self.error.is_none() {
            let why = format!("{phase}: {error}");
            let message = format!("{}: {why}", self.data.url);
            self.error = Some(Error::new(error.kind(), message));
            self.data.error = Some(why);
        }
    }

    /// Records why a workload was not measured.
    pub(crate) fn lacks(&mut self, workload: &str, error: &Error) {
        self.data.notes.push(format!("no {workload}: {error}"));
    }

    /// Takes the error out.
    pub(crate) fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }
}
