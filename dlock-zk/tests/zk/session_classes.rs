//! Locks have sessions by their ttl (K2, K6, K11).

use std::time::Duration;

use dlock_servers::zk::{Java, Node, Options};
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    Fault, Proxy,
};

use crate::support::{
    LONG, Outcome, SOON, cases, connect, driver, queue, soon, start, take, until, until_queue,
    within,
};

cases![
    k06_a_short_ttl_is_free_while_a_longer_session_lives,
    k02_a_ttl_far_below_the_session_is_held_and_lost_by_itself,
    k06_a_wait_leaves_a_short_ttl_whole_in_a_long_session,
    t40_a_session_fits_servers_with_a_longer_tick,
    k12_all_sessions_end_with_the_locker,
];

/// Keys for servers with a short tick: sessions of 2, 4, 8, 16 and 30 s.
const CLASSES: &str = "tick=200ms";

const SHORT_TTL: Duration = Duration::from_secs(2);

/// The session of locks with this ttl.
const SHORT_SESSION: Duration = Duration::from_secs(4);

/// The servers and the client get nothing from each other any more.
fn cut(proxy: &Proxy) {
    proxy.set(ToServer, Fault::Hold);
    proxy.set(ToClient, Fault::Hold);
}

async fn sessions(node: &Node) -> Outcome<u32> {
    Ok(node.metric("zk_global_sessions").await?.parse()?)
}

async fn k06_a_short_ttl_is_free_while_a_longer_session_lives(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), CLASSES).await?;
    let long = take(&locker, "long").await?;
    let short = locker.acquire("short").ttl(SHORT_TTL).await?;
    let other = connect(node.address(), LONG).await?;
    cut(&proxy);
    within(SHORT_TTL + SOON, "its loss", short.lost()).await?;
    let next = other.acquire("short").into_future();
    let next = within(SHORT_SESSION + SOON, "the next holder", next).await??;
    assert!(
        other.try_acquire("long").await?.is_none(),
        "its session lives"
    );
    drop((long, next));
    Ok(())
}

async fn k02_a_ttl_far_below_the_session_is_held_and_lost_by_itself(java: Java) -> Outcome {
    const TTL: Duration = Duration::from_secs(1);
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    let guard = locker.acquire("a").ttl(TTL).await?;
    until("it was renewed", async || {
        Ok(guard.renew().await.is_ok() && guard.remaining() < TTL)
    })
    .await?;
    assert!(guard.is_held());
    cut(&proxy);
    within(TTL + SOON, "its loss", guard.lost()).await?;
    assert_eq!(queue(&driver, "a").await?.len(), 1, "the session lives");
    Ok(())
}

/// The last heartbeat is older than the ttl.
async fn k06_a_wait_leaves_a_short_ttl_whole_in_a_long_session(java: Java) -> Outcome {
    const TTL: Duration = Duration::from_secs(1);
    let node = start(&java).await?;
    let holder = connect(node.address(), LONG).await?;
    let waiter = connect(node.address(), LONG).await?;
    for renewal in ["with", "without"] {
        let held = take(&holder, "a").await?;
        let mut acquire = waiter.acquire("a").ttl(TTL).wait_forever();
        if renewal == "without" {
            acquire = acquire.no_renewal();
        }
        let waiting = tokio::spawn(acquire.into_future());
        until_queue(&driver(node.address()).await?, "a", 2).await?;
        tokio::time::sleep(2 * TTL).await;
        held.release().await?;
        let guard = soon("the grant", waiting).await???;
        let left = guard.remaining();
        assert!(left > TTL / 2, "{renewal} renewal {left:?} are left");
        guard.release().await?;
    }
    Ok(())
}

/// Servers give no session shorter than two ticks, which hides a tick that is longer than `tick`.
async fn t40_a_session_fits_servers_with_a_longer_tick(java: Java) -> Outcome {
    let node = Node::start(&java, &Options::with_tick(Duration::from_secs(1))).await?;
    let locker = connect(node.address(), "tick=200ms&ttl=1s").await?;
    let guard = take(&locker, "a").await?;
    // Only the session of the locks stays: three ticks instead of two seconds.
    until("one session of 3 s", async || {
        let sessions = node.command("cons").await?;
        let of_clients: Vec<_> = sessions
            .lines()
            .filter(|line| line.contains("to="))
            .collect();
        Ok(of_clients.len() == 1 && of_clients[0].contains("to=3000,"))
    })
    .await?;
    Ok(guard.release().await?)
}

async fn k12_all_sessions_end_with_the_locker(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), CLASSES).await?;
    let long = take(&locker, "long").await?;
    assert_eq!(sessions(&node).await?, 1);
    for ttl in [1, 2, 4, 8, 20] {
        let guard = locker
            .acquire(format!("lock-{ttl}"))
            .ttl(Duration::from_secs(ttl))
            .await?;
        guard.release().await?;
    }
    // Those that showed the servers' bounds end in the background.
    until("five sessions", async || Ok(sessions(&node).await? == 5)).await?;
    long.release().await?;
    locker.shutdown(SOON).await?;
    assert_eq!(sessions(&node).await?, 0);
    Ok(())
}
