//! The members of the cluster, and the connection to one of them.
//!
//! The driver spreads requests over all members, including silent ones. So each member has a client of
//! its own here. When a member fails, requests and watches move to the next one.

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Clock, Effect, Error, Result,
    backend::SentAt,
    toolkit::{Connected, ReconnectSlot},
};
use etcd_client::{Client, Error as DriverError, ResponseHeader};
use tokio::{sync::watch, time::timeout};

use crate::{
    config::EtcdConfig,
    errors::{self, Failure},
};

/// The members of one cluster.
pub(crate) struct Members {
    pub(crate) config: EtcdConfig,
    pub(crate) clock: Clock,
    addresses: Vec<String>,
    slot: ReconnectSlot<Member>,
    /// The member that the next connection goes to.
    next: AtomicUsize,
    /// The present generation: streams on an older connection end.
    generation: watch::Sender<u64>,
    /// Whether a member has answered a request: the URL is right then.
    has_answered: AtomicBool,
    /// Whether the warning about long leases was logged.
    has_warned: AtomicBool,
    raft_term: AtomicU64,
}

/// The client of one member.
#[derive(Clone)]
pub(crate) struct Member {
    /// Behind an `Arc`, as a clone of the client clones each of its parts.
    pub(crate) client: Arc<Client>,
    /// The index of its address.
    pub(crate) index: usize,
}

impl Deref for Member {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// A connection to one member.
pub(crate) type Connection = Connected<Member>;

impl Members {
    pub(crate) fn new(config: EtcdConfig) -> Result<Self> {
        // What cannot be used is reported before any request (K11).
        config.options()?;
        Ok(Self {
            addresses: config.addresses(),
            config,
            clock: Clock::boottime(),
            slot: ReconnectSlot::default(),
            next: AtomicUsize::new(0),
            generation: watch::Sender::default(),
            has_answered: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
            raft_term: AtomicU64::new(0),
        })
    }

    /// How many members the URL names.
    pub(crate) fn count(&self) -> usize {
        self.addresses.len()
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
        let connect = || {
            let members = self.clone();
            async move { members.connect_any().await }
        };
        self.slot.get(connect).await
    }

    async fn connect_any(&self) -> Result<Member> {
        let mut last = Error::closed();
        for _ in 0..self.addresses.len() {
            match self.connect().await {
                Ok(member) => {
                    // The next connection is made when this one has failed.
                    self.rotate();
                    return Ok(member);
                }
                Err(Failure {
                    error,
                    ends_connection,
                }) => {
                    if !ends_connection {
                        return Err(error);
                    }
                    last = error;
                    self.rotate();
                }
            }
        }
        Err(last)
    }

    /// Logs in, if the URL has a login. The driver connects with the first request.
    async fn connect(&self) -> Result<Member, Failure> {
        let index = self.next.load(Ordering::Acquire);
        let endpoint = self.config.endpoint(&self.addresses[index]);
        // Read for each connection: a password or a certificate may have been replaced.
        let options = self.config.options().map_err(|error| Failure {
            error,
            ends_connection: false,
        })?;
        let max = self.config.timeouts.connect;
        match timeout(max, Client::connect([endpoint], Some(options))).await {
            Ok(Ok(client)) => Ok(Member {
                client: Arc::new(client),
                index,
            }),
            Ok(Err(error)) => {
                let failure = self.failure(error, index);
                Err(Failure {
                    error: failure.error.with_effect(Effect::None),
                    ..failure
                })
            }
            Err(_) => Err(self.timed_out(max, index)),
        }
    }

    /// A member has answered a request.
    pub(crate) fn note_answer(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// The failure of a request to a member without a reply in `max`.
    pub(crate) fn timed_out(&self, max: Duration, index: usize) -> Failure {
        errors::timed_out(max).at(&self.addresses[index])
    }

    /// The failure of a request to a member with `error`.
    pub(crate) fn failure(&self, error: DriverError, index: usize) -> Failure {
        let failure = errors::of_request(error, &self.config).at(&self.addresses[index]);
        match self.has_answered.load(Ordering::Relaxed) {
            true => Failure {
                error: failure.error.without_url_hint(),
                ..failure
            },
            false => failure,
        }
    }

    /// Only the task that connects does this.
    fn rotate(&self) {
        let next = (self.next.load(Ordering::Acquire) + 1) % self.addresses.len();
        self.next.store(next, Ordering::Release);
    }

    /// Abandons the connection of this generation; the next request goes to the next member.
    pub(crate) fn abandon(&self, generation: u64) {
        if self.slot.abandon(generation).is_some() {
            self.end_streams_before(generation + 1);
        }
    }

    /// A later generation may have been abandoned before.
    fn end_streams_before(&self, generation: u64) {
        self.generation.send_if_modified(|present| {
            let is_later = generation > *present;
            *present = generation.max(*present);
            is_later
        });
    }

    /// Completes when the connection of this generation is abandoned.
    pub(crate) async fn abandoned(&self, generation: u64) {
        let mut present = self.generation.subscribe();
        // The sender lives as long as `self`.
        let _ = present.wait_for(|present| *present > generation).await;
    }

    pub(crate) fn close(&self) {
        self.slot.close();
        self.end_streams_before(u64::MAX);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.slot.is_closed()
    }

    /// Completes when the backend is closed.
    pub(crate) async fn closed(&self) {
        self.abandoned(u64::MAX - 1).await;
    }
}

#[cfg(test)]
mod tests {
    use tonic::Status;

    use super::*;

    #[tokio::test]
    async fn only_before_the_first_answer_a_failure_hints_at_the_url() {
        let members = Members::new(EtcdConfig::new(["h"])).expect("members");
        let failed = || {
            let lost = DriverError::GRpcStatus(Status::unavailable("reset"));
            members.failure(lost, 0).error.to_string()
        };
        let hint = "the connection failed; if that port speaks TLS, use etcds://: reset";
        assert_eq!(failed(), hint);
        members.note_answer();
        assert_eq!(failed(), "the connection failed: reset");
    }
}
