//! Opens connections to one server: resolved, connected, probed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{BootInstant, Clock, ErrorKind, Result, toolkit::SingleFlight};

use super::driver::DriverConnection;
use crate::{
    config::Options,
    conn::{
        abandoned::Abandoned,
        connect::Endpoint,
        connection::{Connection, Grants, NativeCommands},
        history::History,
        last_contact::LastContact,
        probe::{self, Expected, ServerInfo},
        resolve::Resolver,
    },
    errors,
};

/// Opens the connections of one node.
pub(super) struct Opener {
    pub(super) resolver: Resolver,
    options: Options,
    /// Whether the server is a node of a Cluster.
    pub(super) clustered: bool,
    /// The highest token that this client was given by any server.
    pub(super) highest_token: Arc<AtomicU64>,
    pub(super) clock: Clock,
    pub(super) last_contact: LastContact,
    pub(super) abandoned: Abandoned,
}

impl Opener {
    pub(super) fn new(
        resolver: Resolver,
        options: Options,
        clustered: bool,
        highest_token: Arc<AtomicU64>,
    ) -> Self {
        let clock = Clock::boottime();
        Self {
            resolver,
            options,
            clustered,
            highest_token,
            abandoned: Abandoned::new(clock.clone()),
            clock,
            last_contact: LastContact::default(),
        }
    }

    /// The longest time before a request is hedged: before its connection times out, and after that of a `WAIT`, which
    /// is no hang.
    pub(super) fn hedge_after_max(&self) -> Duration {
        self.options.timeouts.reply * 3 / 4
    }

    /// A new connection, within `connect_timeout`. `on_probed` is called when the server has passed the probe,
    /// before abandoned connections are killed.
    pub(super) async fn open(&self, on_probed: impl FnOnce()) -> Result<Connection> {
        self.bounded(self.open_unbounded(on_probed)).await
    }

    /// Reads the record of a node of a Cluster on a connection of its own, within `connect_timeout`: `InvalidConfig`
    /// if it is of another layout.
    pub(super) async fn check_layout(&self) -> Result<()> {
        self.bounded(self.check_layout_unbounded()).await
    }

    async fn bounded<T>(&self, opening: impl Future<Output = Result<T>>) -> Result<T> {
        let timeout = self.options.timeouts.connect;
        let opened = tokio::time::timeout(timeout, opening).await;
        let timed_out = |_| Err(errors::connect_timed_out(timeout, self.resolver.has_tls()));
        opened.unwrap_or_else(timed_out).map_err(|error| {
            let error = self.resolver.name_in(error);
            match self.clustered {
                // The map of the nodes came by this URL.
                true => error.without_url_hint(),
                false => error,
            }
        })
    }

    async fn open_unbounded(&self, on_probed: impl FnOnce()) -> Result<Connection> {
        let endpoint = self.resolver.resolve().await?;
        let opened = self.open_to(&endpoint, on_probed).await;
        opened.map_err(|error| endpoint.name_in(error))
    }

    async fn check_layout_unbounded(&self) -> Result<()> {
        let endpoint = self.resolver.resolve().await?;
        let checked = async {
            let mut stream = endpoint.connect().await?;
            let slots = probe::fetch_own_slots(&mut stream, endpoint.has_tls()).await?;
            History::check_layout(&mut stream, &self.options, &slots).await
        };
        checked.await.map_err(|error| endpoint.name_in(error))
    }

    async fn open_to(&self, endpoint: &Endpoint, on_probed: impl FnOnce()) -> Result<Connection> {
        let has_tls = endpoint.has_tls();
        let mut stream = endpoint.connect().await?;
        let expected = Expected {
            options: &self.options,
            clustered: self.clustered,
            has_tls,
        };
        let server = probe::probe(&mut stream, expected).await?;
        let grants = self.grants(endpoint, &mut stream, &server).await?;
        on_probed();
        let killed = self.abandoned.kill_all(&server.client, &mut stream).await;
        killed.map_err(|error| errors::of_connect(error, has_tls))?;
        Ok(Connection {
            stream,
            client: server.client,
            grants,
            replication: SingleFlight::new(None),
            native: NativeCommands::new(server.has_native_release),
        })
    }

    /// Whether the server grants, by its history.
    async fn grants(
        &self,
        endpoint: &Endpoint,
        stream: &mut DriverConnection,
        server: &ServerInfo,
    ) -> Result<Grants> {
        let slots = match self.clustered {
            true => Some(probe::fetch_own_slots(stream, self.resolver.has_tls()).await?),
            false => None,
        };
        let highest_token = self.highest_token.load(Ordering::Acquire);
        let (options, slots) = (&self.options, slots.as_deref());
        let history = match server.evicts && !options.accepts_eviction {
            true => Err(errors::evicts()),
            false => History::open(stream, server, options, slots, highest_token + 1).await,
        };
        let now = self.clock.now();
        match history {
            Ok(history) => {
                self.follow(endpoint, &history, now)?;
                let from = now.after(history.grace(options));
                Ok(Grants::From(from, history))
            }
            Err(error) if errors::is_connection_failure(&error) => Err(error),
            // The server cannot write at present, or a client that may have locks cannot use its record any more: locks
            // can still be renewed and released (K4).
            Err(error) if error.kind() == ErrorKind::Unavailable || highest_token > 0 => {
                Ok(Grants::Refused(now, error))
            }
            Err(error) => Err(error),
        }
    }

    /// Refuses a server that is independent of the former one at this address.
    fn follow(&self, endpoint: &Endpoint, history: &History, now: BootInstant) -> Result<()> {
        let address = endpoint.address();
        if self.clustered {
            self.last_contact.replace(address, history, now);
            return Ok(());
        }
        self.last_contact.follow(address, history, now)
    }
}
