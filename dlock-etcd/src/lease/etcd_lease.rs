//! One lease of etcd: the keys of attempts are attached to it, and end with it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{BootInstant, Result, backend::SentAt};
use tokio::sync::{Notify, watch};

use crate::{
    conn::members::Members,
    lease::{rpc, users::LeaseUsers},
};

/// A keep-alive times out after this part of the lease's ttl.
const TRY_PART: u32 = 4;

/// The shortest time-out of a keep-alive: etcd's gRPC proxy delays each by half a second.
const TRY_MIN: Duration = Duration::from_millis(700);

/// A lock is proved by a keep-alive that is no older than this part of its ttl. etcd's gRPC proxy delays
/// each by up to half a second.
const FRESH_PART: u32 = 2;

/// A wait may use up this part of a ttl without renewal.
const WAITED_PART: u32 = 20;

/// The server checks for expired leases twice a second; the rest is for its own delays.
const END_SLACK: Duration = Duration::from_secs(2);

/// A lease in the store.
pub(crate) struct EtcdLease {
    pub(crate) members: Arc<Members>,
    id: i64,
    /// How long the store keeps it without a keep-alive.
    pub(crate) granted_ttl: Duration,
    /// A Raft term that was known before the lease was requested.
    raft_term: u64,
    state: watch::Sender<State>,
    /// Whether the lease must end soon, with what is attached to it.
    retired: AtomicBool,
    pub(crate) users: LeaseUsers,
    /// Requests a keep-alive from the loop now.
    pub(crate) keepalive_requested: Notify,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// The send time of the last keep-alive that the store has confirmed.
    last_keepalive: SentAt,
    /// The send time of the last keep-alive that proves a hold.
    last_proof: SentAt,
    /// Whether a later leader has kept the lease alive: locks that are held on it must move.
    is_outdated: bool,
    /// Set when nothing is granted on the lease any more: it has ended in the store by then.
    ends_by: Option<BootInstant>,
}

/// The proof that a lease gives of a hold on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LeaseProof {
    /// The hold is proved by a request that was sent then.
    Since(SentAt),
    /// The leader has changed, so the lease proves nothing any more.
    Outdated,
    /// The lease has ended, or is abandoned.
    Ended,
}

impl EtcdLease {
    /// Requests a lease of `ttl`, in whole seconds.
    pub(crate) async fn grant(members: &Arc<Members>, ttl: Duration) -> Result<Self> {
        let raft_term = members.raft_term();
        let rpc::Granted { id, sent, ttl } = rpc::grant(members, ttl).await?;
        let state = State {
            last_keepalive: sent,
            last_proof: sent,
            is_outdated: false,
            ends_by: None,
        };
        Ok(Self {
            members: members.clone(),
            id,
            granted_ttl: ttl,
            raft_term,
            state: watch::Sender::new(state),
            retired: AtomicBool::new(false),
            users: LeaseUsers::default(),
            keepalive_requested: Notify::new(),
        })
    }

    /// The lease's id in the store.
    pub(crate) fn id(&self) -> i64 {
        self.id
    }

    /// When the last keep-alive was sent that the store has confirmed.
    pub(crate) fn last_keepalive(&self) -> SentAt {
        self.state.borrow().last_keepalive
    }

    /// Whether nothing is granted on the lease any more.
    pub(crate) fn is_ending(&self) -> bool {
        self.state.borrow().ends_by.is_some()
    }

    /// Refuses new attempts; the lease ends after its last user.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }

    /// Whether new attempts may use the lease.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_ending() && !self.retired.load(Ordering::Acquire)
    }

    /// Whether the lease has ended in the store, with all keys on it.
    pub(crate) fn has_ended(&self) -> bool {
        let ends_by = self.state.borrow().ends_by;
        ends_by.is_some_and(|ends_by| ends_by <= self.members.clock.now())
    }

    /// Completes when nothing is granted on the lease any more.
    pub(crate) async fn ending(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as `self`.
        let _ = state.wait_for(|state| state.ends_by.is_some()).await;
    }

    /// The store has said that the lease does not exist.
    pub(crate) fn mark_ended(&self) {
        self.set_end(self.members.clock.now());
    }

    /// A proof by a keep-alive that leaves at least half of `ttl`, which may be much less than the store
    /// grants. Requests a keep-alive from the loop if needed. Bounded by the lease's own end.
    pub(crate) async fn recent_proof(&self, ttl: Duration) -> LeaseProof {
        let now = self.members.clock.now();
        let since = now.before(ttl.min(self.granted_ttl) / FRESH_PART);
        let mut states = self.state.subscribe();
        loop {
            let state = *states.borrow_and_update();
            match state.proof() {
                // K2: the clock of the exchange that the store has answered, never our own.
                LeaseProof::Since(sent) if sent.instant() < since => {}
                proof => return proof,
            }
            self.keepalive_requested.notify_one();
            if states.changed().await.is_err() {
                return LeaseProof::Ended;
            }
        }
    }

    /// A proof for a grant without renewal, on a lease without a loop. Sends one keep-alive if the wait
    /// has used up more than a small part of `ttl` (K6).
    pub(crate) async fn unrenewed_proof(&self, ttl: Duration) -> Result<LeaseProof> {
        let now = self.members.clock.now();
        let state = *self.state.borrow();
        match state.proof() {
            LeaseProof::Since(sent) if sent.instant() < now.before(ttl / WAITED_PART) => {
                self.keep_alive_once().await
            }
            proof => Ok(proof),
        }
    }

    /// Sends one keep-alive, and checks that the leader is still the same.
    pub(crate) async fn keep_alive_once(&self) -> Result<LeaseProof> {
        let max = (self.granted_ttl / TRY_PART).max(TRY_MIN);
        let max = max.min(self.members.config.timeouts.reply);
        let Some(sent) = rpc::keep_alive(&self.members, self.id, max).await? else {
            self.mark_ended();
            return Ok(LeaseProof::Ended);
        };
        // Does not wake waiting proofs: nothing is proved yet.
        self.state.send_if_modified(|state| {
            state.last_keepalive = sent.max(state.last_keepalive);
            false
        });
        // After the keep-alive: the leader that answers this read is the one that kept the lease alive, or
        // a later one.
        let raft_term = rpc::read_raft_term(&self.members, max).await?;
        if raft_term != self.raft_term {
            tracing::debug!(
                raft_term,
                "another leader: held locks move to another lease"
            );
            self.retire();
        }
        self.state.send_modify(|state| {
            if raft_term == self.raft_term {
                state.last_proof = sent.max(state.last_proof);
            } else {
                state.is_outdated = true;
            }
        });
        Ok(self.state.borrow().proof())
    }

    /// Ends the lease in the store, with all keys on it; succeeds also if it is gone already.
    pub(crate) async fn revoke(&self) -> Result<()> {
        self.revoke_noting(&AtomicBool::new(false)).await
    }

    /// Revokes like [`revoke`](Self::revoke), and sets `effect_unknown` if a try may still be under way.
    pub(crate) async fn revoke_noting(&self, effect_unknown: &AtomicBool) -> Result<()> {
        rpc::revoke(&self.members, self.id, effect_unknown).await?;
        self.mark_ended();
        Ok(())
    }

    /// Retries [`revoke`](Self::revoke) until it is confirmed or the lease has ended by itself.
    pub(crate) async fn revoke_until_confirmed(&self) {
        self.abandon();
        let (has_ended, revoke) = (|| self.has_ended(), || self.revoke());
        self.members.retry_until_confirmed(has_ended, revoke).await;
    }

    /// Stops keeping the lease alive: it ends by itself a ttl after the last keep-alive, which may have
    /// been sent just now.
    pub(crate) fn abandon(&self) {
        let now = self.members.clock.now();
        self.set_end(now.after(self.granted_ttl).after(END_SLACK));
    }

    fn set_end(&self, ends_by: BootInstant) {
        self.state.send_modify(|state| {
            let earlier = state.ends_by.map_or(ends_by, |known| known.min(ends_by));
            state.ends_by = Some(earlier);
        });
        self.users.end();
    }
}

impl State {
    fn proof(&self) -> LeaseProof {
        match self {
            Self {
                ends_by: Some(_), ..
            } => LeaseProof::Ended,
            Self {
                is_outdated: true, ..
            } => LeaseProof::Outdated,
            Self { last_proof, .. } => LeaseProof::Since(*last_proof),
        }
    }
}
