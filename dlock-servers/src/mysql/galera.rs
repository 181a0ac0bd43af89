//! Galera, by the provider of the distribution: for MariaDB only.

use std::{io, path::Path};

use super::{Flavour, Node, Options};
use crate::Port;

/// Where Debian and its like have it.
const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// A cluster of one node; it ends when this is dropped.
#[derive(Debug)]
pub struct Galera {
    // Dropped in this order: the port stays reserved while the node lives.
    node: Node,
    _port: Port,
}

impl Galera {
    /// Whether there is a provider.
    ///
    /// # Errors
    ///
    /// Why it cannot be tested here, in a line.
    pub fn find() -> Result<(), String> {
        Flavour::MariaDbStable.find()?;
        match Path::new(PROVIDER).is_file() {
            true => Ok(()),
            false => Err("galera-4 is not installed".to_owned()),
        }
    }

    /// Starts it, and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start: with the end of its log.
    ///
    /// # Cancel safety
    ///
    /// The server ends.
    pub async fn start() -> io::Result<Self> {
        let port = Port::reserve()?;
        let listen = format!("gmcast.listen_addr=tcp://127.0.0.1:{}", port.number());
        let arguments = [
            "--wsrep-on=ON".to_owned(),
            format!("--wsrep-provider={PROVIDER}"),
            format!("--wsrep-provider-options={listen}"),
            "--wsrep-cluster-address=gcomm://".to_owned(),
            "--wsrep-node-address=127.0.0.1".to_owned(),
            "--wsrep-sst-method=rsync".to_owned(),
            "--binlog-format=ROW".to_owned(),
            "--innodb-autoinc-lock-mode=2".to_owned(),
        ];
        let options = Options {
            arguments: arguments.to_vec(),
            ..Options::default()
        };
        Ok(Self {
            node: Node::start(Flavour::MariaDbStable, &options).await?,
            _port: port,
        })
    }

    /// The only node.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.node
    }
}
