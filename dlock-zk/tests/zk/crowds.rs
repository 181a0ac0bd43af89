//! One locker with thousands of names: heartbeats go first (K13), and waiting has a bound where watches have (K6).

use std::{num::NonZeroU32, time::Duration};

use dlock_core::Clock;
use dlock_servers::zk::Java;
use dlock_verify::proxy::{Direction::ToServer, Fault};
use tokio::task::JoinSet;
use zookeeper_client::{Acls, CreateMode};

use crate::support::{
    LONG, Outcome, PROXIED_SESSION, cases, connect, driver, soon, start, start_proxied, take,
    until, within,
};

cases![
    k13_heartbeats_go_before_thousands_of_requests,
    k06_more_names_waited_for_than_watches,
];

/// On a connection that needs longer for them than a lock lasts without a heartbeat.
async fn k13_heartbeats_go_before_thousands_of_requests(java: Java) -> Outcome {
    const QUESTIONS: usize = 10_000;
    const BYTES_A_SECOND: u32 = 250_000;
    let (_node, proxy, locker) = start_proxied(&java).await?;
    let guard = take(&locker, "a").await?;
    guard.renew().await?;
    let rate = NonZeroU32::new(BYTES_A_SECOND).ok_or("zero")?;
    proxy.set(ToServer, Fault::Throttle(rate));
    let (clock, mut inspections) = (Clock::boottime(), JoinSet::new());
    let began = clock.now();
    for number in 0..QUESTIONS {
        let locker = locker.clone();
        inspections.spawn(async move { locker.inspect(format!("{number:0>200}")).await });
    }
    while let Some(inspected) =
        within(4 * PROXIED_SESSION, "an answer", inspections.join_next()).await?
    {
        // Some give up; that is not what this is about.
        let _ = inspected?;
        assert!(guard.is_held(), "lost after {:?}", clock.now().since(began));
    }
    let took = clock.now().since(began);
    assert!(
        took > PROXIED_SESSION / 2,
        "the connection was busy for {took:?} only"
    );
    Ok(guard.release().await?)
}

/// `zk.many-waits`: queues without a watch are listed once a second.
async fn k06_more_names_waited_for_than_watches(java: Java) -> Outcome {
    const NAMES: usize = 700;
    const RELEASED: usize = 30;
    const BOUND: Duration = Duration::from_secs(1);
    let node = start(&java).await?;
    let waiter = connect(node.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    let stays = CreateMode::Persistent.with_acls(Acls::anyone_all());
    let ends = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
    let mut waiting = Vec::new();
    for number in 0..NAMES {
        let name = format!("{number:0>200}");
        let holder =
            format!("/dlock/{name}/_c_00000000-0000-0000-0000-000000000000-lock-0000000000");
        driver.mkdir(&format!("/dlock/{name}"), &stays).await?;
        driver.create(&holder, b"", &ends).await?;
        let (wait, clock) = (waiter.acquire(name).wait_forever(), Clock::boottime());
        let granted = async move { wait.await.map(|guard| (guard, clock.now())) };
        waiting.push((holder, tokio::spawn(granted)));
    }
    until("all wait", async || {
        let nodes: usize = node.metric("zk_ephemerals_count").await?.parse()?;
        Ok(nodes >= 2 * NAMES)
    })
    .await?;
    // Until then the last has requested its watch, if it was to.
    tokio::time::sleep(BOUND).await;
    let watched = node.command("wchp").await?;
    let (quick, mut slow): (Vec<_>, Vec<_>) = waiting
        .into_iter()
        .partition(|(holder, _)| watched.contains(holder));
    assert!(
        quick.len() > RELEASED && slow.len() > RELEASED,
        "{} are watched",
        quick.len()
    );
    slow.truncate(RELEASED);
    slow.extend(quick.into_iter().take(RELEASED));
    let clock = Clock::boottime();
    for (holder, _) in &slow {
        driver.delete(holder, None).await?;
    }
    let released = clock.now();
    for (holder, waited) in slow {
        let (guard, granted) = soon("its turn", waited).await???;
        let took = granted.since(released);
        // A busy machine may be late.
        assert!(took < BOUND + BOUND / 2, "{took:?}: {holder}");
        drop(guard);
    }
    Ok(())
}
