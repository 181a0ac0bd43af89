//! The interface of backends: the trait, and the types that go through it.
//!
//! A backend implements [`DistributedLock`], whose documentation is the contract. Core calls it with an
//! [`AcquireRequest`] or a [`Lease`]; the [`Attempt`] in both is the channel for what happens in between.
//! Errors, names, tokens, capabilities and the clock are at the root of the crate; parts that several
//! backends share are in [`toolkit`](crate::toolkit).

pub(crate) mod atomic;
pub(crate) mod attempt;
pub(crate) mod attempt_id;
mod boxed;
pub(crate) mod capabilities;
pub(crate) mod distributed_lock;
pub(crate) mod holder;
mod layout_version;
pub(crate) mod lease;
pub(crate) mod migration;
pub(crate) mod options;
pub(crate) mod request;
pub(crate) mod state;
pub(crate) mod token_counter;

pub use async_trait::async_trait;

pub use self::{
    attempt::{Attempt, WaitReport},
    distributed_lock::{DistributedLock, RELEASE_TRY_MAX},
    layout_version::LayoutVersion,
    lease::{Lease, Renewed},
    migration::{Migration, MigrationRecord, MigrationStage},
    options::{Renewal, Wait},
    request::AcquireRequest,
    token_counter::TokenCounter,
};
pub use crate::base::deadline::{Deadline, SentAt};
