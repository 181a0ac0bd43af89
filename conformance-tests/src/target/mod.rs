//! A backend under test, as the suite needs it.

mod backdoor;
mod link;

use std::{fmt::Debug, time::Duration};

use async_trait::async_trait;
use dlock_core::{Capabilities, Result, backend::DistributedLock};

pub use self::{backdoor::Backdoor, link::Link};

use self::backdoor::cannot;

/// The ttl of locks at a [dedicated address](Target::dedicated_address), or the closest that the store
/// allows.
pub const TTL_DEDICATED: Duration = Duration::from_secs(5);

/// A backend under test. The methods with a body add cases, or make them stricter.
#[async_trait]
pub trait Target: Debug + Send + Sync + 'static {
    /// The target's name, with which its cases begin; `DLOCK_TEST_REQUIRE` uses it, too.
    fn name(&self) -> &str;

    /// The capabilities of the target's clients; they select its cases before there is a client.
    fn capabilities(&self) -> Capabilities;

    /// An address for one case: a URL, or anything else that [`connect`](Self::connect) reads.
    ///
    /// Cases also use lock names of their own, so a store without key prefixes or directories may
    /// return the same address each time.
    ///
    /// # Errors
    ///
    /// Fails the case, for example when a server does not start.
    async fn address(&self) -> Result<String>;

    /// A new client at `address`, in this process or in a worker.
    ///
    /// # Errors
    ///
    /// Fails the case.
    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>>;

    /// The reason why the target cannot be tested on this machine, such as a missing server.
    ///
    /// Its cases are then reported as ignored, or fail where `DLOCK_TEST_REQUIRE` names the target.
    ///
    /// # Errors
    ///
    /// The reason, in a line.
    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    /// The processes that can reach an address.
    fn reach(&self) -> Reach {
        Reach::OneProcess
    }

    /// The access to the store that bypasses the backend, if there is one.
    fn backdoor(&self) -> Option<&dyn Backdoor> {
        None
    }

    /// The optional abilities of the target, none by default; they select cases before there is a store.
    fn extras(&self) -> &[Extra] {
        &[]
    }

    /// A network link to the store that can fail, with `address` as it is reached over the link
    /// ([`Extra::Link`]).
    ///
    /// # Errors
    ///
    /// By default, because the target has no link; else fails the case.
    async fn link(&self, address: &str) -> Result<Link> {
        Err(cannot("give a link that can fail", address))
    }

    /// An address in a store of its own, for a case that takes the store down.
    ///
    /// No other case may use that store. By default it is [`address`](Self::address). Its locks have a ttl of
    /// [`TTL_DEDICATED`]. Set the time in which the store grants nothing after a loss of data to hardly more than
    /// that.
    ///
    /// # Errors
    ///
    /// Fails the case, for example when a server does not start.
    async fn dedicated_address(&self) -> Result<String> {
        self.address().await
    }

    /// Ends the use of `address`: its case is done. By default nothing happens.
    fn dispose(&self, _address: &str) {}

    /// How much a case may send to the store.
    fn load(&self) -> Load {
        Load::Full
    }

    /// Whether a lock that was lost stays taken until it is released, or its process ends. By default it does not.
    ///
    /// So it is in a migration with files on one side: the lease of the other store ends, and the file stays locked. Cases
    /// that neither release such a lock nor end its process are left out.
    fn lost_locks_stay(&self) -> bool {
        false
    }

    /// The beginning of all lock names of the cases; empty by default.
    fn names(&self) -> &str {
        ""
    }

    /// The delay beyond the contract's bounds that a busy machine may add.
    ///
    /// A generous value costs time only when a case fails.
    fn tolerance(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// The processes that can reach the address of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Reach {
    /// A store of one process: `memory:`.
    OneProcess,
    /// A store of one machine's processes.
    Processes,
}

/// How much a case may send to its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Load {
    /// As much as finds most.
    Full,
    /// Fewer repetitions and locks, and none of the heavy cases: for a store that others use.
    Gentle,
}

/// An optional ability of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extra {
    /// [`Target::link`]: the store is reached over a network link that can fail.
    Link,
    /// [`Backdoor::end_session`]: sessions hold the locks, and the store can end a session.
    EndSession,
    /// [`Backdoor::lose_data`]: the store can lose its data.
    DataLoss,
    /// [`Backdoor::fail_over`]: another server can take over, or the same server can restart.
    FailOver,
    /// The backend promises exclusion even when the store loses its data.
    ///
    /// Its next grant waits until the former holder has noticed the loss.
    SafeDataLoss,
}
