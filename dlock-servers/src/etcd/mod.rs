//! etcd: one member, or a cluster of them.
//!
//! Tests send their requests to a port of the member that has nothing before it: no fault, no certificate
//! and no client's connection.

mod admin;
mod base64;
mod callers;
mod cluster;
mod flavour;
mod grpc_proxy;
mod keys;
mod maintenance;
mod node;
mod options;

pub use self::{
    cluster::Cluster,
    flavour::Flavour,
    grpc_proxy::GrpcProxy,
    keys::Entry,
    node::Node,
    options::{Login, Options, Tls},
};
