//! The two stores of a move, and the URLs of the programs.

use dlock::layers::migrate::{Steps, open_steps};
use dlock_core::config::{BackendUrl, Config};
use dlock_servers::{Program, etcd, redis};
use dlock_verify::support::Outcome;

/// Above all tokens of Redis, as `dlock migrate plan` prints it.
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

pub(crate) struct Stores {
    redis: redis::Node,
    etcd: etcd::Node,
}

/// The programs of the two servers, if this machine has them.
pub(crate) fn programs() -> Result<(Program, Program), String> {
    let redis = redis::Flavour::RedisStable.find()?;
    Ok((redis, etcd::Flavour::Stable.find()?))
}

impl Stores {
    pub(crate) async fn start() -> Outcome<Self> {
        let (redis, etcd) = programs()?;
        Ok(Self {
            redis: redis::Node::start(&redis, &redis::Options::default()).await?,
            etcd: etcd::Node::start(&etcd, &etcd::Options::default()).await?,
        })
    }

    pub(crate) fn url(&self, url: Url) -> Outcome<String> {
        let old = format!("redis://{}?restart_guard=0s&ttl=2s", self.redis.address());
        let new = format!(
            "etcd://{}?ttl=2s&token_base={TOKEN_BASE}",
            self.etcd.address()
        );
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
    pub(crate) fn stop(&self, side: Side) -> Outcome {
        let stopped = match side {
            Side::Old => self.redis.stop(),
            Side::New => self.etcd.stop(),
        };
        Ok(stopped?)
    }

    /// Lets it go on (SIGCONT).
    pub(crate) fn resume(&self, side: Side) -> Outcome {
        let resumed = match side {
            Side::Old => self.redis.cont(),
            Side::New => self.etcd.cont(),
        };
        Ok(resumed?)
    }

    /// Ends the old store for good.
    pub(crate) fn end_old(&mut self) -> Outcome {
        Ok(self.redis.kill()?)
    }
}
