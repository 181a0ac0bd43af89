//! MySQL and MariaDB.
//!
//! Tests ask a server as its administrator, by its socket and the `mariadb` client of the machine.

mod admin;
mod flavour;
mod node;
mod options;

pub use self::{flavour::Flavour, node::Node, options::Options};
