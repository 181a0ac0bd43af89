//! Redis and its like: one server, replicas with Sentinels, or a Cluster.
//!
//! Tests inspect a server over its administration socket, a file: faults, connection limits and
//! certificates do not affect it.

pub mod dlock_keys;

mod admin;
mod cluster;
mod flavour;
mod node;
mod options;
mod pair;
mod replicated;
mod reply;

pub use self::{
    cluster::Cluster,
    flavour::Flavour,
    node::Node,
    options::{Login, Options, Persistence, Tls},
    pair::Pair,
    replicated::Replicated,
    reply::Reply,
};
