//! The number of requests to the server.

use std::{collections::BTreeMap, time::Duration};

use dlock_servers::{Program, redis::Node};
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    Proxy,
};

use dlock::Guard;
use dlock_core::Clock;

use crate::support::{
    Outcome, TTL_LONG, calls, cases, connect, soon, start, take, until_clean, until_listeners,
    warm_up,
};

cases![
    one_request_to_acquire_to_renew_and_to_release,
    a_thousand_local_waiters_are_one_on_the_wire,
    a_contended_name_costs_the_same_however_many_wait,
    renewals_that_are_due_together_are_few_requests,
];

/// The requests of clients since [`reset`], by command; without those of scripts and of the test.
async fn requests(node: &Node) -> Outcome<BTreeMap<String, u64>> {
    const OTHERS: [&str; 13] = [
        "append",
        "config|resetstat",
        "del",
        "get",
        "incr",
        "info",
        "mget",
        "pexpire",
        "pttl",
        "publish",
        "pubsub|numsub",
        "set",
        "time",
    ];
    let stats = node.command(&["INFO", "commandstats"]).await?.text()?;
    let mut found = BTreeMap::new();
    for line in stats
        .lines()
        .filter_map(|line| line.strip_prefix("cmdstat_"))
    {
        let (command, rest) = line.split_once(":calls=").ok_or("no calls")?;
        let calls = rest.split_once(',').ok_or("no end")?.0;
        if !OTHERS.contains(&command) {
            found.insert(command.to_owned(), calls.parse()?);
        }
    }
    Ok(found)
}

async fn reset(node: &Node) -> Outcome {
    node.command(&["CONFIG", "RESETSTAT"]).await?;
    Ok(())
}

fn only(command: &str, calls: u64) -> BTreeMap<String, u64> {
    BTreeMap::from([(command.to_owned(), calls)])
}

async fn one_request_to_acquire_to_renew_and_to_release(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "").await?;
    warm_up(&locker).await?;
    let warm = take(&locker, "warm").await?;
    warm.renew().await?;
    warm.release().await?;
    // Each is one answer after one request: nothing comes back in between.
    reset(&node).await?;
    let guard = locker.acquire("a").await?;
    assert_eq!(requests(&node).await?, only("evalsha", 1));
    guard.renew().await?;
    assert_eq!(requests(&node).await?, only("evalsha", 2));
    guard.release().await?;
    take(&locker, "a").await?.release().await?;
    let has_native_release = node.info("valkey_version").await.is_ok();
    let five = match has_native_release {
        true => BTreeMap::from([("evalsha".to_owned(), 3), ("delifeq".to_owned(), 2)]),
        false => only("evalsha", 5),
    };
    assert_eq!(requests(&node).await?, five);
    assert_eq!(
        proxy.accepted(),
        1,
        "one connection as long as there is no waiter"
    );
    let bytes = (proxy.seen(ToServer), proxy.seen(ToClient));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        bytes,
        (proxy.seen(ToServer), proxy.seen(ToClient)),
        "idle is silent"
    );
    Ok(())
}

async fn a_thousand_local_waiters_are_one_on_the_wire(program: Program) -> Outcome {
    const WAITERS: u32 = 1_000;
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "").await?;
    warm_up(&locker).await?;
    let held = take(&holder, "a").await?;
    reset(&node).await?;
    let waiters: Vec<_> = (0..WAITERS)
        .map(|_| {
            let waiter = locker.acquire("a").wait(TTL_LONG);
            // Their turns come in an order of their own, so each releases by itself.
            tokio::spawn(async move { waiter.await?.release().await })
        })
        .collect();
    until_listeners(&node, "a", 1).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let sent = requests(&node).await?;
    assert_eq!(
        sent.get("evalsha"),
        Some(&2),
        "{sent:?}: try, subscribe, try"
    );
    assert_eq!(sent.get("subscribe"), Some(&1), "{sent:?}");
    assert_eq!(proxy.accepted(), 2);
    held.release().await?;
    for waiter in waiters {
        soon("it is granted", waiter).await???;
    }
    // Each waiter sends one to take it and one to release it. Some send more, as the first one did: they came
    // before the release of the one before them. They are few, since that follows its grant.
    let sent = requests(&node).await?;
    let total = sent.values().sum::<u64>();
    let early = u64::from(WAITERS) / 10;
    assert!(total <= u64::from(WAITERS) * 2 + early, "{sent:?}");
    until_clean(&node).await
}

/// Requests for each grant while so many wait in each of two clients.
async fn per_grant(program: &Program, waiters: u32) -> Outcome<f64> {
    let node = start(program, &[]).await?;
    let lockers = [
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    ];
    for locker in &lockers {
        warm_up(locker).await?;
    }
    reset(&node).await?;
    let tasks: Vec<_> = (0..2 * waiters as usize)
        .map(|number| {
            let locker = lockers[number % 2].clone();
            tokio::spawn(async move {
                let guard = locker.acquire("a").wait(TTL_LONG).await?;
                guard.release().await
            })
        })
        .collect();
    for task in tasks {
        soon("it is granted", task).await???;
    }
    let total: u64 = requests(&node).await?.values().sum();
    until_clean(&node).await?;
    let total = u32::try_from(total)?;
    Ok(f64::from(total) / f64::from(2 * waiters))
}

async fn a_contended_name_costs_the_same_however_many_wait(program: Program) -> Outcome {
    // Try, subscribe, try, woken and try, unsubscribe, release; less where a locker is served twice.
    const MOST: f64 = 6.0;
    let few = per_grant(&program, 50).await?;
    let many = per_grant(&program, 500).await?;
    assert!(
        many <= MOST && many <= few * 1.5,
        "{few:.1} requests a grant, then {many:.1}"
    );
    Ok(())
}

/// Each lock is renewed in time, with at most one request every 5 ms and one for each 500 locks. So 100,000 locks
/// of 30 s, of which 20,000 may be due in one second, cost at most 240 requests in it.
async fn renewals_that_are_due_together_are_few_requests(program: Program) -> Outcome {
    const HELD: u32 = 10_000;
    let ttl = Duration::from_secs(15);
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    warm_up(&locker).await?;
    let mut guards = Vec::new();
    for part in 0..HELD / 100 {
        let names = (0..100).map(|number| (part * 100 + number).to_string());
        let takes = names.map(|name| locker.acquire(name).ttl(ttl).into_future());
        let takes: Vec<_> = takes.map(tokio::spawn).collect();
        for taken in takes {
            guards.push(taken.await??);
        }
    }
    reset(&node).await?;
    let (clock, mut least) = (Clock::boottime(), ttl);
    let begun = clock.now();
    // The first renewal comes in a third of the ttl.
    while clock.now().since(begun) < ttl / 2 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let left = guards.iter().map(Guard::remaining).min();
        least = least.min(left.unwrap_or_default());
    }
    let sent = requests(&node).await?;
    let renewed = calls(&node, "pexpire").await?;
    let windows = u64::try_from(clock.now().since(begun).as_millis())? / 5;
    let most = windows + renewed / 500 + 1;
    assert!(
        sent.values().sum::<u64>() <= most,
        "{sent:?}, at most {most}"
    );
    // So each was renewed; on a slow machine the first of them before the counting began.
    assert!(least > ttl / 2, "one had but {least:?} left");
    assert!(guards.iter().all(Guard::is_held));
    let releases: Vec<_> = guards
        .into_iter()
        .map(|guard| tokio::spawn(guard.release()))
        .collect();
    for released in releases {
        released.await??;
    }
    until_clean(&node).await
}
