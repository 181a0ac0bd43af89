//! ZooKeeper: one server, or an ensemble of three that can be cut apart.

mod admin;
mod ensemble;
mod flavour;
mod node;
mod options;
mod sessions;

pub use self::{
    ensemble::Ensemble,
    flavour::{Flavour, Java},
    node::Node,
    options::{Options, Tuning},
};
