//! One node: its store, which may still have to be opened.

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{
    Effect, Error, ErrorKind, backend::DistributedLock, config::ConnectFuture, toolkit::Lock,
};

use super::silence::Silence;

/// A store that is one node of a quorum.
pub struct Node {
    pub(super) opening: Opening,
    /// The URL, without passwords; empty if it has none.
    pub(super) place: String,
}

/// The opening of a node's store.
pub(super) type Open = Arc<dyn Fn() -> ConnectFuture + Send + Sync>;

pub(super) enum Opening {
    Done(Arc<dyn DistributedLock>),
    By(Open),
}

impl Node {
    /// A node with a store that is open.
    pub fn new(backend: impl DistributedLock) -> Self {
        Self::of(Opening::Done(Arc::new(backend)))
    }

    /// A node whose store is opened by `open`: again and again, until it succeeds.
    ///
    /// ```
    /// use dlock_core::memory::Memory;
    /// use dlock_layers::quorum::Node;
    ///
    /// let node = Node::opened_by(|| Box::pin(async { Ok(Box::new(Memory::new()) as _) }));
    /// ```
    pub fn opened_by(open: impl Fn() -> ConnectFuture + Send + Sync + 'static) -> Self {
        Self::of(Opening::By(Arc::new(open)))
    }

    /// This node with its URL, which errors name. It has no password.
    pub(super) fn at(mut self, place: String) -> Self {
        self.place = place;
        self
    }

    fn of(opening: Opening) -> Self {
        Self {
            opening,
            place: String::new(),
        }
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").finish_non_exhaustive()
    }
}

/// One node of an open quorum, with its store as soon as that is open.
#[derive(Debug)]
pub(super) struct Slot {
    /// From 1, as in the URL.
    pub(super) number: usize,
    /// The number, and the URL if it has one.
    pub(super) label: String,
    pub(super) silence: Silence,
    state: Lock<State>,
}

#[derive(Debug)]
enum State {
    /// Not open yet; with the error of the last try.
    Opening(Option<Error>),
    Open(Arc<dyn DistributedLock>),
    Closed,
}

impl Slot {
    pub(super) fn new(number: usize, place: &str) -> Self {
        let label = match place {
            "" => format!("node {number}"),
            place => format!("node {number} ({place})"),
        };
        Self {
            number,
            label,
            silence: Silence::default(),
            state: Lock::new(State::Opening(None)),
        }
    }

    /// The store, if it is open.
    pub(super) fn store(&self) -> Option<Arc<dyn DistributedLock>> {
        match &*self.state.lock() {
            State::Open(store) => Some(store.clone()),
            _ => None,
        }
    }

    /// Makes it one with an open store; gives the store back if the quorum was closed in the meantime.
    pub(super) fn opened(
        &self,
        store: Arc<dyn DistributedLock>,
    ) -> Result<(), Arc<dyn DistributedLock>> {
        let mut state = self.state.lock();
        if matches!(*state, State::Closed) {
            return Err(store);
        }
        *state = State::Open(store);
        Ok(())
    }

    /// The last try to open it has failed.
    pub(super) fn failed(&self, error: Error) {
        let mut state = self.state.lock();
        if let State::Opening(last) = &mut *state {
            *last = Some(error);
        }
    }

    /// Whether a try to open it has failed.
    pub(super) fn has_failed(&self) -> bool {
        matches!(&*self.state.lock(), State::Opening(Some(_)))
    }

    /// Why it gets no request.
    pub(super) fn why_not_open(&self) -> Error {
        match &*self.state.lock() {
            State::Opening(Some(error)) => error.duplicate(),
            State::Closed => Error::closed(),
            State::Opening(None) | State::Open(_) => {
                Error::new(ErrorKind::Unavailable, "the node is not connected yet")
            }
        }
    }

    /// Closes it for ever; the store that is to be closed.
    pub(super) fn close(&self) -> Option<Arc<dyn DistributedLock>> {
        match std::mem::replace(&mut *self.state.lock(), State::Closed) {
            State::Open(store) => Some(store),
            _ => None,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(*self.state.lock(), State::Closed)
    }
}

/// The error of a node that was silent for `timeout`.
pub(super) fn no_answer(timeout: Duration) -> Error {
    let why = format!("no answer in {timeout:?}");
    Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown)
}
