//! What the suite has to know of a backend.

use std::{fmt::Debug, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock};

use crate::line::Line;

/// The ttl of the locks of cases that are [alone](Target::address_alone), or the one closest to it that the
/// store allows.
pub const TTL_ALONE: Duration = Duration::from_secs(5);

/// A backend under test. The methods with a body bring more cases, or closer ones.
#[async_trait]
pub trait Target: Debug + Send + Sync + 'static {
    /// Its name: the first part of the names of its cases, and what `DLOCK_TEST_REQUIRE` calls it.
    fn name(&self) -> &str;

    /// What its clients will say of themselves: the cases are chosen by it before there is a client.
    fn capabilities(&self) -> Capabilities;

    /// A place in the store that one case has for itself, as a URL or anything else that
    /// [`connect`](Self::connect) reads. Cases use names of their own besides, so a store that has no
    /// such places gives always the same.
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong, such as a server that does not start.
    async fn address(&self) -> Result<String>;

    /// A new client of that place, in this process or in a worker.
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong.
    async fn connect(&self, address: &str) -> Result<Arc<dyn DistributedLock>>;

    /// Why it cannot be tested on this machine, if so: a server that is not installed. Its cases are
    /// then reported as ignored, or fail where `DLOCK_TEST_REQUIRE` names it.
    ///
    /// # Errors
    ///
    /// The reason, in a line.
    fn available(&self) -> Result<(), String> {
        Ok(())
    }

    /// From where an address can be reached.
    fn reach(&self) -> Reach {
        Reach::OneProcess
    }

    /// The way into the store behind the backend's back, if there is one.
    fn backdoor(&self) -> Option<&dyn Backdoor> {
        None
    }

    /// What it can do of all that is optional and does something: cases are chosen by it before there
    /// is a store. None by default.
    fn extras(&self) -> &[Extra] {
        &[]
    }

    /// A line to the store that can fail, and the address of the place `address` over it
    /// ([`Extra::Through`]).
    ///
    /// # Errors
    ///
    /// By default, that it cannot; else the case fails with what goes wrong.
    async fn through(&self, address: &str) -> Result<Line> {
        Err(cannot("lead through a proxy", address))
    }

    /// As [`address`](Self::address), for a case that takes the store down: nothing that another case
    /// uses may be lost with it. By default it is what `address` gives.
    ///
    /// Its locks have a ttl of [`TTL_ALONE`]. A store that grants nothing for a while after it may have
    /// forgotten its locks should be set to hardly more than that.
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong, such as a server that does not start.
    async fn address_alone(&self) -> Result<String> {
        self.address().await
    }

    /// The case is done that `address` was made for. By default nothing happens.
    fn leave(&self, _address: &str) {}

    /// How much later than the contract's bound something may happen on a busy machine. Generous: it
    /// costs time only where something is wrong.
    fn slack(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// From where the address of a target can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there is no third")]
pub enum Reach {
    /// From the process that made it only: `memory:`.
    OneProcess,
    /// From all processes of this machine.
    Processes,
}

/// Something that a target can do but need not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extra {
    /// [`Target::through`]: the store is at the other end of a line that can fail.
    Through,
    /// [`Backdoor::end_session`]: locks are held by sessions, which the store can end.
    EndSession,
    /// [`Backdoor::forget`]: the store can forget.
    Forget,
    /// [`Backdoor::fail_over`]: other servers can take over, or the same ones start again.
    FailOver,
    /// The backend promises exclusion even when the store forgets: its next grant waits until whoever was
    /// forgotten has been told.
    ForgetSafely,
}

/// The way into a store behind the backend's back.
#[async_trait]
pub trait Backdoor: Send + Sync {
    /// Destroys the lock of `name`, whoever holds it (K3, K8).
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong.
    async fn remove(&self, address: &str, name: &LockName) -> Result<()>;

    /// What is left at `address` beyond the documented token counters, one line each (K12). It is
    /// asked for when a case has ended, so the address must be that case's own.
    ///
    /// # Errors
    ///
    /// The case fails with what goes wrong.
    async fn residue(&self, address: &str) -> Result<Vec<String>>;

    /// Ends the session that holds the lock of `name`, as the store does with one that it does not hear
    /// of ([`Extra::EndSession`]).
    ///
    /// # Errors
    ///
    /// By default, that it cannot; else the case fails with what goes wrong.
    async fn end_session(&self, address: &str, _name: &LockName) -> Result<()> {
        Err(cannot("end a session", address))
    }

    /// Makes the store forget what is held at `address`, and the counters of tokens if it can lose them
    /// ([`Extra::Forget`]). It returns when the store serves again. The address is one of
    /// [`Target::address_alone`].
    ///
    /// # Errors
    ///
    /// By default, that it cannot; else the case fails with what goes wrong.
    async fn forget(&self, address: &str) -> Result<()> {
        Err(cannot("forget", address))
    }

    /// Lets another server take over the lock of `name`, or starts the same one again
    /// ([`Extra::FailOver`]); the second time it goes back to the first one. Connections stay where the
    /// store lets them, and what the store may lose is lost. It returns when the store serves again.
    /// The address is one of [`Target::address_alone`].
    ///
    /// # Errors
    ///
    /// By default, that it cannot; else the case fails with what goes wrong.
    async fn fail_over(&self, address: &str, _name: &LockName) -> Result<()> {
        Err(cannot("fail over", address))
    }
}

fn cannot(what: &str, address: &str) -> Error {
    let why = format!("the target of {address} cannot {what}, and says in its extras that it can");
    Error::new(ErrorKind::Internal, why)
}
