//! The target of a run: a store, and how workers reach it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Locker, Result};
use tokio::process::Command;

use super::{fault::Fault, load::Load};
use crate::support::Outcome;

/// A store, how clients reach it, and the faults of its servers.
#[async_trait]
pub trait Target: Send + Sync + 'static {
    /// The name of the store, such as `redis`.
    fn store(&self) -> &str;

    /// The addresses of the servers; a worker gets a proxy to each. None for a store without a network.
    fn servers(&self) -> Vec<SocketAddr>;

    /// The URL of the store at these addresses instead, in the order of [`servers`](Self::servers).
    fn url(&self, servers: &[SocketAddr]) -> String;

    /// Connects to a URL, as workers do.
    async fn connect(&self, url: &str) -> Result<Locker>;

    /// The command that starts a worker: a program that calls [`serve_if_worker`](super::serve_if_worker).
    ///
    /// # Errors
    ///
    /// When there is no such program.
    fn worker(&self) -> Outcome<Command>;

    /// The faults to deal.
    fn faults(&self) -> Vec<Arc<dyn Fault>>;

    /// The ttl of the locks.
    fn ttl(&self) -> Duration {
        Duration::from_millis(1_500)
    }

    /// How long after the end of all faults a free name may not be granted yet, for a restart guard or an election.
    fn heal_max(&self) -> Duration;

    /// How many clients, and on how many names.
    fn load(&self) -> Load {
        Load::default()
    }

    /// How long a client keeps a connection that it does not need, at most.
    fn idle_max(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether [tries collide](crate::checker::Bounds::tries_collide).
    fn tries_collide(&self) -> bool {
        false
    }

    /// The number of connections that the servers count at present, where they do.
    async fn connections(&self) -> Option<u64> {
        None
    }
}
