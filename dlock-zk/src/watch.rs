//! Watches of nodes: how many a session may have, and whether one has fired.
//!
//! The driver delivers the server's messages in their order. A server reports the changes of watched nodes in the
//! order of the transactions, before it answers later requests. So while the connection is the same, a quiet watch
//! proves that its node was neither deleted nor written to before the last answer. (A server reports nothing to a
//! client that may no longer read the node.)

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use zookeeper_client::{Client, EventType, OneshotWatcher, StateWatcher};

/// The most bytes of watched paths in one session.
///
/// Over each new connection the driver sets all its watches again, 128 KiB in a request. But it gives all those
/// requests one number, takes the second answer for an error, and never reconnects.
const PATHS_MAX: usize = 120 << 10;

/// The use of a watch. The less important ones leave bytes for the others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// A waiter needs it.
    Wait,
    /// A lock is held; without a watch its node is verified periodically.
    Hold,
    /// A lock is held, and clients of other recipes may enter its queue; without a watch it is listed periodically.
    Queue,
    /// A watch that saves requests.
    Cache,
}

impl Purpose {
    /// The most bytes that may be in use with such a watch.
    fn paths_max(self) -> usize {
        match self {
            Self::Wait => PATHS_MAX,
            Self::Hold => PATHS_MAX / 4 * 3,
            Self::Queue => PATHS_MAX / 2,
            Self::Cache => PATHS_MAX / 4,
        }
    }
}

/// The bytes of paths that a session may watch.
#[derive(Debug)]
pub(crate) struct WatchBudget {
    /// The bytes of the chroot, which precedes each path at the server.
    chroot: usize,
    used: AtomicUsize,
}

impl WatchBudget {
    pub(crate) fn new(chroot: &str) -> Arc<Self> {
        Arc::new(Self {
            chroot: chroot.len(),
            used: AtomicUsize::new(0),
        })
    }

    /// The permit to watch `path`, taken before the request; `None` if too few bytes are left.
    pub(crate) fn permit(
        self: &Arc<Self>,
        client: &Client,
        path: &str,
        purpose: Purpose,
    ) -> Option<WatchPermit> {
        let bytes = self.reserve(self.chroot + path.len(), purpose)?;
        Some(WatchPermit {
            connection: ConnectionMonitor::new(client.state_watcher()),
            _bytes: bytes,
        })
    }

    fn reserve(self: &Arc<Self>, bytes: usize, purpose: Purpose) -> Option<PathBytes> {
        let more = |used: usize| Some(used + bytes).filter(|sum| *sum <= purpose.paths_max());
        let reserved = self
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        reserved.is_ok().then(|| PathBytes {
            bytes,
            budget: self.clone(),
        })
    }
}

/// The reserved bytes of one watch.
#[derive(Debug)]
struct PathBytes {
    bytes: usize,
    budget: Arc<WatchBudget>,
}

impl Drop for PathBytes {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// The permit to request one watch.
pub(crate) struct WatchPermit {
    connection: ConnectionMonitor,
    _bytes: PathBytes,
}

impl WatchPermit {
    /// The watch that was requested with this permit.
    pub(crate) fn watch(self, watcher: OneshotWatcher) -> Watch {
        Watch {
            event: Box::pin(async move { watcher.changed().await.event_type }),
            permit: self,
        }
    }
}

/// The watch of one node; dropping it ends it.
pub(crate) struct Watch {
    // Dropped first: the driver removes the watch before another one can take its bytes.
    event: Pin<Box<dyn Future<Output = EventType> + Send>>,
    permit: WatchPermit,
}

impl Watch {
    /// Waits for the first event, also that of the session's end. Its permit serves for another watch of the node.
    pub(crate) async fn event(self) -> (EventType, WatchPermit) {
        (self.event.await, self.permit)
    }
}

/// A watch that can say whether it has fired.
pub(crate) trait Quiet: Sized {
    /// Itself, if no event and no new connection came up to now.
    fn quiet(self) -> Option<Self>;
}

impl Quiet for Watch {
    fn quiet(mut self) -> Option<Self> {
        let is_quiet =
            poll_now(self.event.as_mut()).is_none() && !self.permit.connection.has_changed();
        is_quiet.then_some(self)
    }
}

/// Detects that the driver's connection was lost or replaced.
pub(crate) struct ConnectionMonitor(StateWatcher);

impl ConnectionMonitor {
    pub(crate) fn new(mut states: StateWatcher) -> Self {
        states.state();
        Self(states)
    }

    /// Whether the connection has changed since the last call. The driver reports a change before it delivers
    /// anything from the next connection.
    pub(crate) fn has_changed(&mut self) -> bool {
        poll_now(self.0.changed()).is_some()
    }
}

/// The output of a future that is ready now.
pub(crate) fn poll_now<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_important_watches_find_bytes_left() {
        let budget = WatchBudget::new("/team");
        let all = |purpose| -> Vec<_> {
            std::iter::from_fn(|| budget.reserve(1 << 10, purpose)).collect()
        };
        let caches = all(Purpose::Cache);
        assert_eq!(caches.len(), 30);
        let holds = all(Purpose::Hold);
        assert_eq!(holds.len(), 60);
        assert!(all(Purpose::Cache).is_empty());
        let waits = all(Purpose::Wait);
        assert_eq!(waits.len(), 30);
        assert!(all(Purpose::Wait).is_empty());
        drop(holds);
        assert_eq!(all(Purpose::Hold).len(), 30);
        drop((caches, waits));
        assert_eq!(budget.used.load(Ordering::Acquire), 0);
    }
}
