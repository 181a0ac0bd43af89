//! The servers: the newest that `cargo xtask setup` has unpacked, else the machine's own.

use std::{fmt, io};

use clap::ValueEnum;
use dlock_servers::{Program, etcd, mysql, redis, zk};

/// A store, by its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    Redis,
    Valkey,
    Etcd,
    Zk,
    #[value(name = "mysql")]
    MySql,
    #[value(name = "mariadb")]
    MariaDb,
}

/// The clients of a store are those of its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Redis,
    Etcd,
    Zk,
    MySql,
}

/// A server that runs, with stock settings and without data.
pub(crate) struct Server {
    node: Node,
}

enum Node {
    Redis(Box<redis::Node>),
    Etcd(Box<etcd::Node>),
    Zk(Box<zk::Node>),
    MySql(Box<mysql::Node>),
}

/// The points of time when a stock Redis saves: after an hour with one change, and so on.
const REDIS_SAVES: &str = "save 3600 1 300 100 60 10000";

impl Store {
    pub(crate) const ALL: &[Self] = &[
        Self::Redis,
        Self::Valkey,
        Self::Etcd,
        Self::Zk,
        Self::MySql,
        Self::MariaDb,
    ];

    pub(crate) fn family(self) -> Family {
        match self {
            Self::Redis | Self::Valkey => Family::Redis,
            Self::Etcd => Family::Etcd,
            Self::Zk => Family::Zk,
            Self::MySql | Self::MariaDb => Family::MySql,
        }
    }

    /// Starts its server.
    ///
    /// # Errors
    ///
    /// When it is not installed or does not start.
    pub(crate) async fn start(self) -> io::Result<Server> {
        let node = match self {
            Self::Redis => start_redis(REDIS).await?,
            Self::Valkey => start_redis(VALKEY).await?,
            Self::Etcd => {
                let program = newest([etcd::Flavour::Newest, etcd::Flavour::Stable], |flavour| {
                    flavour.find()
                });
                let node = etcd::Node::start(&program?, &etcd::Options::default()).await?;
                Node::Etcd(Box::new(node))
            }
            Self::Zk => {
                let java = newest([zk::Flavour::Newest, zk::Flavour::Stable], |flavour| {
                    flavour.find()
                });
                let node = zk::Node::start(&java?, &zk::Options::stock()).await?;
                Node::Zk(Box::new(node))
            }
            Self::MySql => start_mysql(mysql::Flavour::MySqlNewest).await?,
            Self::MariaDb => start_mysql(mysql::Flavour::MariaDbStable).await?,
        };
        Ok(Server { node })
    }
}

const REDIS: &[redis::Flavour] = &[redis::Flavour::RedisNewest, redis::Flavour::RedisStable];
const VALKEY: &[redis::Flavour] = &[redis::Flavour::ValkeyNewest];

/// The first flavour that is there.
fn newest<F: Copy, P>(
    flavours: impl IntoIterator<Item = F>,
    find: impl Fn(F) -> Result<P, String>,
) -> io::Result<P> {
    let mut why = String::new();
    for flavour in flavours {
        match find(flavour) {
            Ok(program) => return Ok(program),
            Err(missing) => why = missing,
        }
    }
    Err(io::Error::other(why))
}

async fn start_redis(flavours: &[redis::Flavour]) -> io::Result<Node> {
    let program: Program = newest(flavours.iter().copied(), |flavour| flavour.find())?;
    let options = redis::Options {
        lines: vec![REDIS_SAVES.to_owned()],
        ..redis::Options::default()
    };
    let node = redis::Node::start(&program, &options).await?;
    Ok(Node::Redis(Box::new(node)))
}

async fn start_mysql(flavour: mysql::Flavour) -> io::Result<Node> {
    flavour.find().map_err(io::Error::other)?;
    let node = mysql::Node::start(flavour, &mysql::Options::default()).await?;
    Ok(Node::MySql(Box::new(node)))
}

impl Server {
    /// The URL for dlock. A server that was started empty has forgotten nothing, so there is no restart guard.
    pub(crate) fn url(&self) -> String {
        match &self.node {
            Node::Redis(node) => format!("redis://{}?restart_guard=0s", node.address()),
            Node::Etcd(node) => format!("etcd://{}", node.address()),
            Node::Zk(node) => format!("zk://{}", node.address()),
            Node::MySql(node) => format!("{}?restart_guard=0s", node.url()),
        }
    }

    /// The address for other clients: host and port. MySQL's is a URL, as its clients need a login.
    pub(crate) fn address(&self) -> String {
        match &self.node {
            Node::Redis(node) => node.address().to_string(),
            Node::Etcd(node) => node.address().to_string(),
            Node::Zk(node) => node.address().to_string(),
            Node::MySql(node) => node.url(),
        }
    }

    pub(crate) fn pid(&self) -> Option<u32> {
        let pid = match &self.node {
            Node::Redis(node) => node.pid(),
            Node::Etcd(node) => node.pid(),
            Node::Zk(node) => node.pid(),
            Node::MySql(node) => node.pid(),
        };
        u32::try_from(pid?.as_raw_nonzero().get()).ok()
    }
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Redis => "redis",
            Self::Valkey => "valkey",
            Self::Etcd => "etcd",
            Self::Zk => "zk",
            Self::MySql => "mysql",
            Self::MariaDb => "mariadb",
        })
    }
}
