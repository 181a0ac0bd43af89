//! MySQL and MariaDB.

pub(crate) mod galera;
pub(crate) mod replicas;
pub(crate) mod server;

use dlock_servers::mysql::{Node, Options};

use crate::support::{Flavour, Outcome};

/// A server with further options.
async fn start(flavour: Flavour, arguments: &[&str]) -> Outcome<Node> {
    let options = Options {
        arguments: arguments.iter().copied().map(str::to_owned).collect(),
        ..Options::default()
    };
    Ok(Node::start(flavour.mysql()?, &options).await?)
}
