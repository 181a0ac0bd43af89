//! Redis and its like: one server, replicas with Sentinels, or a Cluster.
//!
//! Tests ask a server by its administration socket, which is a file: no fault, no full list of
//! clients and no certificate stands in that way.

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
