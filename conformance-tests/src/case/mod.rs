//! What cases are made of.

pub mod interpose;

mod client_group;
mod context;
mod definition;
mod interposers;
mod profile;

pub(crate) use self::{
    client_group::Crew,
    context::{Place, Rig},
    definition::{Case, case},
    interposers::{Calls, Loose, StalledRenewals, grown, lost_by, lost_reply},
    profile::Profile,
};
