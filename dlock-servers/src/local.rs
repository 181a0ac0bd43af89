//! The servers that this machine has, as its distribution installs them, for programs that measure them.
//!
//! Each is a child process with stock settings, on a free loopback port and with an empty directory of its own. It
//! ends when it is dropped, and also when the program dies in any way.

use std::{fmt, io};

use tempfile::TempDir;

use crate::{Program, etcd, mysql, redis, zk};

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// etcd.
    Etcd,
    /// MariaDB.
    MySql,
    /// Redis, or Valkey if there is no Redis.
    Redis,
    /// ZooKeeper.
    Zk,
}

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    node: Node,
}

#[derive(Debug)]
enum Node {
    Etcd(Box<etcd::Node>),
    MySql(Box<mysql::Node>),
    Redis(Box<redis::Node>),
    Zk(Box<zk::Node>),
}

/// Why there is no server.
#[derive(Debug)]
#[non_exhaustive]
pub enum NoServer {
    /// The machine does not have it.
    Missing {
        /// The kind of server.
        kind: Kind,
        /// The package on Debian.
        package: &'static str,
    },
    /// The server does not start.
    Failed {
        /// The kind of server.
        kind: Kind,
        /// The reason, with the end of the server's log.
        error: io::Error,
    },
}

/// A directory for locks that are files; it is removed when this is dropped.
#[derive(Debug)]
pub struct Files(TempDir);

/// The points of time when a stock Redis saves: after an hour with one change, and so on.
const REDIS_SAVES: &str = "save 3600 1 300 100 60 10000";

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Etcd, Self::MySql, Self::Redis, Self::Zk];

    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::MySql => "MariaDB",
            Self::Redis => "Redis",
            Self::Zk => "ZooKeeper",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Etcd => "etcd-server",
            Self::MySql => "mariadb-server",
            Self::Redis => "redis-server",
            Self::Zk => "zookeeper",
        }
    }

    /// Finds the server's program.
    ///
    /// # Errors
    ///
    /// Why there is none, in a line.
    pub fn find(self) -> Result<(), String> {
        match self {
            Self::Etcd => Program::installed("etcd").map(drop),
            Self::MySql => mysql::Flavour::MariaDbStable.find().map(drop),
            Self::Redis => redis_program().map(drop),
            Self::Zk => zk::Flavour::Stable.find().map(drop),
        }
    }

    /// Starts a server, and waits until it answers: for at most a minute.
    ///
    /// # Errors
    ///
    /// When the machine does not have it, or it does not start.
    ///
    /// # Cancel safety
    ///
    /// The server ends.
    pub async fn start(self) -> Result<Server, NoServer> {
        let missing = |_| NoServer::Missing {
            kind: self,
            package: self.package(),
        };
        let node = match self {
            Self::Etcd => {
                let program = Program::installed("etcd").map_err(missing)?;
                let node = etcd::Node::start(&program, &etcd::Options::default()).await;
                node.map(Box::new).map(Node::Etcd)
            }
            Self::MySql => {
                let flavour = mysql::Flavour::MariaDbStable;
                flavour.find().map_err(missing)?;
                let node = mysql::Node::start(flavour, &mysql::Options::default()).await;
                node.map(Box::new).map(Node::MySql)
            }
            Self::Redis => {
                let program = redis_program().map_err(missing)?;
                let options = redis::Options {
                    lines: vec![REDIS_SAVES.to_owned()],
                    ..redis::Options::default()
                };
                let node = redis::Node::start(&program, &options).await;
                node.map(Box::new).map(Node::Redis)
            }
            Self::Zk => {
                let java = zk::Flavour::Stable.find().map_err(missing)?;
                let node = zk::Node::start(&java, &zk::Options::stock()).await;
                node.map(Box::new).map(Node::Zk)
            }
        };
        match node {
            Ok(node) => Ok(Server { node }),
            Err(error) => Err(NoServer::Failed { kind: self, error }),
        }
    }
}

fn redis_program() -> Result<Program, String> {
    Program::installed("redis-server").or_else(|_| Program::installed("valkey-server"))
}

impl Server {
    /// The URL for dlock. A server that was started empty has forgotten nothing, so there is no restart guard.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.node {
            Node::Etcd(node) => format!("etcd://{}", node.address()),
            Node::MySql(node) => format!("{}?restart_guard=0s", node.url()),
            Node::Redis(node) => format!("redis://{}?restart_guard=0s", node.address()),
            Node::Zk(node) => format!("zk://{}", node.address()),
        }
    }

    /// The process id, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        let pid = match &self.node {
            Node::Etcd(node) => node.pid(),
            Node::MySql(node) => node.pid(),
            Node::Redis(node) => node.pid(),
            Node::Zk(node) => node.pid(),
        };
        u32::try_from(pid?.as_raw_nonzero().get()).ok()
    }
}

impl Files {
    /// Makes an empty directory among the temporary ones.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn new() -> io::Result<Self> {
        TempDir::new().map(Self)
    }

    /// The URL for dlock.
    #[must_use]
    pub fn url(&self) -> String {
        format!("file:{}", self.0.path().display())
    }
}

impl fmt::Display for NoServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { kind, package } => {
                let name = kind.name();
                write!(
                    f,
                    "{name} is not installed; on Debian: apt install {package}"
                )
            }
            Self::Failed { kind, error } => write!(f, "{} does not start: {error}", kind.name()),
        }
    }
}

impl std::error::Error for NoServer {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_server_has_the_name_of_its_package() {
        let missing = NoServer::Missing {
            kind: Kind::MySql,
            package: Kind::MySql.package(),
        };
        let text = "MariaDB is not installed; on Debian: apt install mariadb-server";
        assert_eq!(missing.to_string(), text);
    }
}
