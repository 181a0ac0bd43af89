//! The parts of a case: its context, clients, interposers and selection.

pub mod interpose;

mod client_group;
mod context;
mod definition;
mod expectations;
mod interposers;
mod opened;
mod profile;
mod unguarded_lease;
mod violated;

pub use self::definition::Size;
pub(crate) use self::{
    client_group::ClientGroup,
    context::{CaseContext, GENTLE_HELD_MAX, Placement},
    definition::{Case, case},
    expectations::{grown, loss_error, lost_by, unknown_error},
    interposers::{CallCounter, LostReplies, StalledRenewals, lost_reply},
    opened::Opened,
    profile::Profile,
    unguarded_lease::UnguardedLease,
    violated::Violated,
};
