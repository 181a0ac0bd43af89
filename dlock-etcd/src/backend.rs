//! The trait, on etcd.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    AttemptId, Capabilities, Error, ErrorKind, Expiry, Fencing, Holder, LockName, LostCause, Modes,
    Order, Result, Token, Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, Wait},
    toolkit::{Batcher, Lock},
};

use crate::{
    acquire::attempt as take,
    acquire::wait,
    config::EtcdConfig,
    conn::members::{Session, may_pass},
    conn::probe as server,
    errors,
    hold::Held,
    hold::prove::{Claim, Proved, Purpose},
    hold::verify as looks,
    keys as layout,
    lease::poll_watchdog::Pulse,
    lease::pool::Carriers,
    queue::batch::Trips,
    queue::key::Entry,
    queue::key_pool::Ids,
    ranges::{first, first_of_queue},
    watch::registry::{Told, Watches},
};

/// Locks in etcd: see the crate's documentation for what it guarantees.
pub struct EtcdLock {
    pub(crate) session: Arc<Session>,
    pub(crate) carriers: Carriers,
    pub(crate) watches: Watches,
    pub(crate) trips: Arc<Trips>,
    looks: Batcher<String, i64>,
    pub(crate) ids: Arc<Ids>,
    held: Lock<HashMap<AttemptId, Arc<Held>>>,
}

impl EtcdLock {
    /// What it can do if nothing is set, known without a connection.
    pub const CAPABILITIES: Capabilities = Capabilities {
        backend: "etcd",
        modes: Modes::Exclusive,
        fencing: Fencing::Growing,
        order: Order::Fifo,
        waiting: Waiting::Notified,
        // The places of most locks stand on a lease that they share.
        expiry: Expiry::Session,
        ttl_min: EtcdConfig::TTL_MIN,
        ttl_max: EtcdConfig::TTL_MAX,
        held_max: None,
        takeover_max: Duration::from_secs(3),
        restart_guard: Duration::ZERO,
    };

    /// What a backend with these settings can do, known without a connection.
    #[must_use]
    pub fn capabilities_of(config: &EtcdConfig) -> Capabilities {
        Capabilities {
            takeover_max: config.takeover_max(),
            ..Self::CAPABILITIES
        }
    }

    /// Connects, and looks whether locks may be read there and are kept in the same layout; in a store
    /// that has no locks of dlock yet it writes down which one this is.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for certificates that cannot be used, and when the locks there are kept in an older
    /// or newer layout; `Denied` for a wrong password or a missing
    /// permission; `Unavailable` when no member can be reached or most of them are down.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connection.
    pub async fn connect(config: EtcdConfig) -> Result<Self> {
        let session = Arc::new(Session::new(config)?);
        server::check(&session).await?;
        Ok(Self {
            carriers: Carriers::new(session.clone()),
            watches: Watches::new(session.clone()),
            trips: Arc::new(Trips::new(session.clone())),
            looks: looks::batch(session.clone()),
            ids: Arc::default(),
            held: Lock::default(),
            session,
        })
    }

    async fn grant(&self, request: &AcquireRequest, entry: Arc<Entry>, made: i64) -> Result<Lease> {
        // K2: a long wait is behind us, or the lease is nearly over: then it is kept alive first.
        let claim = Claim {
            entry: &entry,
            made,
            ttl: request.ttl,
            renewal: request.renewal,
            purpose: Purpose::Grant,
        };
        let proved = match self.prove(&claim).await {
            Ok(proved) => proved,
            Err(error) => return Err(take::undo(entry, request, true, error).await),
        };
        let token = u64::try_from(made).ok().and_then(Token::new);
        let (Some(Proved { sent, granted, .. }), Some(token)) = (proved, token) else {
            return Err(take::undo(entry, request, true, errors::lease_ended()).await);
        };
        if !entry.settle() {
            return Err(errors::unpolled());
        }
        let told = Told::Holder(request.attempt.clone());
        let watched = self.watches.watch(&*entry.keys.own, made + 1, told);
        entry.standing.hold(&request.attempt);
        let held = Arc::new(Held::new(entry, made, watched));
        self.held.lock().insert(request.attempt.id(), held.clone());
        Ok(request.granted(sent, granted, token, held))
    }

    async fn acquire_polled(&self, request: &AcquireRequest, pulse: &Arc<Pulse>) -> Result<Lease> {
        if request.wait == Wait::Never {
            let (entry, made) = take::now(self, request, pulse).await?;
            return self.grant(request, entry, made).await;
        }
        loop {
            let (entry, made) = wait::wait(self, request, pulse).await?;
            match self.grant(request, entry, made).await {
                // Its turn came, and its lease had ended: it waits for another one (K6).
                Err(error) if may_pass(&error) && !self.session.is_closed() => {
                    request.attempt.report_unavailable(&error);
                }
                granted => return granted,
            }
        }
    }
}

fn foreign() -> Error {
    Error::new(ErrorKind::Internal, "a lease of another backend")
}

#[async_trait]
impl DistributedLock for EtcdLock {
    fn capabilities(&self) -> Capabilities {
        Self::capabilities_of(&self.session.config)
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let pulse = Arc::default();
        tokio::select! {
            biased;
            lease = self.acquire_polled(request, &pulse) => lease,
            never = pulse.beat() => match never {},
        }
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        let Held { entry, made, .. } = &**Held::of(lease).ok_or_else(foreign)?;
        let claim = Claim {
            entry,
            made: *made,
            ttl: lease.ttl,
            renewal: lease.renewal,
            purpose: Purpose::Renewal,
        };
        let Some(proved) = self.prove(&claim).await? else {
            return Ok(Renewed::Lost(LostCause::SessionEnded));
        };
        if proved.has_moved {
            entry.standing.hold(&lease.attempt);
        }
        let (_, found) = self.looks.join(entry.keys.own.clone()).await?;
        if found != *made {
            return Ok(Renewed::Lost(LostCause::Removed));
        }
        Ok(lease.renewed(proved.sent, proved.granted))
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let held = Held::of(lease).ok_or_else(foreign)?;
        // Neither is our own delete a loss, nor does the lease live on for it.
        held.stop_watching();
        held.entry.standing.leave();
        held.entry.remove().await?;
        self.held.lock().remove(&lease.id());
        Ok(())
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let queue = layout::queue(&self.session.config.prefix, name);
        let range = self.session.ask(|client| {
            let queue = queue.clone();
            async move { client.kv_client().get(queue, Some(first_of_queue())).await }
        });
        let Some(place) = first(range.await?) else {
            return Ok(None);
        };
        let mut holder = layout::holder(&place);
        let lease = place.lease();
        if lease != 0 {
            let left = self
                .session
                .ask(|client| async move { client.lease_client().time_to_live(lease, None).await });
            let left = left.await?.ttl();
            holder.remaining = u64::try_from(left).ok().map(Duration::from_secs);
            // Ended between the two questions.
            return Ok((left >= 0).then_some(holder));
        }
        Ok(Some(holder))
    }

    async fn close(&self) -> Result<()> {
        if self.session.is_closed() {
            return Ok(());
        }
        let mut result = self.carriers.revoke_all().await;
        let held = std::mem::take(&mut *self.held.lock());
        for held in held.into_values() {
            held.stop_watching();
            if !held.entry.standing.has_ended() {
                result = result.and(held.entry.remove().await);
            }
        }
        self.session.close();
        result
    }
}

impl fmt::Debug for EtcdLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdLock")
            .field("config", &self.session.config)
            .finish_non_exhaustive()
    }
}
