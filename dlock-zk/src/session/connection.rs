//! The connection of a session: whether there is one, and which.

use tokio::sync::watch;

/// The connection of a session, and whether the session has ended.
pub(crate) struct Connection(watch::Sender<State>);

#[derive(Clone, Copy)]
struct State {
    /// Counts the connections of the session.
    generation: u64,
    is_connected: bool,
    has_ended: bool,
}

impl Connection {
    /// The first connection of a session.
    pub(crate) fn first() -> Self {
        Self(watch::Sender::new(State {
            generation: 1,
            is_connected: true,
            has_ended: false,
        }))
    }

    /// The number of the current connection, or of the last one.
    pub(crate) fn generation(&self) -> u64 {
        self.0.borrow().generation
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.0.borrow().has_ended
    }

    pub(super) fn set_connected(&self) {
        self.0.send_modify(|state| {
            state.is_connected = true;
            state.generation += 1;
        });
    }

    pub(super) fn set_disconnected(&self) {
        self.0.send_modify(|state| state.is_connected = false);
    }

    pub(super) fn set_ended(&self) {
        self.0.send_modify(|state| state.has_ended = true);
    }

    /// Waits until the connection `generation` is lost, or the session has ended.
    pub(crate) async fn lost(&self, generation: u64) {
        self.until(|state| {
            state.has_ended || !state.is_connected || state.generation != generation
        })
        .await;
    }

    /// Waits until there is a connection, or the session has ended.
    pub(crate) async fn connected(&self) {
        self.until(|state| state.has_ended || state.is_connected)
            .await;
    }

    /// Waits until the session has ended.
    pub(crate) async fn ended(&self) {
        self.until(|state| state.has_ended).await;
    }

    async fn until(&self, condition: impl FnMut(&State) -> bool) {
        // The sender is in `self`, so there is no error.
        let _ = self.0.subscribe().wait_for(condition).await;
    }
}
