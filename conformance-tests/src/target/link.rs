//! A line between a client and its store, which can fail.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use dlock_verify::proxy::{Connection, Direction, End, Fault, Proxy};

/// The server is silent for so many times as long as a client waits for it: whoever tries again once or twice has
/// given up, too.
const SILENT_TIMES: u32 = 3;

/// A store does in less what it was asked for, which nothing tells of.
const DONE: Duration = Duration::from_millis(200);

const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// A line to a store that can be silent, cut and healed again.
#[derive(Debug)]
pub struct Line {
    /// Leads through the proxy, to the place that the line was made for.
    pub(crate) address: String,
    proxy: Proxy,
    /// No client of that address waits for longer, to connect or for an answer.
    patience: Duration,
    /// Whether the clients' host is gone.
    vanished: AtomicBool,
}

impl Line {
    /// A line over `proxy`, whose clients find the store at `address`.
    ///
    /// `patience` is the longest time for which such a client waits to be connected and then for an
    /// answer: the sum of its time-outs. Cases wait for several times that, so set short ones in the
    /// address.
    #[must_use]
    pub fn new(address: String, proxy: Proxy, patience: Duration) -> Self {
        Self {
            address,
            proxy,
            patience,
            vanished: AtomicBool::new(false),
        }
    }

    /// How long a client may take for what it does at once.
    pub(crate) fn patience(&self) -> Duration {
        self.patience
    }

    /// How long the store must be silent until every time-out is over.
    pub(crate) fn silent_for(&self) -> Duration {
        self.patience * SILENT_TIMES
    }

    /// From now on nothing arrives, in neither direction: as with a server that is stopped.
    pub(crate) fn silence(&self) {
        for direction in BOTH {
            self.proxy.set(direction, Fault::Hold);
        }
    }

    /// The client loses its connections, of which the server hears nothing, and new ones are silent.
    pub(crate) fn cut(&self) {
        self.silence();
        self.proxy.end(End::Client);
    }

    /// The clients' host is gone: nothing arrives any more, not even the end of a connection.
    pub(crate) fn vanish(&self) {
        self.vanished.store(true, Ordering::Release);
        self.silence();
    }

    /// What was held back arrives, and all that comes later; unless the host is gone.
    pub(crate) fn heal(&self) {
        if self.vanished.load(Ordering::Acquire) {
            return;
        }
        for direction in BOTH {
            self.proxy.set(direction, Fault::None);
        }
    }

    /// What was held back arrives at the store, whose answers do not: the connections are gone by then. New
    /// ones are well.
    ///
    /// # Cancel safety
    ///
    /// The line is not healed.
    pub(crate) async fn heal_without_answers(&self) {
        self.proxy.set(Direction::ToServer, Fault::None);
        for connection in self.proxy.connections() {
            has_passed(&connection, Direction::ToServer).await;
        }
        tokio::time::sleep(DONE).await;
        self.proxy.end(End::Reset);
        self.heal();
    }

    /// Waits until all that has been sent up to now has arrived.
    ///
    /// # Cancel safety
    ///
    /// Nothing is changed by it.
    pub(crate) async fn delivered(&self) {
        for connection in self.proxy.connections() {
            for direction in BOTH {
                has_passed(&connection, direction).await;
            }
        }
    }
}

/// Waits until all that has been sent up to now has been passed on, or cannot be any more.
async fn has_passed(connection: &Connection, direction: Direction) {
    let sent = connection.seen(direction);
    tokio::select! {
        () = connection.until_passed(direction, sent) => {}
        () = connection.until_ended() => {}
    }
}
