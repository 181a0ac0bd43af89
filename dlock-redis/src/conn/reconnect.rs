//! The present connection of a node, replaced when it ends.
//!
//! The driver's own reconnecting is silent. But a server must be probed on each new connection: it may have
//! been demoted, or have lost its data.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    Result,
    toolkit::{Connected, ReconnectSlot},
};

use crate::conn::{connection::Connection, open::Opener};

/// The slot of the present connection.
pub(super) struct Reconnect {
    pub(super) opener: Opener,
    slot: ReconnectSlot<Arc<Connection>>,
}

impl Reconnect {
    pub(super) fn new(opener: Opener) -> Self {
        Self {
            opener,
            slot: ReconnectSlot::default(),
        }
    }

    /// The connection, which is made if there is none.
    pub(super) async fn get(self: &Arc<Self>) -> Result<Connected<Arc<Connection>>> {
        let open = || {
            let this = self.clone();
            async move { this.opener.open(|| {}).await.map(Arc::new) }
        };
        self.slot.get(open).await
    }

    /// A connection beside the one of this generation, which stays in use until the new one is there. Nothing
    /// changes if that one has `answered` by then.
    pub(super) async fn replace(
        self: &Arc<Self>,
        generation: u64,
        answered: Arc<AtomicBool>,
    ) -> Result<Connected<Arc<Connection>>> {
        let this = self.clone();
        let open_beside = async move { this.open_beside(generation, &answered).await };
        self.slot.in_turn(open_beside).await
    }

    /// Abandons the connection of this generation; the next request opens another one.
    pub(super) fn drop_connection(&self, generation: u64) {
        if let Some(connection) = self.slot.abandon(generation) {
            self.opener.abandoned.add(connection.client.clone());
        }
    }

    /// The generation of the present connection, if there is one.
    pub(super) fn generation(&self) -> Option<u64> {
        self.slot.generation()
    }

    /// Whether the present connection leads to another server process than this one.
    pub(super) fn is_to_other_run(&self, run_id: &str) -> bool {
        let current = self.slot.current().ok().flatten();
        current.is_some_and(|connection| !connection.client.is_of_run(run_id))
    }

    pub(super) fn close(&self) {
        self.slot.close();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.slot.is_closed()
    }

    async fn open_beside(
        &self,
        generation: u64,
        answered: &AtomicBool,
    ) -> Result<Connected<Arc<Connection>>> {
        let former = match self.slot.current()? {
            Some(former) if former.generation() == generation => former,
            Some(newer) => return Ok(newer),
            None => return self.slot.install(Arc::new(self.opener.open(|| {}).await?)),
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
        self.slot.install(Arc::new(fresh))
    }
}
