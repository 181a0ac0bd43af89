//! Locks that move from one store to another while they are used: the scheme `migrate:`.
//!
//! Each lock is taken in both stores, the old one first. A record in the new store says which of the two counts.
//! Before the switch both must hold the lock, and the token is the old store's. After it the new one must, and the
//! token is the new store's. After both locks are held the record is read, or it is checked that the old store still
//! counts by the clock: an answer from before could be out of date at the grant.

mod absent;
mod acquire;
mod backend;
mod base;
mod capabilities;
mod closing;
mod config;
mod hold;
mod next_move;
mod old_counts;
mod old_store;
mod opening;
mod refusals;
mod request;
mod restore;
mod status;
mod steps;
mod stores;
mod stragglers;
mod switch;
mod switching;
mod tag;
mod watch;

pub use dlock_core::backend::{Migration, MigrationStage};

pub(crate) use self::config::stores;
pub use self::{
    backend::MigrateLock,
    base::token_base,
    capabilities::capabilities,
    closing::Closed,
    config::{open_steps, read_records, register},
    status::{Records, Status, since},
    steps::Steps,
    stores::Store,
    stragglers::straggler,
};
