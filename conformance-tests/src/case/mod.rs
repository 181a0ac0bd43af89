//! The parts of a case: its context, clients, interposers and selection.

pub mod interpose;

mod client_group;
mod context;
mod definition;
mod interposers;
mod profile;

pub(crate) use self::{
    client_group::ClientGroup,
    context::{CaseContext, Placement},
    definition::{Case, case},
    interposers::{CallCounter, StalledRenewals, UnguardedLease, grown, lost_by, lost_reply},
    profile::Profile,
};
