//! The present connection of a node, replaced when it ends.
//!
//! The driver's own reconnecting is silent. But a server must be probed on each new connection: it may have
//! been demoted, or have lost its data.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    Error, Result,
    toolkit::{Lock, SingleFlight},
};

use crate::conn::{connection::Connection, open::Opener};

/// The slot of the present connection.
pub(super) struct Reconnect {
    pub(super) opener: Opener,
    current: Lock<Option<Connection>>,
    /// One task at a time connects.
    connecting: SingleFlight<()>,
    closed: AtomicBool,
}

impl Reconnect {
    pub(super) fn new(opener: Opener) -> Self {
        Self {
            opener,
            current: Lock::default(),
            connecting: SingleFlight::new(()),
            closed: AtomicBool::new(false),
        }
    }

    /// The connection, which is made if there is none.
    pub(super) async fn get(self: &Arc<Self>) -> Result<Connection> {
        if let Some(connection) = self.current()? {
            return Ok(connection);
        }
        let this = self.clone();
        self.connecting
            .run(|turn| async move {
                let connection = this.get_or_open().await;
                turn.finish(connection)
            })
            .await
    }

    /// A connection beside the one of this generation, which stays in use until the new one is there. Nothing
    /// changes if that one has `answered` by then.
    pub(super) async fn replace(
        self: &Arc<Self>,
        generation: u64,
        answered: Arc<AtomicBool>,
    ) -> Result<Connection> {
        let this = self.clone();
        self.connecting
            .run(move |turn| async move {
                let connection = this.open_beside(generation, &answered).await;
                turn.finish(connection)
            })
            .await
    }

    /// Abandons the connection of this generation; the next request opens another one.
    pub(super) fn drop_connection(&self, generation: u64) {
        let is_it = |connection: &mut Connection| connection.generation == generation;
        let mut current = self.current.lock();
        if let Some(connection) = current.take_if(is_it) {
            self.opener.abandoned.add(connection.client);
        }
    }

    /// The generation of the present connection, if there is one.
    pub(super) fn generation(&self) -> Option<u64> {
        let current = self.current.lock();
        current.as_ref().map(|connection| connection.generation)
    }

    /// Whether the present connection leads to another server process than this one.
    pub(super) fn is_to_other_run(&self, run_id: &str) -> bool {
        let current = self.current.lock();
        let current = current.as_ref();
        current.is_some_and(|connection| !connection.client.is_of_run(run_id))
    }

    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        *self.current.lock() = None;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    async fn get_or_open(&self) -> Result<Connection> {
        if let Some(connection) = self.current()? {
            return Ok(connection);
        }
        let connection = self.opener.open(|| {}).await?;
        self.install(connection)
    }

    async fn open_beside(&self, generation: u64, answered: &AtomicBool) -> Result<Connection> {
        let is_former = |connection: &Connection| connection.generation == generation;
        let Some(former) = self.current()?.filter(is_former) else {
            return self.get_or_open().await;
        };
        // It is killed with other abandoned ones before the new one is used.
        let abandon_former = || {
            if !answered.load(Ordering::Acquire) {
                self.drop_connection(generation);
            }
        };
        let fresh = self.opener.open(abandon_former).await?;
        if self.generation() == Some(generation) {
            return Ok(former);
        }
        self.install(fresh)
    }

    fn install(&self, connection: Connection) -> Result<Connection> {
        *self.current.lock() = Some(connection.clone());
        // A backend that was closed in the meantime has no connection.
        self.current().map(|current| current.unwrap_or(connection))
    }

    fn current(&self) -> Result<Option<Connection>> {
        let mut current = self.current.lock();
        if self.is_closed() {
            *current = None;
            return Err(Error::closed());
        }
        Ok(current.clone())
    }
}
