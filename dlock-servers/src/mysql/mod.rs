//! MySQL and MariaDB.
//!
//! Tests query a server as its administrator, over its socket and with the machine's `mariadb` client.

mod admin;
mod data;
mod flavour;
mod galera;
mod moving_proxy;
mod node;
mod options;
mod read_only;
mod replication;

pub use self::{
    flavour::Flavour, galera::Galera, moving_proxy::MovingProxy, node::Node, options::Options,
};
