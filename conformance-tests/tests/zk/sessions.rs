//! The session: lost contact, its end, and another one in its place (T41, T44, T50, K8).

use std::time::Duration;

use conformance_tests::{
    proxy::{
        Direction::{ToClient, ToServer},
        End, Fault, Proxy,
    },
    servers::zk::{Ensemble, Java, Node},
};
use dlock::LostCause;
use dlock_core::Clock;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::kit::{
    LONG, Outcome, SOON, cases, connect, driver, queue, quick, refused, soon, start, start_tidy,
    take, until, until_queue, within,
};

cases![
    t40_a_slow_acknowledgement_proves_nothing,
    t41_disconnected_is_neither_held_nor_lost,
    t41_a_black_hole_is_lost_at_the_deadline,
    t41_another_server_takes_over_before_the_deadline,
    t44_a_session_that_ends_is_told_at_once,
    t44_a_waiter_outlives_its_session,
    t44_a_session_that_is_silently_replaced_is_over,
    t44_a_removed_node_is_told_at_once,
    t44_a_removed_waiter_queues_again,
    t50_the_leader_dies_under_holders_and_waiters,
    k02_a_lock_without_renewal_ends_with_its_ttl_though_the_session_lives,
    k06_a_killed_clients_lock_is_free_in_time,
    k13_heartbeats_cost_the_same_for_any_number_of_locks,
    k12_nothing_is_left_when_nothing_is_held,
];

/// A client's first request: length, version, last transaction, time-out, session, password, read-only.
const CONNECT_BYTES: usize = 49;

/// Where the session's id and password are in it.
const SESSION_ID: std::ops::Range<usize> = 20..28;

/// Short enough to wait for its end.
const SHORT: &str = "tick=200ms&session=3s&ttl=10s";

const SESSION: Duration = Duration::from_secs(3);

/// What is acknowledged late may be of a session that the leader has not heard of for as long. It is late
/// by more than a twelfth of the session, but not so late that the driver looks for another server.
async fn t40_a_slow_acknowledgement_proves_nothing(java: Java) -> Outcome {
    const LATE: Duration = Duration::from_millis(1_120);
    const WHOLE: Duration = Duration::from_secs(12);
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "tick=200ms&session=12s&ttl=30s").await?;
    let guard = take(&locker, "a").await?;
    guard.renew().await?;
    proxy.set(ToClient, Fault::Delay(LATE));
    let clock = Clock::boottime();
    let deadline = clock.now().after(guard.remaining());
    let cause = within(WHOLE, "the loss", guard.lost()).await?;
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
            .is_some_and(|line| !line.has_ended())
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

async fn t44_a_session_that_ends_is_told_at_once(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), SHORT).await?;
    let guard = take(&locker, "a").await?;
    // Without it for so long that the server ends the session.
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::Hold);
    }
    let driver = driver(node.address()).await?;
    within(
        SESSION + SOON,
        "the session's end",
        until_queue(&driver, "a", 0),
    )
    .await??;
    assert!(!guard.is_held());
    proxy.end(End::Reset);
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::None);
    }
    // A new session.
    let again = soon("a new session", locker.acquire("a")).await??;
    assert!(again.token() > guard.token());
    assert_eq!(
        refused(guard.release().await)?.kind(),
        dlock::ErrorKind::Lost
    );
    again.renew().await?;
    Ok(again.release().await?)
}

async fn t44_a_waiter_outlives_its_session(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let (holder, waiter) = (
        connect(node.address(), LONG).await?,
        connect(proxy.address(), SHORT).await?,
    );
    let driver = driver(node.address()).await?;
    let guard = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").wait_forever().into_future());
    until_queue(&driver, "a", 2).await?;
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::Hold);
    }
    within(
        SESSION + SOON,
        "the session's end",
        until_queue(&driver, "a", 1),
    )
    .await??;
    proxy.end(End::Reset);
    for direction in [ToClient, ToServer] {
        proxy.set(direction, Fault::None);
    }
    until_queue(&driver, "a", 2).await?;
    guard.release().await?;
    let waited = soon("the waiter's turn", waiting).await???;
    waited.renew().await?;
    Ok(waited.release().await?)
}

/// Some servers give a new session where an old one is asked for, and say nothing: simulated by taking the
/// old one's id out of the request.
async fn t44_a_session_that_is_silently_replaced_is_over(java: Java) -> Outcome {
    let node = start(&java).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (address, server) = (listener.local_addr()?, node.address());
    let (cut, mut is_cut) = watch::channel(());
    let relay = tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await?;
            let mut server = TcpStream::connect(server).await?;
            let mut request = [0; CONNECT_BYTES];
            client.read_exact(&mut request).await?;
            request[SESSION_ID].fill(0);
            server.write_all(&request).await?;
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                _ = is_cut.changed() => {}
            }
        }
        #[expect(unreachable_code, reason = "says which errors there are")]
        std::io::Result::Ok(())
    });
    let locker = connect(address, "tick=200ms&session=60s").await?;
    let guard = take(&locker, "a").await?;
    guard.renew().await?;
    cut.send(())?;
    // Its node lives on for a while, and may be written to.
    let cause = within(Duration::from_secs(30), "the loss", guard.lost()).await?;
    assert_eq!(cause, LostCause::SessionOver);
    relay.abort();
    Ok(())
}

async fn t44_a_removed_node_is_told_at_once(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    let guard = take(&locker, "a").await?;
    guard.renew().await?;
    // Written to is not removed.
    let path = format!("/dlock/a/{}", queue(&driver, "a").await?[0]);
    driver.set_data(&path, b"__REVOKE__", None).await?;
    guard.renew().await?;
    assert!(guard.is_held());
    driver.delete(&path, None).await?;
    let cause = within(Duration::from_secs(2), "the loss", guard.lost()).await?;
    assert_eq!(cause, LostCause::Removed);
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn t44_a_removed_waiter_queues_again(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (holder, waiter) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    let driver = driver(node.address()).await?;
    let guard = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").wait_forever().into_future());
    until_queue(&driver, "a", 2).await?;
    let mut nodes = queue(&driver, "a").await?;
    nodes.sort_by_key(|node| node.rsplit_once('-').map(|(_, n)| n.to_owned()));
    driver
        .delete(&format!("/dlock/a/{}", nodes[1]), None)
        .await?;
    guard.release().await?;
    let waited = soon("the waiter's turn", waiting).await???;
    waited.renew().await?;
    Ok(waited.release().await?)
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

async fn k02_a_lock_without_renewal_ends_with_its_ttl_though_the_session_lives(
    java: Java,
) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), "tick=200ms&session=10s&ttl=30s").await?;
    let clock = Clock::boottime();
    let kept = take(&locker, "kept").await?;
    let asked = clock.now();
    let ttl = Duration::from_millis(5_000);
    let guard = locker.acquire("a").ttl(ttl).no_renewal().await?;
    let cause = within(2 * ttl, "its end", guard.lost()).await?;
    let lasted = clock.now().since(asked);
    assert_eq!(cause, LostCause::Expired);
    assert!(lasted <= ttl + ttl / 10 && lasted >= ttl / 2, "{lasted:?}");
    let driver = driver(node.address()).await?;
    until_queue(&driver, "a", 0).await?;
    assert!(kept.is_held(), "the session lives on");
    Ok(kept.release().await?)
}

async fn k06_a_killed_clients_lock_is_free_in_time(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let clock = Clock::boottime();
    let dead = connect(proxy.address(), SHORT).await?;
    let other = connect(node.address(), SHORT).await?;
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
        // The first renewal of each looks at its node.
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

async fn packets(node: &Node) -> Outcome<u64> {
    Ok(node.monitored("zk_packets_received").await?.parse()?)
}

async fn k12_nothing_is_left_when_nothing_is_held(java: Java) -> Outcome {
    let node = start_tidy(&java).await?;
    let locker = connect(node.address(), SHORT).await?;
    let guard = take(&locker, "a").await?;
    let driver = driver(node.address()).await?;
    let beats = async || {
        let nodes = driver.list_children("/dlock/%alive").await;
        nodes.unwrap_or_default().len()
    };
    until("a heartbeat", async || Ok(beats().await == 1)).await?;
    guard.release().await?;
    // The session's node, then the containers.
    until("no heartbeat", async || Ok(beats().await == 0)).await?;
    until("no directory", async || {
        Ok(driver.check_stat("/dlock").await?.is_none())
    })
    .await?;
    // And they are made again.
    take(&locker, "a").await?.release().await?;
    Ok(())
}
