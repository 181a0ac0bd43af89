//! The faults of a memory store.

use std::collections::HashMap;

use tokio::sync::Notify;

use crate::{
    backend::attempt::Attempt,
    base::{
        error::{Effect, Error, ErrorKind, Result},
        lock::Lock,
    },
};

/// An operation that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Taking a lock.
    Acquire,
    /// Renewing a lock.
    Renew,
    /// Releasing a lock.
    Release,
    /// Reading the holder of a lock.
    Inspect,
    /// Reading or changing the record of a migration.
    Migrate,
    /// Raising the counter of tokens.
    Raise,
}

/// A way for an operation to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The request is lost: nothing happens, and the answer is an `Unavailable` with unknown effect.
    LoseRequest,
    /// The reply is lost: the operation happens, and the answer is an `Unavailable` with unknown effect.
    LoseReply,
    /// The reply is held back until [`clear_faults`](crate::memory::Memory::clear_faults); then the operation
    /// happens.
    Stall,
    /// As [`Stall`](Self::Stall), and an acquire goes on when its attempt is cancelled: so does a client that waits for
    /// its own time-out.
    Hang,
    /// The store refuses: `Denied`, and nothing happens.
    Deny,
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    /// The fault of each operation, and for how many times more; `None` is without end.
    injected: Lock<HashMap<Operation, (Fault, Option<u32>)>>,
    cleared: Notify,
}

/// The fate of a reply.
#[derive(Clone, Copy)]
pub(super) enum Reply {
    Arrives,
    IsLost,
}

impl Faults {
    pub(super) fn inject(&self, operation: Operation, fault: Fault, times: Option<u32>) {
        self.injected.lock().insert(operation, (fault, times));
    }

    pub(super) fn clear(&self) {
        self.injected.lock().clear();
        self.cleared.notify_waiters();
    }

    /// Fails or stalls if a fault of `operation` is injected; a stall ends with `attempt`, unless it hangs.
    pub(super) async fn apply(&self, operation: Operation, attempt: &Attempt) -> Result<Reply> {
        let is_hanging = self.is_hanging(operation);
        tokio::select! {
            biased;
            reply = self.apply_uncancelled(operation) => reply,
            () = attempt.cancelled(), if !is_hanging => Err(lost()),
        }
    }

    fn is_hanging(&self, operation: Operation) -> bool {
        let injected = self.injected.lock();
        matches!(injected.get(&operation), Some((Fault::Hang, _)))
    }

    pub(super) async fn apply_uncancelled(&self, operation: Operation) -> Result<Reply> {
        let cleared = self.cleared.notified();
        match self.next(operation) {
            None => Ok(Reply::Arrives),
            Some(Fault::LoseRequest) => Err(lost()),
            Some(Fault::LoseReply) => Ok(Reply::IsLost),
            Some(Fault::Deny) => Err(Error::new(
                ErrorKind::Denied,
                "the store refuses (injected)",
            )),
            Some(Fault::Stall | Fault::Hang) => {
                cleared.await;
                Ok(Reply::Arrives)
            }
        }
    }

    fn next(&self, operation: Operation) -> Option<Fault> {
        let mut injected = self.injected.lock();
        let (fault, times) = injected.get_mut(&operation)?;
        let fault = *fault;
        match times {
            None => {}
            Some(times) if *times > 1 => *times -= 1,
            Some(_) => {
                injected.remove(&operation);
            }
        }
        Some(fault)
    }
}

impl Reply {
    pub(super) fn deliver<T>(self, result: Result<T>) -> Result<T> {
        match self {
            Self::Arrives => result,
            Self::IsLost => Err(lost()),
        }
    }
}

fn lost() -> Error {
    Error::new(ErrorKind::Unavailable, "no answer (injected)").with_effect(Effect::Unknown)
}
