//! Redis and Valkey.

pub(crate) mod access;
pub(crate) mod clocks;
pub(crate) mod replicas;
pub(crate) mod server;

use dlock_servers::redis::{Node, Options, Persistence};

use crate::support::{Flavour, Outcome};

/// A server with further lines in its configuration.
async fn start(flavour: Flavour, persistence: Persistence, lines: &[&str]) -> Outcome<Node> {
    let options = Options {
        persistence,
        lines: lines.iter().copied().map(str::to_owned).collect(),
        ..Options::default()
    };
    Ok(Node::start(&flavour.redis()?, &options).await?)
}
