//! The state of a pub/sub connection, shared with the waiters that have subscribed on it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::Result;
use tokio::sync::{Notify, oneshot};

/// The receiver of a connection's messages.
pub(crate) trait PushHandler: Send + Sync + 'static {
    /// Wakes the waiters of one channel. `listeners` is the number of clients with waiters, or 0.
    fn wake(&self, channel: &str, listeners: u32);

    /// Wakes all waiters: a message may be lost.
    fn wake_all(&self);

    /// Whether a waiter is subscribed to `channel`.
    fn has_waiter(&self, channel: &str) -> bool;

    /// Whether any waiter is subscribed at this server.
    fn has_any_waiter(&self) -> bool;

    /// The generation of the connection for requests to this server, if there is one.
    fn generation(&self) -> Option<u64>;
}

/// A channel to subscribe to.
pub(crate) struct Subscribe {
    pub(crate) channel: String,
    /// Dropped if the channel has no waiters any more.
    pub(crate) answer: oneshot::Sender<Result<Subscription>>,
}

/// A waiter's view of the connection that it has subscribed on.
#[derive(Clone)]
pub(crate) struct Subscription {
    state: Arc<State>,
    /// The generation of the connection for requests beside it. When that one is replaced, so is this one: the
    /// server may be another one now, and a half-open connection reports nothing.
    generation: Option<u64>,
}

#[derive(Default)]
struct State {
    /// The connection has ended.
    ended: AtomicBool,
    /// A ping is unanswered for too long.
    overdue: AtomicBool,
    /// A waiter has subscribed.
    subscribed: Notify,
}

impl Subscription {
    pub(super) fn new(generation: Option<u64>) -> Self {
        Self {
            state: Arc::default(),
            generation,
        }
    }

    /// Whether the connection is usable, beside the connection for requests of this generation.
    pub(crate) fn is_live(&self, generation: Option<u64>) -> bool {
        self.generation == generation && !self.state.ended.load(Ordering::Acquire)
    }

    /// Marks the connection as ended.
    pub(crate) fn end(&self) {
        self.state.ended.store(true, Ordering::Release);
    }

    /// Whether messages may be lost: a ping is overdue.
    pub(crate) fn is_overdue(&self) -> bool {
        self.state.overdue.load(Ordering::Acquire)
    }

    pub(super) fn set_overdue(&self, overdue: bool) {
        self.state.overdue.store(overdue, Ordering::Release);
    }

    /// Reports a new waiter: pings begin.
    pub(crate) fn notify_subscribed(&self) {
        self.state.subscribed.notify_one();
    }

    /// Returns after a [new waiter](Self::notify_subscribed), perhaps one before the call.
    pub(super) async fn subscribed(&self) {
        self.state.subscribed.notified().await;
    }
}
