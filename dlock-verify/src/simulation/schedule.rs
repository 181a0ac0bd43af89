//! The schedule of a simulation: seed, clients, times and conditions.

use std::time::Duration;

use super::{client::Layer, conditions::Conditions, flaw::Flaw};

/// One schedule of a simulation.
#[derive(Clone, Debug)]
pub struct Simulation {
    pub(super) seed: u64,
    pub(super) clients: usize,
    pub(super) millis: u64,
    pub(super) ttl: Duration,
    pub(super) conditions: Conditions,
    pub(super) flaw: Option<Flaw>,
    pub(super) layer: Option<Layer>,
}

impl Simulation {
    /// Three clients for half a second, with leases of 60 ms, on a [bad](Conditions::BAD) network.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            seed,
            clients: 3,
            millis: 500,
            ttl: Duration::from_millis(60),
            conditions: Conditions::BAD,
            flaw: None,
            layer: None,
        }
    }

    /// Sets the number of clients.
    #[must_use]
    pub const fn clients(mut self, clients: usize) -> Self {
        self.clients = clients;
        self
    }

    /// Sets how long the clients work.
    #[must_use]
    pub const fn millis(mut self, millis: u64) -> Self {
        self.millis = millis;
        self
    }

    /// Sets the ttl of the locks.
    #[must_use]
    pub const fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the conditions of the network.
    #[must_use]
    pub const fn conditions(mut self, conditions: Conditions) -> Self {
        self.conditions = conditions;
        self
    }

    /// Gives the backend a flaw.
    #[must_use]
    pub const fn flaw(mut self, flaw: Flaw) -> Self {
        self.flaw = Some(flaw);
        self
    }

    /// Puts a layer around the backend of each client.
    #[must_use]
    pub const fn layer(mut self, layer: Layer) -> Self {
        self.layer = Some(layer);
        self
    }
}
