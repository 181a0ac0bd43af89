//! `migrate` and `migrate-after`: locks in Redis and in etcd, before and after the switch of a move.

mod both;
mod faults;
mod moment;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock::layers::migrate::open_steps;
use dlock_core::{
    Locker, Result,
    config::{BackendUrl, Config},
};
use dlock_servers::redis::{Flavour, Node};
use dlock_verify::{
    chaos::{Fault, Load, Target},
    support::Outcome,
};
use tokio::{process::Command, sync::Mutex};

pub(super) use self::moment::Moment;

use super::{
    etcd, redis,
    store::{SMALL, Started, Store, connect, worker},
};

/// Above all tokens of Redis, as `dlock migrate plan` prints it.
const TOKEN_BASE: u64 = 9_007_199_254_740_992;

/// A Redis that has forgotten its locks grants nothing for so long: a little longer than the ttl, which is etcd's.
const GUARD: Duration = Duration::from_millis(2_500);

pub(super) struct Migrate(pub(super) Moment);

#[async_trait]
impl Store for Migrate {
    fn name(&self) -> &'static str {
        self.0.store()
    }

    fn in_ci(&self) -> bool {
        false
    }

    async fn start(&self) -> Outcome<Started> {
        let old = redis::start(&Flavour::RedisNewest.find()?).await?;
        let (new, mut logs) = etcd::start().await?;
        logs.push(old.process().directory().join("log"));
        let stores = Stores {
            moment: self.0,
            old_address: old.address(),
            old: Arc::new(Mutex::new(old)),
            new,
        };
        let config = Config::from_url(&stores.url(&stores.servers()))?;
        let steps = open_steps(&dlock::registry(), &config).await?;
        steps.start().await?;
        if self.0 == Moment::AfterSwitch {
            // No program has the old store alone, so there is nothing to wait for.
            let closed = steps.close().await?;
            steps.switch_closed(&closed).await?;
        }
        let target = Arc::new(stores);
        Ok(Started { target, logs })
    }
}

/// Both stores, which run.
struct Stores {
    moment: Moment,
    old_address: SocketAddr,
    old: Arc<Mutex<Node>>,
    new: etcd::Servers,
}

#[async_trait]
impl Target for Stores {
    fn store(&self) -> &str {
        self.moment.store()
    }

    /// That of Redis first.
    fn servers(&self) -> Vec<SocketAddr> {
        let mut servers = vec![self.old_address];
        servers.extend(self.new.servers());
        servers
    }

    fn url(&self, servers: &[SocketAddr]) -> String {
        let (old, new) = servers.split_first().unwrap_or((&self.old_address, &[]));
        let (ttl, guard) = (self.ttl().as_millis(), GUARD.as_millis());
        let old = format!(
            "redis://{old}?ttl={ttl}ms&connect_timeout=1s&timeout=500ms\
             &restart_guard={guard}ms&failover_guard={guard}ms"
        );
        let new = format!("{}&token_base={TOKEN_BASE}", self.new.url(new));
        let both = BackendUrl::parse("migrate:").map(|both| {
            let both = both.with_param("from", old).with_param("to", new);
            both.expose()
        });
        both.unwrap_or_default()
    }

    async fn connect(&self, url: &str) -> Result<Locker> {
        connect(url.to_owned()).await
    }

    fn worker(&self) -> Outcome<Command> {
        worker()
    }

    fn faults(&self) -> Vec<Arc<dyn Fault>> {
        faults::all(self.moment, &self.old, &self.new.members)
    }

    fn ttl(&self) -> Duration {
        self.new.ttl()
    }

    /// A lock is taken in Redis first, and then in etcd.
    fn heal_max(&self) -> Duration {
        GUARD + self.new.heal_max()
    }

    /// Four servers share the machine with the clients.
    fn load(&self) -> Load {
        SMALL
    }
}
