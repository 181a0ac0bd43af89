//! Servers that cannot be heard, or late (T40, T41, T50).

use std::time::Duration;

use dlock::LostCause;
use dlock_core::Clock;
use dlock_servers::zk::{Ensemble, Java, Node, Options};
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    End, Fault, Proxy,
};
use tokio::task::JoinSet;

use crate::support::{
    Outcome, PROXIED_SESSION, SESSION, SHORT, SOON, cases, connect, driver, quick, soon, start,
    start_proxied, take, until_queue, within,
};

cases![
    t40_a_slow_acknowledgement_proves_nothing,
    t41_disconnected_is_neither_held_nor_lost,
    t41_a_black_hole_is_lost_at_the_deadline,
    t41_another_server_takes_over_before_the_deadline,
    t41_a_session_that_the_servers_make_shorter,
    t50_the_leader_dies_under_holders_and_waiters,
];

/// A late acknowledgement may be of a session that the leader has not heard of for as long. It is late by
/// more than a twelfth of the session, but not so late that the driver changes its server.
async fn t40_a_slow_acknowledgement_proves_nothing(java: Java) -> Outcome {
    const LATE: Duration = Duration::from_millis(1_120);
    let (_node, proxy, locker) = start_proxied(&java).await?;
    let guard = take(&locker, "a").await?;
    guard.renew().await?;
    proxy.set(ToClient, Fault::Delay(LATE));
    let clock = Clock::boottime();
    let deadline = clock.now().after(guard.remaining());
    // So many answers are under way that none is long after the one before.
    let talk = async {
        let mut talk = JoinSet::new();
        loop {
            let locker = locker.clone();
            talk.spawn(async move { locker.inspect("b").await });
            tokio::time::sleep(LATE / 8).await;
        }
    };
    let cause = tokio::select! {
        cause = within(PROXIED_SESSION, "the loss", guard.lost()) => cause?,
        () = talk => return Err("it ended".into()),
    };
    assert_eq!(cause, LostCause::Expired);
    let late = clock.now().since(deadline);
    assert!(late < LATE / 2, "its end moved by {late:?}");
    assert_eq!(proxy.accepted(), 1, "it was the same connection");
    Ok(())
}

async fn t41_disconnected_is_neither_held_nor_lost(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), SHORT).await?;
    let guard = take(&locker, "a").await?;
    for _ in 0..5 {
        proxy.end(End::Reset);
        assert!(guard.is_held(), "a lost connection is no loss");
        tokio::time::sleep(SESSION / 4).await;
        assert!(guard.is_held());
        guard.renew().await?;
    }
    Ok(guard.release().await?)
}

async fn t41_a_black_hole_is_lost_at_the_deadline(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let (holder, other) = (
        connect(proxy.address(), SHORT).await?,
        connect(node.address(), SHORT).await?,
    );
    let clock = Clock::boottime();
    let guard = take(&holder, "a").await?;
    guard.renew().await?;
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::Hold);
    }
    let cut = clock.now();
    let lost = async { (guard.lost().await, clock.now()) };
    let granted = async { (other.acquire("a").await, clock.now()) };
    let both = async { tokio::join!(lost, granted) };
    let bound = other.capabilities().takeover_max + SOON;
    let ((cause, lost), (next, granted)) = within(bound, "the next grant", both).await?;
    assert_eq!(cause, LostCause::Expired);
    assert!(
        lost.since(cut) <= SESSION / 2 + SESSION / 30,
        "{:?}",
        lost.since(cut)
    );
    assert!(granted >= lost);
    assert!(next?.token() > guard.token());
    Ok(())
}

async fn t41_another_server_takes_over_before_the_deadline(java: Java) -> Outcome {
    let ensemble = Ensemble::start(&java, &quick()).await?;
    let proxies: Vec<Proxy> = ensemble
        .nodes()
        .iter()
        .map(|node| Proxy::start(node.address()))
        .collect::<Result<_, _>>()?;
    let addresses: Vec<_> = proxies
        .iter()
        .map(|proxy| proxy.address().to_string())
        .collect();
    let locker = connect(addresses.join(","), "tick=200ms&session=6s&ttl=10s").await?;
    let guard = take(&locker, "a").await?;
    let is_used = |proxy: &&Proxy| {
        proxy
            .connections()
            .last()
            .is_some_and(|connection| !connection.has_ended())
    };
    let used = proxies.iter().find(is_used).ok_or("no connection")?;
    // It says nothing more, and neither do connections end.
    for direction in [ToClient, ToServer] {
        used.set(direction, Fault::Hold);
    }
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(guard.is_held(), "another server was there");
    Ok(guard.release().await?)
}

/// The driver's times follow from the requested time-out: it has to request what the servers give.
async fn t41_a_session_that_the_servers_make_shorter(java: Java) -> Outcome {
    // At most twenty ticks.
    const GIVEN: Duration = Duration::from_secs(4);
    let node = Node::start(&java, &Options::with_tick(GIVEN / 20)).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "tick=200ms&session=24s&ttl=12s").await?;
    assert_eq!(proxy.accepted(), 2, "it has requested a session again");
    let guard = take(&locker, "a").await?;
    tokio::time::sleep(GIVEN).await;
    guard.renew().await?;
    assert!(guard.remaining() <= GIVEN / 2);
    // It has pinged or written every sixth of that, and would notice soon.
    let connection = proxy.connection(1).await;
    for direction in [ToClient, ToServer] {
        connection.set(direction, Fault::Hold);
    }
    let again = within(GIVEN / 2, "another connection", proxy.connection(2));
    again.await?;
    assert!(guard.is_held());
    Ok(guard.release().await?)
}

async fn t50_the_leader_dies_under_holders_and_waiters(java: Java) -> Outcome {
    let mut ensemble = Ensemble::start(&java, &quick()).await?;
    let addresses = ensemble.addresses();
    let keys = "tick=200ms&session=20s&ttl=30s";
    let (holder, waiter) = (
        connect(&addresses, keys).await?,
        connect(&addresses, keys).await?,
    );
    let guard = take(&holder, "a").await?;
    let token = guard.token();
    let waiting = tokio::spawn(waiter.acquire("a").wait_forever().into_future());
    let driver = driver(&addresses).await?;
    until_queue(&driver, "a", 2).await?;
    let leader = ensemble.leader().await?;
    ensemble.nodes_mut()[leader].kill()?;
    let next = ensemble.leader().await?;
    assert_ne!(next, leader);
    assert!(guard.is_held());
    soon("a renewal by the others", async {
        while guard.renew().await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await?;
    assert!(!waiting.is_finished());
    assert!(guard.is_held());
    guard.release().await?;
    let waited = soon("the waiter's turn", waiting).await???;
    assert!(waited.is_held() && waited.token() > token);
    Ok(waited.release().await?)
}
