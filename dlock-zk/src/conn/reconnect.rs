//! The session that there is, or the next one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    Clock, Result,
    backend::SentAt,
    toolkit::{Lock, SingleFlight, Turn},
};

use crate::config::ZkConfig;
use crate::conn::connect as dial;
use crate::errors;
use crate::session::Session;

/// Makes sessions, one after the other.
pub(crate) struct Sessions {
    pub(crate) config: ZkConfig,
    current: Lock<Option<Arc<Session>>>,
    /// Only one connects at a time.
    connecting: SingleFlight<()>,
    is_closed: AtomicBool,
}

impl Sessions {
    pub(crate) fn new(config: ZkConfig) -> Self {
        Self {
            config,
            current: Lock::default(),
            connecting: SingleFlight::new(()),
            is_closed: AtomicBool::new(false),
        }
    }

    /// The session, begun if there is none. Those who came while one was being begun share its failure:
    /// each try may take as long as connecting may (K13).
    ///
    /// # Errors
    ///
    /// As [`dial::connect`]; nothing was asked for.
    pub(crate) async fn get(self: &Arc<Self>) -> Result<Arc<Session>> {
        if let Some(session) = self.living()? {
            return Ok(session);
        }
        let sessions = self.clone();
        let work = |turn: Turn<()>| async move {
            let session = sessions.begun().await;
            turn.finish(session)
        };
        self.connecting.run(work).await
    }

    async fn begun(&self) -> Result<Arc<Session>> {
        if let Some(session) = self.living()? {
            return Ok(session);
        }
        let began = SentAt::now(&Clock::boottime());
        let client = dial::connect(&self.config).await?;
        let session = Session::begin(client, began, &self.config);
        *self.current.lock() = Some(session.clone());
        // A backend that was closed meanwhile keeps no session.
        self.living().map(|living| living.unwrap_or(session))
    }

    fn living(&self) -> Result<Option<Arc<Session>>> {
        let mut slot = self.current.lock();
        if self.is_closed() {
            if let Some(session) = slot.take() {
                session.end();
            }
            return Err(errors::closed());
        }
        Ok(slot.clone().filter(|session| !session.is_over()))
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Ends the session, and with it what is held.
    pub(crate) async fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let session = self.current.lock().take();
        if let Some(session) = session {
            session.close().await;
        }
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        // Its tasks keep the session, and would never end.
        if let Some(session) = self.current.lock().take() {
            session.end();
        }
    }
}
