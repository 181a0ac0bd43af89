//! The current session, or the next one.

use std::sync::Arc;

use dlock_core::{
    Clock, Result,
    backend::SentAt,
    toolkit::{Connected, ReconnectHooks, ReconnectSlot},
};

use super::{connect, heartbeat};
use crate::{
    config::ZkConfig,
    hold::{foreign, verify_unwatched},
    liveness::proof::SessionTimes,
    session::{Session, late},
};

/// Keeps the current session, and begins the next one when it has ended.
pub(crate) struct Reconnect {
    pub(crate) config: ZkConfig,
    pub(crate) requested: SessionTimes,
    slot: ReconnectSlot<Arc<Session>>,
}

impl Reconnect {
    pub(crate) fn new(config: ZkConfig, requested: SessionTimes) -> Self {
        let hooks = ReconnectHooks {
            has_ended: |session: &Arc<Session>| session.has_ended(),
            // Also when the backend is dropped: the session's tasks keep it alive, and would never end.
            discard: |session| session.end(),
        };
        Self {
            config,
            requested,
            slot: ReconnectSlot::new(hooks),
        }
    }

    /// The current session, or a new one. Callers that come while one is connecting share its failure, as each try
    /// may take the whole time-out (K13).
    ///
    /// # Errors
    ///
    /// As [`connect::connect`]; nothing was requested.
    pub(crate) async fn session(&self) -> Result<Arc<Session>> {
        let begin = || begin(self.config.clone(), self.requested);
        let session = self.slot.get(begin);
        session.await.map(Connected::into_inner)
    }

    /// The current session, if there is one.
    pub(crate) fn current(&self) -> Option<Arc<Session>> {
        let current = self.slot.current().ok().flatten();
        current.map(Connected::into_inner)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.slot.is_closed()
    }

    /// Ends the session, and with it its locks.
    pub(crate) async fn close(&self) {
        if let Some(session) = self.slot.close() {
            session.close().await;
        }
    }
}

async fn begin(config: ZkConfig, requested: SessionTimes) -> Result<Arc<Session>> {
    let began = SentAt::now(&Clock::boottime());
    let (client, times) = connect::connect(&config, requested).await?;
    let session = Session::begin(client, began, &config, times);
    tokio::spawn(heartbeat::run(session.clone(), config));
    tokio::spawn(foreign::run(session.clone()));
    tokio::spawn(verify_unwatched::run(session.clone()));
    tokio::spawn(late::run(session.clone()));
    Ok(session)
}
