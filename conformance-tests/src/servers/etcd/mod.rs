//! etcd: one member, or a cluster of them.
//!
//! Tests ask a member by a port of its own that nothing stands before: no fault, no certificate and no
//! client's connection.

mod admin;
mod base64;
mod callers;
mod cluster;
mod flavour;
mod keys;
mod node;
mod options;

pub use self::{
    cluster::Cluster,
    flavour::Flavour,
    keys::Entry,
    node::Node,
    options::{Login, Options, Tls},
};
