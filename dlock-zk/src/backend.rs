//! The trait, on ZooKeeper.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Error, ErrorKind, Expiry, Fencing, Holder, LockName, Modes, Order, Result,
    Waiting,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
};
use zookeeper_client::Error as ZkError;

use crate::acquire::wait;
use crate::config::ZkConfig;
use crate::conn::reconnect::Sessions;
use crate::errors;
use crate::hold::Entry;
use crate::keys as layout;
use crate::keys::token;
use crate::queue::order as queue;
use crate::session::Session;

/// Locks in ZooKeeper: see the crate's documentation for what it guarantees.
pub struct ZkLock {
    sessions: Arc<Sessions>,
}

/// How often the first of a queue is looked for when it goes in between.
const LOOKS_MAX: u32 = 10;

impl ZkLock {
    /// Connects, and looks whether locks can be kept there.
    ///
    /// # Errors
    ///
    /// `InvalidConfig` for certificates that cannot be used, a chroot that does not exist, locks of another
    /// layout and a session that is too short for the servers; `Denied` for a login that they refuse;
    /// `Unavailable` when none of them gives a session within `connect_timeout`.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the session.
    pub async fn connect(config: ZkConfig) -> Result<Self> {
        let sessions = Arc::new(Sessions::new(config));
        sessions.get().await?;
        Ok(Self { sessions })
    }

    /// What a backend with these settings can do, known without a connection.
    #[must_use]
    pub fn capabilities_of(config: &ZkConfig) -> Capabilities {
        Capabilities {
            backend: "zk",
            modes: Modes::Exclusive,
            fencing: Fencing::Growing,
            order: Order::Fifo,
            waiting: Waiting::Notified,
            expiry: Expiry::Session,
            ttl_min: config.session / 2,
            ttl_max: ZkConfig::TTL_MAX,
            held_max: None,
            takeover_max: takeover_max(config),
            restart_guard: Duration::ZERO,
        }
    }

    async fn first(&self, session: &Session, dir: &str) -> Result<Option<Holder>, Failed> {
        let client = session.client()?;
        for _ in 0..LOOKS_MAX {
            session.ask(|| client.sync(dir)).await?;
            let children = match session.ask(|| client.list_children(dir)).await {
                Err(ZkError::NoNode) => return Ok(None),
                children => children?,
            };
            let Some(first) = queue::first(&children)? else {
                return Ok(None);
            };
            let path = format!("{dir}/{first}");
            match session.ask(|| client.get_data(&path)).await {
                Err(ZkError::NoNode) => {}
                Err(error) => return Err(error.into()),
                Ok((data, stat)) => {
                    return Ok(Some(Holder::decode_with_token(&data, token(stat.czxid)?)));
                }
            }
        }
        Ok(None)
    }
}

/// The last touch of a dead holder's session reaches the leader half a tick late at most, and the session
/// ends at the end of a tick.
fn takeover_max(config: &ZkConfig) -> Duration {
    config.session + config.tick + config.tick / 2
}

/// An error of the driver or one of ours.
struct Failed(Error);

impl From<ZkError> for Failed {
    fn from(error: ZkError) -> Self {
        Self(errors::of_request(error))
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

#[async_trait]
impl DistributedLock for ZkLock {
    fn capabilities(&self) -> Capabilities {
        Self::capabilities_of(&self.sessions.config)
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        wait::acquire(&self.sessions, request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.check_open()?;
        entry(lease)?.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        entry(lease)?.release().await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        let session = self.sessions.get().await?;
        let dir = layout::directory(&self.sessions.config.prefix, name);
        let first = self.first(&session, &dir).await;
        first.map_err(|Failed(error)| error)
    }

    async fn close(&self) -> Result<()> {
        self.sessions.close().await;
        Ok(())
    }
}

impl ZkLock {
    fn check_open(&self) -> Result<()> {
        if self.sessions.is_closed() {
            return Err(errors::closed());
        }
        Ok(())
    }
}

/// What [`wait::acquire`] gave as handle.
fn entry(lease: &Lease) -> Result<&Arc<Entry>> {
    lease
        .handle()
        .ok_or_else(|| Error::new(ErrorKind::Internal, "a lease of another backend"))
}

impl fmt::Debug for ZkLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZkLock")
            .field("config", &self.sessions.config)
            .finish_non_exhaustive()
    }
}
