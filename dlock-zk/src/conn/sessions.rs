//! The sessions of a backend: locks with a short ttl have a short one, so that a dead holder blocks them less.

use std::{sync::Arc, time::Duration};

use dlock_core::Result;
use tokio::task::JoinSet;

use super::reconnect::Reconnect;
use crate::{config::ZkConfig, liveness::proof::SessionTimes, session::Session};

/// One session for each class of ttls. A session begins with the first lock of its class.
pub(crate) struct Sessions {
    pub(crate) config: ZkConfig,
    /// All but the longest, each longer than the one before.
    shorter: Vec<Arc<Reconnect>>,
    longest: Arc<Reconnect>,
}

impl Sessions {
    pub(crate) fn new(config: ZkConfig) -> Self {
        let tick = config.tick;
        let of = |timeout| {
            Arc::new(Reconnect::new(
                config.clone(),
                SessionTimes { timeout, tick },
            ))
        };
        Self {
            shorter: config.shorter_sessions().map(of).collect(),
            longest: of(config.session_timeout()),
            config,
        }
    }

    /// The shortest session in which a lock of this ttl lasts all of it after a proof; else the longest.
    pub(crate) fn of(&self, ttl: Duration) -> &Arc<Reconnect> {
        let suffices = |one: &&Arc<Reconnect>| one.requested.ttl() >= ttl;
        self.shorter.iter().find(suffices).unwrap_or(&self.longest)
    }

    /// The session of locks without a ttl of their own.
    ///
    /// # Errors
    ///
    /// As [`Reconnect::session`].
    pub(crate) async fn default(&self) -> Result<Arc<Session>> {
        self.longest.session().await
    }

    /// A session that is there, or the default one.
    ///
    /// # Errors
    ///
    /// As [`Reconnect::session`].
    pub(crate) async fn any(&self) -> Result<Arc<Session>> {
        let current = self.shorter.iter().find_map(|one| one.current());
        match current {
            Some(session) => Ok(session),
            None => self.default().await,
        }
    }

    pub(crate) fn are_closed(&self) -> bool {
        self.longest.is_closed()
    }

    /// Ends all, and with them their locks.
    pub(crate) async fn close(&self) {
        let mut closing = JoinSet::new();
        for one in self.shorter.iter().chain([&self.longest]) {
            let one = one.clone();
            closing.spawn(async move { one.close().await });
        }
        // Those that the end of the runtime has cancelled are closed as well.
        while closing.join_next().await.is_some() {}
    }
}
