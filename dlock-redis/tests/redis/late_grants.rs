//! Locks without a holder: acquires that a silent server, or a network that delays requests, executes when it
//! is too late (T1, T2).

use std::{net::SocketAddr, time::Duration};

use dlock::{ErrorKind, Locker};
use dlock_core::backend::DistributedLock as _;
use dlock_redis::{RedisConfig, RedisLock};
use dlock_servers::{
    Program,
    redis::{Cluster, Node},
};
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    End, Fault, Faults, Proxy,
};
use tokio::task::JoinSet;

use crate::{
    cluster::{KEY, NAME, cluster, connect as connect_to},
    support::{
        Outcome, SOON, cases, connect, connect_as_user, locks, refused, soon, start, take, until,
        until_clean, value, warm_up, within,
    },
};

cases![
    t01_a_server_that_is_silent_for_long_leaves_no_lock,
    t01_a_network_that_is_silent_for_long_leaves_no_lock,
    t01_a_shutdown_waits_for_what_a_silent_server_may_have_granted,
    t02_a_clean_up_that_dies_is_made_up_for_by_the_next_connection,
    t02_a_node_that_comes_back_does_nothing_late,
    t02_a_user_who_may_not_end_connections_finds_a_lock_for_its_ttl,
];

/// Short, so that a silence outlasts them all.
const KEYS: &str = "timeout=500ms&connect_timeout=1s";

/// The time of the silence: longer than all time-outs, and than the undo is waited for.
const SILENCE: Duration = Duration::from_secs(9);

/// Abandons acquires in three ways.
async fn give_up(locker: &Locker) -> Outcome {
    let mut attempts = JoinSet::new();
    let tries = locker.clone();
    attempts.spawn(async move {
        let error = refused(tries.try_acquire("tried").await)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        Outcome::Ok(())
    });
    let waits = locker.clone();
    attempts.spawn(async move {
        let wait = waits.acquire("waited").wait(Duration::from_secs(1));
        let error = refused(wait.await)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        Ok(())
    });
    let drops = locker.clone();
    attempts.spawn(async move {
        let acquire = drops.acquire("dropped").wait_forever();
        let ended = tokio::time::timeout(Duration::from_millis(300), acquire).await;
        assert!(ended.is_err(), "the server is silent");
        Ok(())
    });
    while let Some(ended) = soon("it gives up", attempts.join_next()).await? {
        ended??;
    }
    Ok(())
}

async fn warm(address: SocketAddr) -> Outcome<Locker> {
    let locker = connect(address, KEYS).await?;
    warm_up(&locker).await?;
    Ok(locker)
}

async fn t01_a_server_that_is_silent_for_long_leaves_no_lock(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = warm(node.address()).await?;
    node.stop()?;
    let silence = tokio::time::sleep(SILENCE);
    give_up(&locker).await?;
    silence.await;
    node.cont()?;
    until_clean(&node).await?;
    for name in ["tried", "waited", "dropped"] {
        take(&locker, name).await?.release().await?;
    }
    until_clean(&node).await
}

/// The network delivers the delayed requests; and the first connections that could undo them die.
async fn t01_a_network_that_is_silent_for_long_leaves_no_lock(program: Program) -> Outcome {
    const DEATHS: usize = 3;
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = warm(proxy.address()).await?;
    for direction in [ToServer, ToClient] {
        proxy.set(direction, Fault::Hold);
    }
    let silence = tokio::time::sleep(SILENCE);
    give_up(&locker).await?;
    silence.await;
    let next = proxy.accepted();
    proxy.set(ToServer, Fault::None);
    proxy.set(ToClient, Fault::CutInstead);
    soon("they die", proxy.connection(next + DEATHS)).await?;
    proxy.set(ToClient, Fault::None);
    until_clean(&node).await?;
    for name in ["tried", "waited", "dropped"] {
        take(&locker, name).await?.release().await?;
    }
    until_clean(&node).await
}

async fn t01_a_shutdown_waits_for_what_a_silent_server_may_have_granted(
    program: Program,
) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = warm(node.address()).await?;
    node.stop()?;
    let silence = tokio::time::sleep(SILENCE);
    give_up(&locker).await?;
    let ending = locker.clone();
    let ending = tokio::spawn(async move { ending.shutdown(SILENCE + SOON).await });
    silence.await;
    assert!(!ending.is_finished(), "there is something to undo");
    node.cont()?;
    soon("it ends", ending).await???;
    assert_eq!(locks(&node).await?, [""; 0], "it was undone before");
    Ok(())
}

/// The connection that was to kill the abandoned one ends itself, before the server gets the command.
async fn t02_a_clean_up_that_dies_is_made_up_for_by_the_next_connection(
    program: Program,
) -> Outcome {
    // Long enough to see what is sent before it arrives.
    const LATE: Duration = Duration::from_millis(400);
    // The least token of a client that was given one, and of one that was not.
    const LEAST: (&str, &str) = ("$16\r\n1780000000000000\r\n", "$1\r\n1\r\n");
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let first = connect(proxy.address(), "").await?;
    first.shutdown(SOON).await?;
    // A connection that has nothing to end: so much is said before that.
    let probe = RedisConfig::new(proxy.address()).restart_guard(Duration::ZERO);
    let probe = RedisLock::connect(probe).await?;
    let greeting = proxy.connection(1).await.seen(ToServer);
    let greeting = greeting + u64::try_from(LEAST.0.len() - LEAST.1.len())?;
    probe.close().await?;
    let locker = connect(proxy.address(), "timeout=1s").await?;
    warm_up(&locker).await?;
    for _ in 0..3 {
        let late = proxy.connections().pop().ok_or("no connection")?;
        late.set(ToServer, Fault::Hold);
        let next = proxy.accepted();
        proxy.set_next(Faults {
            to_server: Fault::Delay(LATE),
            ..Faults::default()
        });
        let acquire = tokio::spawn(locker.acquire("a").into_future());
        let dies = soon("it connects again", proxy.connection(next)).await?;
        let says = dies.until_seen(ToServer, greeting + 1);
        soon("it reports the former one", says).await?;
        assert_eq!(dies.passed(ToServer), greeting);
        dies.end(End::Reset);
        soon("it is granted", acquire).await???.release().await?;
        late.set(ToServer, Fault::None);
        soon("it is delivered, or never will be", late.until_ended()).await?;
        until_clean(&node).await?;
    }
    Ok(())
}

/// A node of a Cluster is replaced while a request is on its way to it, and has the slot again when that
/// comes.
async fn t02_a_node_that_comes_back_does_nothing_late(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let home = cluster.owner_of(KEY).await?;
    let (node, other) = (&cluster.nodes()[home], &cluster.nodes()[home + 3]);
    let proxy = Proxy::start(node.address())?;
    announce(&cluster, node, &proxy).await?;
    // Its replica may connect by that, too. The first connection of the client only checks the layout.
    let first = proxy.accepted() + 1;
    // Longer than a failover.
    let locker = connect_to(&cluster, "timeout=3s").await?;
    take(&locker, NAME).await?.release().await?;
    let late = soon("it connects", proxy.connection(first)).await?;
    let before = late.seen(ToServer);
    late.set(ToServer, Fault::Hold);
    let acquire = tokio::spawn(locker.acquire(NAME).into_future());
    soon("its request", late.until_seen(ToServer, before + 1)).await?;
    other.command(&["CLUSTER", "FAILOVER", "TAKEOVER"]).await?;
    let guard = soon("the other node grants it", acquire).await???;
    assert!(value(other, NAME).await?.is_some(), "not by the first one");
    guard.release().await?;
    until("it follows", async || {
        Ok(node.info("master_link_status").await? == "up")
    })
    .await?;
    node.command(&["CLUSTER", "FAILOVER", "TAKEOVER"]).await?;
    cluster.until_owner_of(KEY, home + 3).await?;
    let guard = soon("it is granted", locker.acquire(NAME)).await??;
    guard.release().await?;
    late.set(ToServer, Fault::None);
    soon("it is delivered, or never will be", late.until_ended()).await?;
    assert_eq!(value(node, NAME).await?, None, "it has no holder");
    Ok(())
}

/// The exception `redis.late`: the lock has no holder, and expires with its ttl.
async fn t02_a_user_who_may_not_end_connections_finds_a_lock_for_its_ttl(
    program: Program,
) -> Outcome {
    let node = start(&program, &[]).await?;
    let other = connect_as_user(&node, &["-client|kill"]).await?;
    let proxy = Proxy::start(node.address())?;
    let (address, ttl) = (proxy.address(), Duration::from_secs(4));
    let url = format!("redis://shop:secret@{address}?restart_guard=0s&timeout=300ms&ttl=4s");
    let locker = dlock::connect(url.as_str()).await?;
    warm_up(&locker).await?;
    let late = proxy.connection(0).await;
    late.set(ToServer, Fault::Hold);
    let last = take(&locker, "a").await?;
    let token = last.token();
    last.release().await?;
    late.set(ToServer, Fault::None);
    soon("it is delivered", late.until_ended()).await?;
    assert!(value(&node, "a").await?.is_some(), "there is no exception");
    let holder = other.inspect("a").await?;
    assert!(holder.is_some(), "the holder is notified");
    let most = ttl + other.capabilities().takeover_max;
    let guard = within(most, "it has ended", other.acquire("a")).await??;
    assert!(guard.token() > token);
    guard.release().await?;
    until_clean(&node).await
}

/// Has a node named to clients by the address of a proxy.
async fn announce(cluster: &Cluster, node: &Node, proxy: &Proxy) -> Outcome {
    let port = proxy.address().port().to_string();
    node.command(&["CONFIG", "SET", "cluster-announce-port", &port])
        .await?;
    let named = format!(":{port}@");
    until("all know it by that", async || {
        for node in cluster.nodes() {
            let nodes = node.command(&["CLUSTER", "NODES"]).await?.text()?;
            if !nodes.contains(&named) {
                return Ok(false);
            }
        }
        Ok(true)
    })
    .await
}
