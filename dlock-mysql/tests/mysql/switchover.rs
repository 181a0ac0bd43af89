//! A planned switchover behind one address: the former primary stays up, and with it all connections to it.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock::Locker;
use dlock_mysql::{MySqlConfig, MySqlLock};
use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::{migration_record, proxy::Proxy};

use crate::{
    failover::{pair, promote, until_same},
    support::{Outcome, TTL_LONG, UNTIL_PREPARED, cases, open, take, until, warm},
};

cases![
    locks_of_the_new_primary_are_held_and_freed,
    a_former_primary_that_stays_writable_is_left,
    a_holder_on_the_new_primary_is_named,
    records_are_read_from_the_new_primary,
];

/// The monitor has checked the holds several times by then.
const CHECKED: Duration = Duration::from_secs(1);

/// Two servers behind one address.
struct Switch {
    nodes: [Node; 2],
    proxy: Proxy,
    is_switched: Arc<AtomicBool>,
}

impl Switch {
    async fn start(flavour: Flavour) -> Outcome<Self> {
        let nodes = pair(flavour, None).await?;
        let is_switched = Arc::new(AtomicBool::new(false));
        let (switched, addresses) = (
            is_switched.clone(),
            [0, 1].map(|of: usize| nodes[of].address()),
        );
        let route =
            move |_: SocketAddr| Some(addresses[usize::from(switched.load(Ordering::Acquire))]);
        let proxy = Proxy::switch(route)?;
        Ok(Self {
            nodes,
            proxy,
            is_switched,
        })
    }

    /// A locker that has all its connections, and idle ones, to the first server.
    async fn locker(&self) -> Outcome<Locker> {
        let locker = open(&self.url(), TTL_LONG).await?;
        warm(&self.nodes[0], &locker).await?;
        for _ in 0..UNTIL_PREPARED {
            let held = [take(&locker, "a").await?, take(&locker, "b").await?];
            for held in held {
                held.release().await?;
            }
        }
        Ok(locker)
    }

    fn url(&self) -> String {
        self.nodes[0].url_at(self.proxy.address())
    }

    /// The second server is the primary from now on.
    async fn switch(&self, read_only: bool) -> Outcome {
        let [former, next] = &self.nodes;
        if read_only {
            former.query("SET GLOBAL read_only = 1").await?;
        }
        until_same(former, next).await?;
        promote(next).await?;
        self.is_switched.store(true, Ordering::Release);
        Ok(())
    }
}

async fn locks_of_the_new_primary_are_held_and_freed(flavour: Flavour) -> Outcome {
    let switch = Switch::start(flavour).await?;
    let locker = switch.locker().await?;
    let before = take(&locker, "before").await?;
    switch.switch(true).await?;
    assert!(before.renew().await.is_err());
    held_and_freed(&switch, &locker, "a").await?;
    held_and_freed(&switch, &locker, "new").await
}

/// The control connections leave it with the first lock of the new primary.
async fn a_former_primary_that_stays_writable_is_left(flavour: Flavour) -> Outcome {
    let switch = Switch::start(flavour).await?;
    let locker = switch.locker().await?;
    switch.switch(false).await?;
    // Idle connections lead to the former primary, which grants (`mysql.split`).
    let former = [
        take(&locker, "a").await?,
        take(&locker, "b").await?,
        take(&locker, "warm").await?,
    ];
    held_and_freed(&switch, &locker, "new").await?;
    for held in former {
        assert!(held.is_held());
    }
    Ok(())
}

/// A try succeeds, the lock is held for as long as the holder wants, and is free after the release.
async fn held_and_freed(switch: &Switch, locker: &Locker, name: &str) -> Outcome {
    let other = open(&switch.nodes[1].url(), TTL_LONG).await?;
    let held = locker.try_acquire(name).await?.ok_or("taken")?;
    let lost = tokio::time::timeout(CHECKED, held.lost()).await;
    assert!(lost.is_err(), "{name} is lost: {lost:?}");
    held.renew().await?;
    assert!(other.try_acquire(name).await?.is_none(), "two have {name}");
    held.release().await?;
    let next = other.try_acquire(name).await?.ok_or("not freed")?;
    Ok(next.release().await?)
}

async fn a_holder_on_the_new_primary_is_named(flavour: Flavour) -> Outcome {
    let switch = Switch::start(flavour).await?;
    let locker = switch.locker().await?;
    switch.switch(true).await?;
    let held = take(&locker, "a").await?;
    let other = open(&switch.nodes[1].url(), TTL_LONG).await?;
    until("the holder has a name", async || {
        let holder = other.inspect("a").await?.ok_or("free")?;
        Ok(holder.token == Some(held.token()))
    })
    .await?;
    Ok(held.release().await?)
}

async fn records_are_read_from_the_new_primary(flavour: Flavour) -> Outcome {
    let switch = Switch::start(flavour).await?;
    let config = MySqlConfig::new(switch.proxy.address(), "app", "locks").password("hunter2");
    let backend = MySqlLock::connect(config).await?;
    let record = migration_record::of(&backend)?;
    assert_eq!(record.read().await?, None);
    switch.switch(true).await?;
    until("it is read", async || Ok(record.read().await.is_ok())).await
}
