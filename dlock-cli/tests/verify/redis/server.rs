//! The server of a case.

use dlock_servers::redis::{Flavour, Node, Options, Persistence};
use dlock_verify::support::Outcome;

/// A server with these lines of configuration.
pub(super) async fn start(persistence: Persistence, lines: &[&str]) -> Outcome<Node> {
    let program = Flavour::RedisStable.find()?;
    let options = Options {
        persistence,
        lines: lines.iter().map(ToString::to_string).collect(),
        ..Options::default()
    };
    Ok(Node::start(&program, &options).await?)
}

/// The keys of locks and waiters; dlock's own keys are documented and stay.
pub(super) async fn left(node: &Node) -> Outcome<Vec<String>> {
    let mut left = Vec::new();
    for key in node.command(&["KEYS", "*"]).await?.array()? {
        let key = key.text()?;
        if !key.contains('{') {
            left.push(key);
        }
    }
    Ok(left)
}
