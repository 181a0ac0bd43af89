//! The core of dlock: the contract of every store of locks, and the code that is the same for all.
//!
//! | Module | For |
//! |---|---|
//! | this one | users of locks: [`Locker`], [`Guard`], [`Error`] and what they are made of |
//! | `blocking` | users without an async runtime; the cargo feature `blocking`, on by default |
//! | [`backend`] | authors of a backend: [`DistributedLock`](backend::DistributedLock) is the contract |
//! | [`toolkit`] | authors of a backend: parts that several backends share |
//! | [`config`] | programs that find their store by a URL, a file or the environment |
//! | [`memory`] | tests: a store in this process, with faults to inject |
//!
//! Users start from the crate `dlock`, which opens stores by their URL. A backend is tested by the crate
//! `conformance-tests`.
//!
//! A [`Locker`] drives each attempt to take a lock, and finishes it in a task of its own if the caller is
//! dropped. One scheduler renews all held locks. The locker notifies each [`Guard`] of its loss. A backend
//! only talks to its store.

pub mod backend;
mod base;
#[cfg(feature = "blocking")]
pub mod blocking;
mod client;
pub mod config;
mod engine;
pub mod memory;
#[cfg(feature = "simulation")]
pub mod simulation {
    //! Repeatable runs: the random numbers of core from a seed.

    pub use crate::base::random::seed;
}
#[cfg(test)]
mod tests;
pub mod toolkit;

pub use crate::{
    backend::{
        attempt_id::AttemptId,
        capabilities::{Capabilities, Expiry, Fencing, Modes, Order, Waiting},
        holder::Holder,
        options::Mode,
    },
    base::{
        cause::LostCause,
        clock::{BootInstant, Clock},
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
    config::Config,
};
