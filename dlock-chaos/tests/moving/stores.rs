//! The two stores of a move, and the URLs of the programs.

use std::time::Duration;

use dlock::layers::migrate::{Steps, open_steps};
use dlock_core::config::{BackendUrl, Config};
use dlock_servers::{etcd, mysql, redis, zk};
use dlock_verify::support::Outcome;

use super::protocol::TTL;

/// Above all tokens of each store, as `dlock migrate plan` prints it.
pub(crate) const TOKEN_BASE: u64 = 9_007_199_254_740_992;

/// The tick of ZooKeeper: ten times shorter than stock, so that its sessions are as short as the ttl allows.
const TICK: Duration = Duration::from_millis(200);

/// The URL of a program: its step of the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Url {
    Old,
    Both,
    New,
}

/// One of the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Old,
    New,
}

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Redis,
    Etcd,
    Zk,
    MySql,
}

/// The moves, by the remainder of their seed.
const MOVES: [(Kind, Kind); 4] = [
    (Kind::MySql, Kind::Redis),
    (Kind::Redis, Kind::Etcd),
    (Kind::Etcd, Kind::Redis),
    (Kind::Redis, Kind::Zk),
];

/// The stores of the move with that seed: the old one, then the new one.
pub(crate) fn of_seed(seed: u64) -> (Kind, Kind) {
    let place = usize::try_from(seed % MOVES.len() as u64);
    MOVES[place.unwrap_or_default()]
}

/// Whether this machine has the servers of the first move.
pub(crate) fn available() -> Result<(), String> {
    redis::Flavour::RedisStable.find()?;
    etcd::Flavour::Stable.find().map(drop)
}

pub(crate) struct Stores {
    old: Server,
    new: Server,
}

enum Server {
    Redis(redis::Node),
    Etcd(etcd::Node),
    Zk(zk::Node),
    MySql(mysql::Node),
}

/// Does the same with a node of each kind.
macro_rules! of_each {
    ($server:expr, $node:ident => $done:expr) => {
        match $server {
            Server::Redis($node) => $done,
            Server::Etcd($node) => $done,
            Server::Zk($node) => $done,
            Server::MySql($node) => $done,
        }
    };
}

impl Stores {
    pub(crate) async fn start((old, new): (Kind, Kind)) -> Outcome<Self> {
        let (old, new) = tokio::try_join!(Server::start(old), Server::start(new))?;
        Ok(Self { old, new })
    }

    pub(crate) fn url(&self, url: Url) -> Outcome<String> {
        let old = self.old.url();
        let new = format!("{}&token_base={TOKEN_BASE}", self.new.url());
        Ok(match url {
            Url::Old => old,
            Url::New => new,
            Url::Both => {
                let both = BackendUrl::parse("migrate:")?;
                both.with_param("from", old).with_param("to", new).expose()
            }
        })
    }

    /// The steps of the operator.
    pub(crate) async fn steps(&self) -> Outcome<Steps> {
        let config = Config::from_url(&self.url(Url::Both)?)?;
        Ok(open_steps(&dlock::registry(), &config).await?)
    }

    /// Stops a store where it is (SIGSTOP).
    pub(crate) fn stop(&mut self, side: Side) -> Outcome {
        Ok(of_each!(self.server(side), node => node.stop())?)
    }

    /// Lets it go on (SIGCONT).
    pub(crate) fn resume(&mut self, side: Side) -> Outcome {
        Ok(of_each!(self.server(side), node => node.cont())?)
    }

    /// Kills a store, and starts it again with its data.
    pub(crate) async fn restart(&mut self, side: Side) -> Outcome {
        Ok(of_each!(self.server(side), node => node.restart().await)?)
    }

    /// Ends the old store for good.
    pub(crate) fn end_old(&mut self) -> Outcome {
        Ok(of_each!(&mut self.old, node => node.kill())?)
    }

    fn server(&mut self, side: Side) -> &mut Server {
        match side {
            Side::Old => &mut self.old,
            Side::New => &mut self.new,
        }
    }
}

impl Server {
    async fn start(kind: Kind) -> Outcome<Self> {
        Ok(match kind {
            Kind::Redis => {
                // A restart keeps all locks, as one of etcd does.
                let options = redis::Options {
                    persistence: redis::Persistence::AofAlways,
                    ..redis::Options::default()
                };
                let program = redis::Flavour::RedisStable.find()?;
                Self::Redis(redis::Node::start(&program, &options).await?)
            }
            Kind::Etcd => {
                let program = etcd::Flavour::Stable.find()?;
                Self::Etcd(etcd::Node::start(&program, &etcd::Options::default()).await?)
            }
            Kind::Zk => {
                let java = zk::Flavour::Newest.find()?;
                Self::Zk(zk::Node::start(&java, &zk::Options::with_tick(TICK)).await?)
            }
            Kind::MySql => {
                let (flavour, options) = (mysql::Flavour::MySqlNewest, mysql::Options::default());
                Self::MySql(mysql::Node::start(flavour, &options).await?)
            }
        })
    }

    fn url(&self) -> String {
        let ttl = TTL.as_secs();
        match self {
            Self::Redis(node) => format!("redis://{}?restart_guard=0s&ttl={ttl}s", node.address()),
            Self::Etcd(node) => format!("etcd://{}?ttl={ttl}s", node.address()),
            Self::Zk(node) => {
                let tick = TICK.as_millis();
                format!("zk://{}?tick={tick}ms&ttl={ttl}s", node.address())
            }
            // Its locks end with it. After its start it grants none for as long as one may last.
            Self::MySql(node) => format!("{}?restart_guard={ttl}s&ttl={ttl}s", node.url()),
        }
    }
}
