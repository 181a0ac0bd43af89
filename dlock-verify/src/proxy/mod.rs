//! A network that can fail: a proxy between a client and a server, in the process of the test.
//!
//! Each [`Connection`] has a [`Fault`] for each [`Direction`], which can be changed at any time. It can
//! be ended in the ways of networks and kernels. The proxy counts bytes, and tests can wait for a
//! count instead of sleeping:
//!
//! ```
//! # use dlock_verify::proxy::{Direction, Fault, Proxy};
//! # async fn example(server: std::net::SocketAddr) -> std::io::Result<()> {
//! let proxy = Proxy::start(server)?;
//! // … the client connects to proxy.address() …
//! let connection = proxy.connection(0).await;
//! let seen = connection.seen(Direction::ToServer);
//! connection.set(Direction::ToClient, Fault::CutInstead);
//! // … the client sends a request …
//! connection.until_seen(Direction::ToServer, seen + 1).await; // it is on its way
//! connection.until_ended().await; // the server has done it, and its reply is lost
//! # Ok(())
//! # }
//! ```
//!
//! The proxy knows no protocol: a reply is the next bytes of the server.

mod connection;
mod fault;
mod pipe;

use std::{
    fmt, io,
    net::{Ipv4Addr, SocketAddr, TcpListener as StdListener},
    sync::Arc,
    time::Duration,
};

use dlock_core::toolkit::Lock;
use tokio::{
    net::TcpListener,
    runtime::{Builder, Runtime},
    sync::watch,
    time::sleep,
};

pub use self::{
    connection::{Connection, End},
    fault::{Direction, Fault, Faults},
};

/// The pause after a failed accept.
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// A proxy to one server. When it is dropped, its port is closed and its connections are cut.
///
/// It runs on a thread of its own. So a busy test does not slow it down, and the test's runtime has none of its
/// tasks.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

struct Shared {
    route: Route,
    /// The faults of new connections.
    plan: Lock<Plan>,
    /// All connections so far.
    connections: watch::Sender<Vec<Connection>>,
}

/// Maps a client's address to its server; with `None` the connection is reset.
type Route = Box<dyn Fn(SocketAddr) -> Option<SocketAddr> + Send + Sync>;

#[derive(Debug, Default)]
struct Plan {
    always: Faults,
    /// For the next connection only.
    next: Option<Faults>,
}

impl Proxy {
    /// Starts a proxy on a free loopback port to `server`.
    ///
    /// While the server does not listen, connections are reset.
    ///
    /// # Errors
    ///
    /// When there is no free port or no thread.
    pub fn start(server: SocketAddr) -> io::Result<Self> {
        Self::switch(move |_| Some(server))
    }

    /// Starts a proxy on a free loopback port; `route` maps a client's address to its server.
    ///
    /// With `None`, and while the server does not listen, the connection is reset.
    ///
    /// # Errors
    ///
    /// When there is no free port or no thread.
    pub fn switch(
        route: impl Fn(SocketAddr) -> Option<SocketAddr> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            route: Box::new(route),
            plan: Lock::default(),
            connections: watch::Sender::default(),
        });
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("fault proxy")
            .enable_all()
            .build()?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(listener)?
        };
        runtime.spawn(accept(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            runtime: Some(runtime),
        })
    }

    /// The address for clients.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of connections accepted so far.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.connections.borrow().len()
    }

    /// All connections so far in the order of their accept, also ended ones.
    #[must_use]
    pub fn connections(&self) -> Vec<Connection> {
        self.shared.connections.borrow().clone()
    }

    /// Waits for the connection number `index`, counted from 0.
    ///
    /// # Cancel safety
    ///
    /// It changes nothing.
    pub async fn connection(&self, index: usize) -> Connection {
        let mut connections = self.shared.connections.subscribe();
        // The sender lives as long as `self`, so there is no other error than never.
        match connections.wait_for(|all| all.len() > index).await {
            Ok(all) => all[index].clone(),
            Err(_) => std::future::pending().await,
        }
    }

    /// Sets the fault of one direction for all connections, the present and the new ones.
    pub fn set(&self, direction: Direction, fault: Fault) {
        // Locked until all have it: a connection accepted in between is in the list, or starts with it.
        let mut plan = self.shared.plan.lock();
        plan.always.set(direction, fault);
        for connection in self.connections() {
            connection.set(direction, fault);
        }
    }

    /// Sets the fault of both directions for all connections, the present and the new ones.
    pub fn set_both(&self, fault: Fault) {
        self.set(Direction::ToServer, fault);
        self.set(Direction::ToClient, fault);
    }

    /// Sets the faults of the next connection, which replace those of all connections.
    pub fn set_next(&self, faults: Faults) {
        self.shared.plan.lock().next = Some(faults);
    }

    /// Ends all present connections.
    pub fn end(&self, end: End) {
        for connection in self.connections() {
            connection.end(end);
        }
    }

    /// How many bytes of one direction have arrived here, over all connections.
    #[must_use]
    pub fn seen(&self, direction: Direction) -> u64 {
        let connections = self.shared.connections.borrow();
        connections.iter().map(|one| one.seen(direction)).sum()
    }

    /// How many bytes of one direction have been passed on, over all connections.
    #[must_use]
    pub fn passed(&self, direction: Direction) -> u64 {
        let connections = self.shared.connections.borrow();
        connections.iter().map(|one| one.passed(direction)).sum()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The runtime closes its sockets on its own thread. Dropping it here would wait for that, which
        // is not allowed on a thread of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    /// A new connection with the planned faults.
    fn begin(&self) -> Connection {
        let mut plan = self.plan.lock();
        let faults = plan.next.take().unwrap_or(plan.always);
        let connection = Connection::new(faults);
        self.connections
            .send_modify(|all| all.push(connection.clone()));
        connection
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("plan", &self.plan)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((client, from)) => match (shared.route)(from) {
                Some(server) => {
                    tokio::spawn(shared.begin().forward(client, server));
                }
                None => {
                    let _ = client.set_zero_linger();
                }
            },
            // The connection was reset before, or too many files are open.
            Err(_) => sleep(ACCEPT_AGAIN).await,
        }
    }
}
