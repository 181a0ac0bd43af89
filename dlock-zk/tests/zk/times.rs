//! How long locks last, what they cost, and what is left of them (K2, K6, K12, K13).

use std::{net::SocketAddr, time::Duration};

use async_trait::async_trait;
use dlock::{Locker, LostCause};
use dlock_core::{
    Capabilities, Clock, Holder, LockName,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
};
use dlock_servers::zk::{Ensemble, Java};
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    Fault, Proxy,
};
use dlock_zk::{ZkConfig, ZkLock};

use crate::support::{
    Outcome, PROXIED_SESSION, SESSION, SHORT, SOON, TICK, cases, connect, driver, packets, quick,
    start, start_proxied, start_tidy, take, until, until_queue, within,
};

cases![
    k02_a_lock_without_renewal_ends_with_its_ttl_though_the_session_lives,
    k06_a_lock_without_release_ends_with_its_ttl_though_the_session_lives,
    k02_a_grant_counts_from_before_its_write,
    k02_a_renewal_counts_from_before_its_write,
    k06_a_killed_clients_lock_is_free_in_time,
    k06_a_killed_clients_lock_is_free_in_time_on_an_ensemble,
    k06_a_holder_and_the_leader_die,
    k05_a_server_that_is_set_up_again_is_noticed_within_half_a_session,
    k13_heartbeats_cost_the_same_for_any_number_of_locks,
    k12_nothing_is_left_when_nothing_is_held,
];

async fn k02_a_lock_without_renewal_ends_with_its_ttl_though_the_session_lives(
    java: Java,
) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), "tick=200ms&session=10s&ttl=30s").await?;
    let clock = Clock::boottime();
    let other = take(&locker, "other").await?;
    let began = clock.now();
    let ttl = Duration::from_millis(5_000);
    let guard = locker.acquire("a").ttl(ttl).no_renewal().await?;
    let cause = within(2 * ttl, "its end", guard.lost()).await?;
    let lasted = clock.now().since(began);
    assert_eq!(cause, LostCause::Expired);
    assert!(lasted <= ttl + ttl / 10 && lasted >= ttl / 2, "{lasted:?}");
    let driver = driver(node.address()).await?;
    until_queue(&driver, "a", 0).await?;
    assert!(other.is_held(), "the session lives on");
    Ok(other.release().await?)
}

/// A client whose releases are never sent, as if the runtime of each guard had ended.
#[derive(Debug)]
struct WithoutReleases(ZkLock);

#[async_trait]
impl DistributedLock for WithoutReleases {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn acquire(&self, request: &AcquireRequest) -> dlock::Result<Lease> {
        self.0.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> dlock::Result<Renewed> {
        self.0.renew(lease).await
    }

    async fn release(&self, _: &Lease) -> dlock::Result<()> {
        Ok(())
    }

    async fn inspect(&self, name: &LockName) -> dlock::Result<Option<Holder>> {
        self.0.inspect(name).await
    }

    async fn close(&self) -> dlock::Result<()> {
        self.0.close().await
    }
}

async fn k06_a_lock_without_release_ends_with_its_ttl_though_the_session_lives(
    java: Java,
) -> Outcome {
    let node = start(&java).await?;
    let session = Duration::from_secs(10);
    let config = ZkConfig::new([node.address()]).tick(TICK).session(session);
    let client = WithoutReleases(ZkLock::connect(config).await?);
    let locker = Locker::builder(client).ttl(3 * session).build()?;
    let other = take(&locker, "other").await?;
    let guard = locker.acquire("a").ttl(session / 2).no_renewal().await?;
    let driver = driver(node.address()).await?;
    until_queue(&driver, "a", 1).await?;
    within(session, "its end", guard.lost()).await?;
    until_queue(&driver, "a", 0).await?;
    assert!(other.is_held(), "the session lives on");
    Ok(())
}

/// An acknowledgement that is late, but not too late to prove anything.
async fn k02_a_renewal_counts_from_before_its_write(java: Java) -> Outcome {
    const LATE: Duration = Duration::from_millis(600);
    let (_node, proxy, locker) = start_proxied(&java).await?;
    let guard = take(&locker, "a").await?;
    // The first heartbeat makes its node, and the first renewal verifies the lock's.
    guard.renew().await?;
    proxy.set(ToClient, Fault::Delay(LATE));
    guard.renew().await?;
    let left = guard.remaining();
    assert!(left <= PROXIED_SESSION / 2 - LATE, "{left:?} are left");
    assert!(guard.is_held());
    Ok(())
}

async fn k02_a_grant_counts_from_before_its_write(java: Java) -> Outcome {
    const LATE: Duration = Duration::from_millis(600);
    let (_node, proxy, locker) = start_proxied(&java).await?;
    // A hold keeps the session proved, and the leader's contact recent.
    let other = take(&locker, "other").await?;
    other.renew().await?;
    proxy.set(ToClient, Fault::Delay(LATE));
    let guard = take(&locker, "a").await?;
    let left = guard.remaining();
    assert!(left <= PROXIED_SESSION / 2 - LATE, "{left:?} are left");
    Ok(())
}

async fn k06_a_killed_clients_lock_is_free_in_time(java: Java) -> Outcome {
    let node = start(&java).await?;
    kill_client(node.address(), node.address()).await
}

/// The leader learns of the last packet from the follower only.
async fn k06_a_killed_clients_lock_is_free_in_time_on_an_ensemble(java: Java) -> Outcome {
    let ensemble = Ensemble::start(&java, &quick()).await?;
    let (leader, follower) = (ensemble.leader().await?, ensemble.follower().await?);
    let nodes = ensemble.nodes();
    kill_client(nodes[follower].address(), nodes[leader].address()).await?;
    kill_client(nodes[leader].address(), nodes[follower].address()).await
}

async fn kill_client(its_server: SocketAddr, server: SocketAddr) -> Outcome {
    let proxy = Proxy::start(its_server)?;
    let clock = Clock::boottime();
    let dead = connect(proxy.address(), SHORT).await?;
    let other = connect(server, SHORT).await?;
    let _held = take(&dead, "a").await?;
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::Hold);
    }
    let died = clock.now();
    let bound = other.capabilities().takeover_max;
    let next = within(bound + SOON, "the next grant", other.acquire("a")).await??;
    let took = clock.now().since(died);
    // A busy machine may be late; its servers' ticks are not.
    assert!(
        took <= bound + Duration::from_millis(500),
        "{took:?} of {bound:?}"
    );
    Ok(next.release().await?)
}

/// `zk.leader-and-holder`: the next leader counts each session from the beginning.
async fn k06_a_holder_and_the_leader_die(java: Java) -> Outcome {
    let mut ensemble = Ensemble::start(&java, &quick()).await?;
    let leader = ensemble.leader().await?;
    let others: Vec<_> = (0..ensemble.nodes().len())
        .filter(|node| *node != leader)
        .map(|node| ensemble.nodes()[node].address())
        .collect();
    let proxy = Proxy::start(others[0])?;
    let clock = Clock::boottime();
    let dead = connect(proxy.address(), SHORT).await?;
    let addresses = format!("{},{}", others[0], others[1]);
    let other = connect(addresses, "tick=200ms&session=20s&ttl=30s").await?;
    let guard = take(&dead, "a").await?;
    guard.renew().await?;
    let waiting = tokio::spawn(other.acquire("a").wait_forever().into_future());
    until_queue(&driver(others[1]).await?, "a", 2).await?;
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::Hold);
    }
    // As late as may be: just before the session ends.
    tokio::time::sleep(SESSION - 2 * TICK).await;
    assert!(!waiting.is_finished(), "the session lives");
    assert!(!guard.is_held(), "lost at its deadline");
    ensemble.nodes_mut()[leader].kill()?;
    ensemble.leader().await?;
    let elected = clock.now();
    let next = within(2 * SESSION + SOON, "the next grant", waiting).await???;
    let took = clock.now().since(elected);
    let bound = SESSION + TICK * 3 / 2;
    assert!(next.token() > guard.token());
    // A busy machine may be late; its servers' ticks are not.
    assert!(
        took <= bound + Duration::from_millis(500),
        "{took:?} of {bound:?}"
    );
    assert!(took >= SESSION / 2, "{took:?}: it is no exception any more");
    Ok(next.release().await?)
}

/// The exception `zk.set-up-anew`: locks are forgotten, and tokens are repeated.
async fn k05_a_server_that_is_set_up_again_is_noticed_within_half_a_session(java: Java) -> Outcome {
    let mut node = start(&java).await?;
    let holder = connect(node.address(), SHORT).await?;
    let other = connect(node.address(), SHORT).await?;
    for _ in 0..5 {
        take(&other, "b").await?.release().await?;
    }
    let held = take(&holder, "a").await?;
    node.kill()?;
    let clock = Clock::boottime();
    let killed = clock.now();
    std::fs::remove_dir_all(node.process().directory().join("data/version-2"))?;
    node.resume().await?;
    within(SESSION, "the loss", held.lost()).await?;
    let took = clock.now().since(killed);
    // A busy machine may be late.
    assert!(took <= SESSION / 2 + Duration::from_millis(500), "{took:?}");
    let next = take(&other, "a").await?;
    assert!(next.token() < held.token(), "it is no exception any more");
    Ok(next.release().await?)
}

async fn k13_heartbeats_cost_the_same_for_any_number_of_locks(java: Java) -> Outcome {
    const PERIOD: Duration = Duration::from_secs(6);
    let node = start(&java).await?;
    let mut costs = Vec::new();
    for count in [1_000, 10_000] {
        let locker = connect(node.address(), "tick=200ms&session=12s&ttl=30s").await?;
        let mut guards = Vec::with_capacity(count);
        for index in 0..count {
            guards.push(locker.acquire(format!("lock-{index}")).await?);
        }
        // The first renewal of each verifies its node.
        tokio::time::sleep(PERIOD).await;
        let before = packets(&node).await?;
        tokio::time::sleep(PERIOD).await;
        costs.push(packets(&node).await? - before);
        assert!(guards.iter().all(dlock::Guard::is_held));
        locker.shutdown(2 * SOON).await?;
    }
    // Heartbeats, pings, and the questions of this test.
    assert!(costs.iter().all(|packets| *packets <= 40), "{costs:?}");
    Ok(())
}

async fn k12_nothing_is_left_when_nothing_is_held(java: Java) -> Outcome {
    let node = start_tidy(&java).await?;
    let locker = connect(node.address(), SHORT).await?;
    let guard = take(&locker, "a").await?;
    let driver = driver(node.address()).await?;
    let heartbeats = async || {
        let nodes = driver.list_children("/dlock/%alive").await;
        nodes.unwrap_or_default().len()
    };
    until("a heartbeat", async || Ok(heartbeats().await == 1)).await?;
    guard.release().await?;
    // The session's node, then the containers. What stays is the version of the layout.
    until("no heartbeat", async || Ok(heartbeats().await == 0)).await?;
    until("no directory", async || {
        Ok(driver.list_children("/dlock").await? == ["%layout"])
    })
    .await?;
    // And they are made again.
    take(&locker, "a").await?.release().await?;
    Ok(())
}
