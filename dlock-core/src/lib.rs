//! The core of dlock: the contract that every store of locks keeps, and everything that is the same
//! for all of them.
//!
//! Users start from the crate `dlock`. Implementors start from [`DistributedLock`], whose
//! documentation is the contract, and prove themselves with the crate `conformance-tests`.
//!
//! A [`Locker`] drives each attempt to take a lock in place, hands it over to its own task when the
//! caller is gone, keeps what was granted alive by one scheduler for all locks, and
//! notifies each [`Guard`] of its loss. A backend only asks its store.

mod backend;
mod base;
mod client;
pub mod config;
mod engine;
mod memory;
#[cfg(test)]
mod tests;
pub mod toolkit;

pub use async_trait::async_trait;

pub use crate::{
    backend::{
        attempt::{Attempt, AttemptId},
        capabilities::{Capabilities, Expiry, Fencing, Modes, Order, Waiting},
        distributed_lock::DistributedLock,
        distributed_lock::RELEASE_TRY_MAX,
        holder::Holder,
        layout_version::LayoutVersion,
        lease::{Lease, Renewed},
        options::{Mode, Renewal, Wait},
        request::AcquireRequest,
    },
    base::{
        cause::LostCause,
        clock::{BootInstant, Clock},
        deadline::{Deadline, SentAt},
        error::{Effect, Error, ErrorKind, Result},
        name::LockName,
        token::Token,
    },
    client::{
        acquire::{Acquire, TryAcquire},
        acquire_all::{AcquireAll, GuardSet},
        builder::LockerBuilder,
        guard::Guard,
        locker::Locker,
        lost::{ExpiresWithin, Lost},
    },
    memory::{Fault, Memory, Operation},
    toolkit::{
        batcher::{BatchFuture, BatchReply, Batcher},
        single_flight::{SingleFlight, Turn},
    },
};
