//! The members of the cluster, and the connection to one of them.
//!
//! The driver spreads requests over all members, including silent ones. So each member has a client of
//! its own here. When a member fails, requests and watches move to the next one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use dlock_core::{
    Clock, Effect, Error, Result,
    backend::SentAt,
    toolkit::{Lock, SingleFlight, Turn},
};
use etcd_client::{Client, ConnectOptions, ResponseHeader};
use tokio::{sync::watch, time::timeout};

use crate::{
    config::EtcdConfig,
    errors::{self, Failure},
};

/// The members of one cluster.
pub(crate) struct Members {
    pub(crate) config: EtcdConfig,
    pub(crate) clock: Clock,
    endpoints: Vec<String>,
    options: ConnectOptions,
    slot: Lock<Slot>,
    /// At most one login at a time.
    connecting: SingleFlight<()>,
    /// The present generation: streams on an older connection end.
    generation: watch::Sender<u64>,
    closed: AtomicBool,
    /// Whether the warning about long leases was logged.
    has_warned: AtomicBool,
    raft_term: AtomicU64,
}

#[derive(Default)]
struct Slot {
    /// The member of the present connection, or of the next one.
    member: usize,
    connection: Option<Connection>,
    generation: u64,
}

/// A connection to one member.
#[derive(Clone)]
pub(crate) struct Connection {
    /// Behind an `Arc`: a clone of the client clones each of its parts.
    pub(crate) client: Arc<Client>,
    pub(crate) generation: u64,
}

impl Members {
    pub(crate) fn new(config: EtcdConfig) -> Result<Self> {
        Ok(Self {
            endpoints: config.endpoints(),
            options: config.options()?,
            config,
            clock: Clock::boottime(),
            slot: Lock::default(),
            connecting: SingleFlight::new(()),
            generation: watch::Sender::default(),
            closed: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
            raft_term: AtomicU64::new(0),
        })
    }

    /// How many members the URL names.
    pub(crate) fn count(&self) -> usize {
        self.endpoints.len()
    }

    /// The last Raft term that a linearizable read has shown.
    pub(crate) fn raft_term(&self) -> u64 {
        self.raft_term.load(Ordering::Acquire)
    }

    /// Notes the Raft term in the reply to a linearizable read.
    pub(crate) fn observe_raft_term(&self, header: Option<&ResponseHeader>) -> Result<u64> {
        let header = header.ok_or_else(|| errors::unexpected_reply("no header"))?;
        // Also a smaller term: of a cluster that was restored or recreated. A late reply costs one move.
        self.raft_term.store(header.raft_term(), Ordering::Release);
        Ok(header.raft_term())
    }

    /// Logs once that leases are longer than the settings allow.
    pub(crate) fn warn_of_long_leases(&self, warning: &str) {
        if !self.has_warned.swap(true, Ordering::AcqRel) {
            tracing::warn!("{warning}");
        }
    }

    /// Reads the clock for a request that is about to be sent.
    pub(crate) fn sent_now(&self) -> SentAt {
        SentAt::now(&self.clock)
    }

    /// The present connection, or a new one to the first member that accepts a login.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Connection> {
        if let Some(connection) = self.current()? {
            return Ok(connection);
        }
        let members = self.clone();
        let work = |turn: Turn<()>| async move {
            let connection = match members.current() {
                Ok(None) => members.connect_any().await,
                Ok(Some(connection)) => Ok(connection),
                Err(error) => Err(error),
            };
            turn.finish(connection)
        };
        self.connecting.run(work).await
    }

    async fn connect_any(&self) -> Result<Connection> {
        let mut last = Error::closed();
        for _ in 0..self.endpoints.len() {
            match self.connect().await {
                Ok(client) => return self.install(client),
                Err(Failure {
                    error,
                    ends_connection,
                }) => {
                    if !ends_connection {
                        return Err(error);
                    }
                    last = error;
                    self.rotate(&mut self.slot.lock());
                }
            }
        }
        Err(last)
    }

    /// Logs in, if the URL has a login. The driver connects with the first request.
    async fn connect(&self) -> Result<Client, Failure> {
        let endpoint = self.endpoints[self.slot.lock().member].clone();
        let max = self.config.timeouts.connect;
        match timeout(max, Client::connect([endpoint], Some(self.options.clone()))).await {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => {
                let failure = errors::of_request(error, &self.config);
                Err(Failure {
                    error: failure.error.with_effect(Effect::None),
                    ..failure
                })
            }
            Err(_) => Err(errors::timed_out(max)),
        }
    }

    fn install(&self, client: Client) -> Result<Connection> {
        let mut slot = self.slot.lock();
        if self.is_closed() {
            return Err(Error::closed());
        }
        slot.generation += 1;
        let connection = Connection {
            client: Arc::new(client),
            generation: slot.generation,
        };
        slot.connection = Some(connection.clone());
        Ok(connection)
    }

    fn current(&self) -> Result<Option<Connection>> {
        let slot = self.slot.lock();
        if self.is_closed() {
            return Err(Error::closed());
        }
        Ok(slot.connection.clone())
    }

    /// Abandons the connection of this generation; the next request goes to the next member.
    pub(crate) fn abandon(&self, generation: u64) {
        let mut slot = self.slot.lock();
        let current = slot.connection.as_ref();
        if current.is_some_and(|current| current.generation == generation) {
            self.rotate(&mut slot);
            self.generation.send_replace(generation + 1);
        }
    }

    fn rotate(&self, slot: &mut Slot) {
        slot.connection = None;
        slot.member = (slot.member + 1) % self.endpoints.len();
    }

    /// Completes when the connection of this generation is abandoned.
    pub(crate) async fn abandoned(&self, generation: u64) {
        let mut present = self.generation.subscribe();
        // The sender lives as long as `self`.
        let _ = present.wait_for(|present| *present > generation).await;
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.slot.lock().connection = None;
        self.generation.send_replace(u64::MAX);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Completes when the backend is closed.
    pub(crate) async fn closed(&self) {
        self.abandoned(u64::MAX - 1).await;
    }
}
