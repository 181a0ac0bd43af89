//! The place of a store in a run: its data, its connection, and its error.

use dlock_core::{Error, ErrorKind, Result};

use crate::{data, store::Store};

/// A store of the run, or why it is none.
pub(crate) struct Slot {
    pub(crate) data: data::Store,
    store: Option<Store>,
    error: Option<Error>,
}

impl Slot {
    /// The slot of a store that is not connected yet.
    pub(crate) fn new(data: data::Store) -> Self {
        Self {
            data,
            store: None,
            error: None,
        }
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
                _ => self.fail(error),
            },
        }
        Ok(())
    }

    /// The store, as long as nothing failed.
    pub(crate) fn live(&self) -> Option<&Store> {
        self.store.as_ref().filter(|_| self.error.is_none())
    }

    /// The store, also after a failure.
    pub(crate) fn any(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Records what failed. The first error stays.
    pub(crate) fn fail(&mut self, error: Error) {
        if self.error.is_none() {
            self.data.error = Some(error.to_string());
            self.error = Some(error);
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
