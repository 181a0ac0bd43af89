//! The servers: the newest that `cargo xtask setup` has unpacked, else the machine's own.

use std::{io, net::SocketAddr, time::Duration};

use dlock_servers::{Program, etcd, mysql, redis, zk};

use crate::{delay::Delay, store::Store};

/// A server that runs, with stock settings and without data.
pub(crate) struct Server {
    node: Node,
    delay: Option<Delay>,
}

enum Node {
    Redis(Box<redis::Node>),
    Cluster(Box<redis::Cluster>),
    Etcd(Box<etcd::Node>),
    Zk(Box<zk::Node>),
    MySql(Box<mysql::Node>),
}

/// The points of time when a stock Redis saves: after an hour with one change, and so on.
const REDIS_SAVES: &str = "save 3600 1 300 100 60 10000";

const REDIS: &[redis::Flavour] = &[redis::Flavour::RedisNewest, redis::Flavour::RedisStable];
const REDIS_STABLE: &[redis::Flavour] = &[redis::Flavour::RedisStable];
const VALKEY: &[redis::Flavour] = &[redis::Flavour::ValkeyNewest];

impl Server {
    /// Starts the server of a store, with a delay each way before it.
    ///
    /// # Errors
    ///
    /// When it is not installed, does not start or cannot be delayed.
    pub(crate) async fn start(store: Store, delay: Option<Duration>) -> io::Result<Self> {
        if store == Store::RedisCluster && delay.is_some() {
            let why = "no delay: the nodes of a Cluster give their own addresses to clients";
            return Err(io::Error::other(why));
        }
        let node = start(store).await?;
        let delay = delay
            .map(|delay| Delay::start(node.address(), delay))
            .transpose()?;
        Ok(Self { node, delay })
    }

    /// The URL for dlock. A server that was started empty has forgotten nothing, so there is no restart guard.
    pub(crate) fn url(&self) -> String {
        let at = self.at();
        match &self.node {
            Node::Redis(node) => match node.certificates() {
                Some(made) => format!("rediss://{at}?{}&restart_guard=0s", made.ca_in_url()),
                None => format!("redis://{at}?restart_guard=0s"),
            },
            Node::Cluster(cluster) => {
                let nodes = cluster.addresses().into_iter();
                let nodes: Vec<_> = nodes.map(|node| node.to_string()).collect();
                format!("redis-cluster://{}?restart_guard=0s", nodes.join(","))
            }
            Node::Etcd(_) => format!("etcd://{at}"),
            Node::Zk(_) => format!("zk://{at}"),
            Node::MySql(node) => format!("{}?restart_guard=0s", node.url_at(at)),
        }
    }

    /// The URL for one connection of the driver: in a Cluster the first master.
    pub(crate) fn driver_url(&self) -> String {
        match &self.node {
            Node::Cluster(_) => format!("redis://{}", self.at()),
            _ => self.url(),
        }
    }

    /// The address for other clients: host and port. MySQL's is a URL, as its clients need a login.
    pub(crate) fn address(&self) -> String {
        match &self.node {
            Node::MySql(node) => node.url_at(self.at()),
            _ => self.at().to_string(),
        }
    }

    /// The processes of the server. A Cluster has several, also those of its replicas.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let pids = match &self.node {
            Node::Redis(node) => vec![node.pid()],
            Node::Cluster(cluster) => cluster.nodes().iter().map(redis::Node::pid).collect(),
            Node::Etcd(node) => vec![node.pid()],
            Node::Zk(node) => vec![node.pid()],
            Node::MySql(node) => vec![node.pid()],
        };
        let pids = pids.into_iter().flatten();
        pids.filter_map(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok())
            .collect()
    }

    /// How often Redis has executed `command` since its start, also from scripts.
    pub(crate) async fn calls(&self, command: &str) -> io::Result<u64> {
        let nodes = match &self.node {
            Node::Redis(node) => std::slice::from_ref(&**node),
            Node::Cluster(cluster) => cluster.nodes(),
            _ => &[],
        };
        let mut calls = 0;
        for node in nodes {
            let text = node.command(&["INFO", "commandstats"]).await?.text()?;
            calls += calls_in(&text, command);
        }
        Ok(calls)
    }

    fn at(&self) -> SocketAddr {
        let delayed = self.delay.as_ref().map(Delay::address);
        delayed.unwrap_or_else(|| self.node.address())
    }
}

impl Node {
    fn address(&self) -> SocketAddr {
        match self {
            Self::Redis(node) => node.address(),
            Self::Cluster(cluster) => cluster.nodes()[0].address(),
            Self::Etcd(node) => node.address(),
            Self::Zk(node) => node.address(),
            Self::MySql(node) => node.address(),
        }
    }
}

async fn start(store: Store) -> io::Result<Node> {
    Ok(match store {
        Store::Redis => start_redis(REDIS, redis::Tls::Off).await?,
        Store::RedisStable => start_redis(REDIS_STABLE, redis::Tls::Off).await?,
        Store::Valkey => start_redis(VALKEY, redis::Tls::Off).await?,
        Store::RedisTls => start_redis(REDIS, redis::Tls::On).await?,
        Store::RedisCluster => {
            let (program, options) = redis_with(REDIS, redis::Tls::Off)?;
            let cluster = redis::Cluster::start(&program, &options).await?;
            Node::Cluster(Box::new(cluster))
        }
        Store::Etcd => {
            let program = newest([etcd::Flavour::Newest, etcd::Flavour::Stable], |flavour| {
                flavour.find()
            });
            let node = etcd::Node::start(&program?, &etcd::Options::default()).await?;
            Node::Etcd(Box::new(node))
        }
        Store::Zk => {
            let java = newest([zk::Flavour::Newest, zk::Flavour::Stable], |flavour| {
                flavour.find()
            });
            let node = zk::Node::start(&java?, &zk::Options::stock()).await?;
            Node::Zk(Box::new(node))
        }
        Store::MySql => start_mysql(mysql::Flavour::MySqlNewest).await?,
        Store::MariaDb => start_mysql(mysql::Flavour::MariaDbStable).await?,
    })
}

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

fn redis_with(
    flavours: &[redis::Flavour],
    tls: redis::Tls,
) -> io::Result<(Program, redis::Options)> {
    let program = newest(flavours.iter().copied(), |flavour| flavour.find())?;
    let options = redis::Options {
        lines: vec![REDIS_SAVES.to_owned()],
        tls,
        ..redis::Options::default()
    };
    Ok((program, options))
}

async fn start_redis(flavours: &[redis::Flavour], tls: redis::Tls) -> io::Result<Node> {
    let (program, options) = redis_with(flavours, tls)?;
    let node = redis::Node::start(&program, &options).await?;
    Ok(Node::Redis(Box::new(node)))
}

async fn start_mysql(flavour: mysql::Flavour) -> io::Result<Node> {
    flavour.find().map_err(io::Error::other)?;
    let node = mysql::Node::start(flavour, &mysql::Options::default()).await?;
    Ok(Node::MySql(Box::new(node)))
}

/// The calls of a command in a section of `INFO`: `cmdstat_time:calls=5,usec=…`.
fn calls_in(info: &str, command: &str) -> u64 {
    let start = format!("cmdstat_{command}:calls=");
    let mut lines = info.lines().filter_map(|line| line.strip_prefix(&start));
    let calls = lines.next().and_then(|rest| rest.split(',').next());
    calls.and_then(|calls| calls.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_one_command_are_read() {
        let info = "# Commandstats\r\ncmdstat_set:calls=12,usec=30,rejected_calls=0\r\n\
                    cmdstat_time:calls=5,usec=4\r\n";
        assert_eq!(calls_in(info, "set"), 12);
        assert_eq!(calls_in(info, "time"), 5);
        assert_eq!(calls_in(info, "eval"), 0);
    }
}
