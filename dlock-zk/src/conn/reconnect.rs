//! The current session, or the next one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    Clock, Error, Result,
    backend::SentAt,
    toolkit::{Lock, SingleFlight, Turn},
};

use super::{connect, heartbeat};
use crate::{config::ZkConfig, hold::verify_unwatched, session::Session};

/// Keeps the current session, and begins the next one when it has ended.
pub(crate) struct Reconnect {
    pub(crate) config: ZkConfig,
    current: Lock<Option<Arc<Session>>>,
    /// One caller connects at a time.
    connecting: SingleFlight<()>,
    is_closed: AtomicBool,
}

impl Reconnect {
    pub(crate) fn new(config: ZkConfig) -> Self {
        Self {
            config,
            current: Lock::default(),
            connecting: SingleFlight::new(()),
            is_closed: AtomicBool::new(false),
        }
    }

    /// The current session, or a new one. Callers that come while one is connecting share its failure, as each try
    /// may take the whole time-out (K13).
    ///
    /// # Errors
    ///
    /// As [`connect::connect`]; nothing was requested.
    pub(crate) async fn session(self: &Arc<Self>) -> Result<Arc<Session>> {
        if let Some(session) = self.current()? {
            return Ok(session);
        }
        let reconnect = self.clone();
        let work = |turn: Turn<()>| async move {
            let session = reconnect.connect().await;
            turn.finish(session)
        };
        self.connecting.run(work).await
    }

    async fn connect(&self) -> Result<Arc<Session>> {
        if let Some(session) = self.current()? {
            return Ok(session);
        }
        let began = SentAt::now(&Clock::boottime());
        let client = connect::connect(&self.config).await?;
        let session = Session::begin(client, began, &self.config);
        tokio::spawn(heartbeat::run(session.clone(), self.config.clone()));
        tokio::spawn(verify_unwatched::run(session.clone()));
        *self.current.lock() = Some(session.clone());
        // A backend that was closed by then keeps no session.
        self.current().map(|current| current.unwrap_or(session))
    }

    fn current(&self) -> Result<Option<Arc<Session>>> {
        let mut slot = self.current.lock();
        if self.is_closed() {
            if let Some(session) = slot.take() {
                session.end();
            }
            return Err(Error::closed());
        }
        Ok(slot.clone().filter(|session| !session.has_ended()))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Ends the session, and with it its locks.
    pub(crate) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let session = self.current.lock().take();
        if let Some(session) = session {
            session.close().await;
        }
    }
}

impl Drop for Reconnect {
    fn drop(&mut self) {
        // The session's tasks keep it alive, and would never end.
        if let Some(session) = self.current.lock().take() {
            session.end();
        }
    }
}
