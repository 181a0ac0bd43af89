//! A node that is watched, and whether anything was heard of it.
//!
//! The driver gives out what a server says in the order in which it came, and a server says in the order of the
//! transactions what became of the nodes that we watch, before it answers what was done after that. So once a
//! later transaction has been heard of, a silent watch says that its node is as it was.

use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use zookeeper_client::{EventType, OneshotWatcher, StateWatcher};

/// What the first event was.
type Event = Pin<Box<dyn Future<Output = EventType> + Send>>;

/// The watch of one node; dropping it ends it.
pub(crate) struct Watch(Event);

impl Watch {
    pub(crate) fn new(watcher: OneshotWatcher) -> Self {
        Self(Box::pin(async move { watcher.changed().await.event_type }))
    }

    /// Waits for the first event; of the session, when that is over.
    pub(crate) async fn event(self) -> EventType {
        self.0.await
    }

    /// The watch, if there was no event up to now.
    pub(crate) fn silent(mut self) -> Option<Self> {
        at_once(self.0.as_mut()).is_none().then_some(self)
    }
}

#[cfg(test)]
impl Watch {
    /// One whose event comes with the end of `event`.
    pub(crate) fn of(event: impl Future<Output = EventType> + Send + 'static) -> Self {
        Self(Box::pin(event))
    }
}

/// The connection that there is: whether another one has followed it.
pub(crate) struct Line(StateWatcher);

impl Line {
    pub(crate) fn new(mut states: StateWatcher) -> Self {
        states.state();
        Self(states)
    }

    /// Whether anything became of the connection since this was asked last. The driver says so before it gives
    /// out what the next one brings.
    pub(crate) fn has_changed(&mut self) -> bool {
        at_once(self.0.changed()).is_some()
    }
}

/// What a future has now.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
