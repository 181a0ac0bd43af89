//! The two stores of a move, and the URLs of the programs.

use dlock::layers::migrate::{Steps, open_steps};
use dlock_core::config::{BackendUrl, Config};
use dlock_servers::{Program, etcd, redis};
use dlock_verify::support::Outcome;

/// Above all tokens of each store, as `dlock migrate plan` prints it.
pub(crate) const TOKEN_BASE: u64 = 9_007_199_254_740_992;

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

/// Which store the locks move from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Redis,
    Etcd,
}

pub(crate) struct Stores {
    old: Server,
    new: Server,
}

enum Server {
    Redis(redis::Node),
    Etcd(etcd::Node),
}

/// The programs of the two servers, if this machine has them.
pub(crate) fn programs() -> Result<(Program, Program), String> {
    let redis = redis::Flavour::RedisStable.find()?;
    Ok((redis, etcd::Flavour::Stable.find()?))
}

impl Stores {
    pub(crate) async fn start(from: From) -> Outcome<Self> {
        let (redis, etcd) = programs()?;
        // A restart keeps all locks, as one of etcd does.
        let options = redis::Options {
            persistence: redis::Persistence::AofAlways,
            ..redis::Options::default()
        };
        let redis = Server::Redis(redis::Node::start(&redis, &options).await?);
        let etcd = Server::Etcd(etcd::Node::start(&etcd, &etcd::Options::default()).await?);
        let (old, new) = match from {
            From::Redis => (redis, etcd),
            From::Etcd => (etcd, redis),
        };
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
        let stopped = match self.server(side) {
            Server::Redis(node) => node.stop(),
            Server::Etcd(node) => node.stop(),
        };
        Ok(stopped?)
    }

    /// Lets it go on (SIGCONT).
    pub(crate) fn resume(&mut self, side: Side) -> Outcome {
        let resumed = match self.server(side) {
            Server::Redis(node) => node.cont(),
            Server::Etcd(node) => node.cont(),
        };
        Ok(resumed?)
    }

    /// Kills a store, and starts it again with its data.
    pub(crate) async fn restart(&mut self, side: Side) -> Outcome {
        let restarted = match self.server(side) {
            Server::Redis(node) => node.restart().await,
            Server::Etcd(node) => node.restart().await,
        };
        Ok(restarted?)
    }

    /// Ends the old store for good.
    pub(crate) fn end_old(&mut self) -> Outcome {
        let ended = match &mut self.old {
            Server::Redis(node) => node.kill(),
            Server::Etcd(node) => node.kill(),
        };
        Ok(ended?)
    }

    fn server(&mut self, side: Side) -> &mut Server {
        match side {
            Side::Old => &mut self.old,
            Side::New => &mut self.new,
        }
    }
}

impl Server {
    fn url(&self) -> String {
        match self {
            Self::Redis(node) => format!("redis://{}?restart_guard=0s&ttl=2s", node.address()),
            Self::Etcd(node) => format!("etcd://{}?ttl=2s", node.address()),
        }
    }
}
