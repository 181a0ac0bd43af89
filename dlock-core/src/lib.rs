//! The core of dlock: the contract that every store of locks keeps, and everything that is the same
//! for all of them.
//!
//! Users start from the crate `dlock`. Implementors start from [`DistributedLock`], whose
//! documentation is the contract, and prove themselves with the crate `conformance-tests`.
//!
//! A [`Locker`] drives each attempt to take a lock in place, hands it over to its own task when the
//! caller is gone, keeps what was granted alive by one scheduler for all locks, and tells each
//! [`Guard`] of its loss. A backend only asks its store.

mod acquire;
mod atomic;
mod attempt;
mod base;
mod batch;
mod builder;
mod capabilities;
mod cause;
mod clock;
pub mod config;
mod core;
mod deadline;
mod error;
mod gate;
mod guard;
mod hold;
mod holder;
mod layout_version;
mod lease;
mod lock;
mod locker;
mod lost;
mod memory;
mod meters;
mod multi;
mod name;
mod reaper;
mod renewal;
mod request;
mod state;
mod token;
pub mod toolkit;
mod turns;

pub use async_trait::async_trait;

pub use crate::{
    attempt::{Attempt, AttemptId},
    batch::{BatchFuture, BatchReply, Batcher},
    builder::{Acquire, TryAcquire},
    capabilities::{Capabilities, Expiry, Fencing, Modes, Order, Waiting},
    cause::LostCause,
    clock::{BootInstant, Clock},
    deadline::{Deadline, SentAt},
    error::{Effect, Error, ErrorKind, Result},
    guard::Guard,
    hold::RELEASE_TRY_MAX,
    holder::Holder,
    layout_version::LayoutVersion,
    lease::{Lease, Renewed},
    lock::DistributedLock,
    locker::{Locker, LockerBuilder},
    lost::{ExpiresWithin, Lost},
    memory::{Fault, Memory, Operation},
    multi::{AcquireAll, GuardSet},
    name::LockName,
    request::{AcquireRequest, Mode, Renewal, Wait},
    token::Token,
    turns::{SingleFlight, Turn},
};
