//! Nodes that are watched, and whether anything was heard of them.
//!
//! The driver gives out what a server says in the order in which it came, and a server says in the order of the
//! transactions what became of the nodes that we watch, before it answers what was done after that. So while the
//! connection is the same, a silent watch says that up to the last answer its node was neither deleted nor written
//! to. (Servers say nothing to those who may not read the node any more.)

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

/// So many bytes of watched paths a session has at the most.
///
/// Over each new connection the driver asks for all its watches again, 128 KiB in a request; but it gives all those
/// requests one number, takes the second answer for an error, and never comes back.
const PATHS_MAX: usize = 120 << 10;

/// What a watch is for; what is needed less leaves room for the others.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    /// Somebody waits for it.
    Wait,
    /// A lock is held; else its node is looked at in rounds.
    Hold,
    /// Saves requests.
    Save,
}

impl Purpose {
    /// How much of all may be in use by then.
    fn paths_max(self) -> usize {
        match self {
            Self::Wait => PATHS_MAX,
            Self::Hold => PATHS_MAX / 4 * 3,
            Self::Save => PATHS_MAX / 4,
        }
    }
}

/// How much a session watches.
#[derive(Debug)]
pub(crate) struct Watches {
    /// The server has the paths with it.
    chroot: usize,
    used: AtomicUsize,
}

impl Watches {
    pub(crate) fn new(chroot: &str) -> Arc<Self> {
        Arc::new(Self {
            chroot: chroot.len(),
            used: AtomicUsize::new(0),
        })
    }

    /// To be called before a watch of `path` is asked for; `None` if there is no room for it.
    pub(crate) fn allow(
        self: &Arc<Self>,
        client: &Client,
        path: &str,
        purpose: Purpose,
    ) -> Option<Allowed> {
        let room = self.room(self.chroot + path.len(), purpose)?;
        let line = Line::new(client.state_watcher());
        Some(Allowed { line, _room: room })
    }

    fn room(self: &Arc<Self>, bytes: usize, purpose: Purpose) -> Option<Room> {
        let more = |used: usize| Some(used + bytes).filter(|sum| *sum <= purpose.paths_max());
        let taken = self
            .used
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, more);
        taken.is_ok().then(|| Room {
            bytes,
            watches: self.clone(),
        })
    }
}

/// The room of one watch.
#[derive(Debug)]
struct Room {
    bytes: usize,
    watches: Arc<Watches>,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.watches.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

/// A watch that may be asked for.
pub(crate) struct Allowed {
    line: Line,
    _room: Room,
}

impl Allowed {
    /// The watch that was asked for since.
    pub(crate) fn watch(self, watcher: OneshotWatcher) -> Watch {
        Watch {
            event: Box::pin(async move { watcher.changed().await.event_type }),
            allowed: self,
        }
    }
}

/// The watch of one node; dropping it ends it.
pub(crate) struct Watch {
    // Before its room, which is given to those that the driver is told of later.
    event: Pin<Box<dyn Future<Output = EventType> + Send>>,
    allowed: Allowed,
}

impl Watch {
    /// Waits for the first event; of the session, when that is over. With it comes what another watch of the node
    /// needs.
    pub(crate) async fn event(self) -> (EventType, Allowed) {
        (self.event.await, self.allowed)
    }
}

/// What can tell whether nothing has happened.
pub(crate) trait Silent: Sized {
    /// Itself, if nothing was heard up to now.
    fn silent(self) -> Option<Self>;
}

impl Silent for Watch {
    fn silent(mut self) -> Option<Self> {
        let is_silent = at_once(self.event.as_mut()).is_none() && !self.allowed.line.has_changed();
        is_silent.then_some(self)
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
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_what_is_needed_most() {
        let watches = Watches::new("/team");
        let all =
            |purpose| -> Vec<_> { std::iter::from_fn(|| watches.room(1 << 10, purpose)).collect() };
        let saves = all(Purpose::Save);
        assert_eq!(saves.len(), 30);
        let holds = all(Purpose::Hold);
        assert_eq!(holds.len(), 60);
        assert!(all(Purpose::Save).is_empty());
        let waits = all(Purpose::Wait);
        assert_eq!(waits.len(), 30);
        assert!(all(Purpose::Wait).is_empty());
        drop(holds);
        assert_eq!(all(Purpose::Hold).len(), 30);
        drop((saves, waits));
        assert_eq!(watches.used.load(Ordering::Acquire), 0);
    }
}
