//! A network link between a client and its store, which can fail.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use dlock_verify::proxy::{Connection, Direction, End, Fault, Proxy};

/// A silence lasts this many client timeouts, so that a client that retries once or twice has failed, too.
const SILENT_TIMES: u32 = 3;

/// A store executes a request in less than this; no event reports it.
const DONE: Duration = Duration::from_millis(200);

const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// A network link to a store that can be silenced, cut and healed.
#[derive(Debug)]
pub struct Link {
    /// The store's address over the proxies.
    pub(crate) address: String,
    /// One for each server of the store.
    proxies: Vec<Proxy>,
    /// The longest time-out of the link's clients, for a connection or a reply.
    client_timeout: Duration,
    /// Whether the clients' host is gone.
    vanished: AtomicBool,
}

impl Link {
    /// A link over `proxies`, one for each server that clients use. They find the store at `address`.
    ///
    /// `client_timeout` is the sum of a client's timeouts for its connection and a reply. Cases wait for
    /// several times that, so set short timeouts in the address.
    #[must_use]
    pub fn new(address: String, proxies: Vec<Proxy>, client_timeout: Duration) -> Self {
        Self {
            address,
            proxies,
            client_timeout,
            vanished: AtomicBool::new(false),
        }
    }

    /// The longest time of a request that does not wait for a lock.
    pub(crate) fn client_timeout(&self) -> Duration {
        self.client_timeout
    }

    /// How long the store must be silent until every timeout has expired.
    pub(crate) fn silent_for(&self) -> Duration {
        self.client_timeout * SILENT_TIMES
    }

    /// Holds back everything in both directions, as a stopped server does.
    pub(crate) fn silence(&self) {
        for direction in BOTH {
            self.set(direction, Fault::Hold);
        }
    }

    /// Delivers each reply `delay` later.
    pub(crate) fn delay_replies(&self, delay: Duration) {
        self.set(Direction::ToClient, Fault::Delay(delay));
    }

    /// Ends the connections on the client's side only; the server does not notice, and new ones are silent.
    pub(crate) fn cut(&self) {
        self.silence();
        self.end(End::Client);
    }

    /// Removes the clients' host: nothing arrives any more, not even the end of a connection.
    pub(crate) fn vanish(&self) {
        self.vanished.store(true, Ordering::Release);
        self.silence();
    }

    /// Delivers everything held back, and all later bytes; unless the host has vanished.
    pub(crate) fn heal(&self) {
        if self.vanished.load(Ordering::Acquire) {
            return;
        }
        for direction in BOTH {
            self.set(direction, Fault::None);
        }
    }

    /// Delivers held-back requests to the store, and resets the connections before its replies arrive.
    ///
    /// New connections work.
    ///
    /// # Cancel safety
    ///
    /// The link is not healed.
    pub(crate) async fn heal_without_answers(&self) {
        self.set(Direction::ToServer, Fault::None);
        for connection in self.connections() {
            has_passed(&connection, Direction::ToServer).await;
        }
        tokio::time::sleep(DONE).await;
        self.end(End::Reset);
        self.heal();
    }

    /// Waits until everything sent so far has arrived, but for what a cut has lost.
    ///
    /// # Cancel safety
    ///
    /// It changes nothing.
    pub(crate) async fn delivered(&self) {
        for connection in self.connections().filter(|one| !one.is_cut()) {
            for direction in BOTH {
                has_passed(&connection, direction).await;
            }
        }
    }

    fn set(&self, direction: Direction, fault: Fault) {
        for proxy in &self.proxies {
            proxy.set(direction, fault);
        }
    }

    fn end(&self, how: End) {
        for proxy in &self.proxies {
            proxy.end(how);
        }
    }

    fn connections(&self) -> impl Iterator<Item = Connection> {
        self.proxies.iter().flat_map(Proxy::connections)
    }
}

/// Waits until everything sent so far has been passed on, or its connection has ended.
async fn has_passed(connection: &Connection, direction: Direction) {
    let sent = connection.seen(direction);
    tokio::select! {
        () = connection.until_passed(direction, sent) => {}
        () = connection.until_ended() => {}
    }
}
