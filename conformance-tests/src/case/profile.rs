//! The selection of cases.

use dlock_core::{Capabilities, Expiry, Fencing, Modes, Order, Waiting};

use crate::target::{Extra, Reach, Target};

/// The properties of a target that cases are selected by.
pub(crate) struct Profile {
    capabilities: Capabilities,
    processes: bool,
    backdoor: bool,
    lost_locks_stay: bool,
    extras: Vec<Extra>,
}

impl Profile {
    pub(crate) fn of(target: &dyn Target) -> Self {
        Self {
            capabilities: target.capabilities(),
            processes: target.reach() == Reach::Processes,
            backdoor: target.backdoor().is_some(),
            lost_locks_stay: target.lost_locks_stay(),
            extras: target.extras().to_vec(),
        }
    }

    /// Workers can reach the store.
    pub(crate) fn processes(&self) -> bool {
        self.processes
    }

    /// Workers can reach the store, and their holds expire when they are stopped.
    pub(crate) fn processes_expire(&self) -> bool {
        self.processes && self.frees_expired()
    }

    /// Workers can reach the store, and tokens grow.
    pub(crate) fn processes_and_tokens(&self) -> bool {
        self.processes && self.tokens()
    }

    pub(crate) fn backdoor(&self) -> bool {
        self.backdoor
    }

    pub(crate) fn has(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }

    /// The link to the store can fail.
    pub(crate) fn link(&self) -> bool {
        self.has(Extra::Link)
    }

    /// The link can fail while a lock is removed.
    pub(crate) fn link_and_backdoor(&self) -> bool {
        self.link() && self.backdoor
    }

    /// The link can fail while a session ends.
    pub(crate) fn link_and_sessions(&self) -> bool {
        self.link_and_backdoor() && self.has(Extra::EndSession)
    }

    pub(crate) fn loses_data(&self) -> bool {
        self.backdoor && self.has(Extra::DataLoss)
    }

    pub(crate) fn loses_data_safely(&self) -> bool {
        self.loses_data() && self.has(Extra::SafeDataLoss)
    }

    pub(crate) fn fails_over(&self) -> bool {
        self.backdoor && self.has(Extra::FailOver) && self.tokens()
    }

    pub(crate) fn shared(&self) -> bool {
        self.capabilities.modes == Modes::ExclusiveAndShared
    }

    pub(crate) fn exclusive_only(&self) -> bool {
        !self.shared()
    }

    pub(crate) fn tokens(&self) -> bool {
        self.capabilities.fencing == Fencing::Growing
    }

    pub(crate) fn shared_and_tokens(&self) -> bool {
        self.shared() && self.tokens()
    }

    pub(crate) fn expires_and_tokens(&self) -> bool {
        self.expires() && self.tokens()
    }

    pub(crate) fn fifo(&self) -> bool {
        self.capabilities.order == Order::Fifo
    }

    /// Waiters are notified instead of polling.
    pub(crate) fn woken(&self) -> bool {
        self.capabilities.waiting != Waiting::Polled
    }

    /// A hold that is not renewed expires.
    pub(crate) fn expires(&self) -> bool {
        self.capabilities.expiry != Expiry::Process
    }

    /// A lock that was lost is free.
    pub(crate) fn frees_lost(&self) -> bool {
        !self.lost_locks_stay
    }

    /// A hold that is not renewed expires, and its lock is free.
    pub(crate) fn frees_expired(&self) -> bool {
        self.expires() && self.frees_lost()
    }

    /// Each hold expires on its own, and its lock is free.
    pub(crate) fn frees_leases(&self) -> bool {
        self.lease() && self.frees_lost()
    }

    /// Each hold expires on its own.
    pub(crate) fn lease(&self) -> bool {
        self.capabilities.expiry == Expiry::Lease
    }
}
