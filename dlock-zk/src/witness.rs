//! Whose session a connection is in.

use std::{
    future::Future as _,
    pin::pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
};

use zookeeper_client::StateWatcher;

/// A server may give us another session without a word (T44), and only a node that we have made says whose
/// we are in. What was seen of a connection holds as long as the connection.
#[derive(Debug, Default)]
pub(crate) struct Witness(Mutex<Option<StateWatcher>>);

impl Witness {
    /// A node that was made over a connection is of our session; `states` is from before it was sent.
    pub(crate) fn saw(&self, mut states: StateWatcher) {
        if !has_changed(&mut states) {
            *self.lock() = Some(states);
        }
    }

    /// Whether the connection is in our session.
    pub(crate) fn knows(&self) -> bool {
        let mut seen = self.lock();
        if seen.as_mut().is_some_and(has_changed) {
            *seen = None;
        }
        seen.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<StateWatcher>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the connection has changed since this was asked last.
pub(crate) fn has_changed(states: &mut StateWatcher) -> bool {
    let changed = pin!(states.changed());
    let mut context = Context::from_waker(Waker::noop());
    changed.poll(&mut context).is_ready()
}
