//! How much is asked of the server.

use std::{collections::BTreeMap, time::Duration};

use conformance_tests::{
    proxy::{
        Direction::{ToClient, ToServer},
        Proxy,
    },
    servers::{Program, redis::Node},
};

use crate::kit::{
    Outcome, TTL_LONG, cases, connect, soon, start, take, until_clean, until_listeners, warm_up,
};

cases![
    one_request_to_acquire_to_renew_and_to_release,
    a_thousand_local_waiters_are_one_on_the_wire,
    a_contended_name_costs_the_same_however_many_wait,
    renewals_that_are_due_together_are_few_requests,
];

/// What clients have asked for since [`reset`], by command; not what scripts did, nor the test.
async fn requests(node: &Node) -> Outcome<BTreeMap<String, u64>> {
    const OTHERS: [&str; 12] = [
        "append",
        "config|resetstat",
        "del",
        "get",
        "incr",
        "info",
        "pexpire",
        "pttl",
        "publish",
        "pubsub|numsub",
        "set",
        "time",
    ];
    let stats = node.ask(&["INFO", "commandstats"]).await?.text()?;
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
    node.ask(&["CONFIG", "RESETSTAT"]).await?;
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
    take(&locker, "warm").await?.renew().await?;
    soon("it is released", locker.acquire("warm"))
        .await??
        .release()
        .await?;
    // Each is one answer after one request: nothing comes back in between.
    reset(&node).await?;
    let guard = locker.acquire("a").await?;
    assert_eq!(requests(&node).await?, only("evalsha", 1));
    guard.renew().await?;
    assert_eq!(requests(&node).await?, only("evalsha", 2));
    guard.release().await?;
    assert_eq!(requests(&node).await?, only("evalsha", 3));
    take(&locker, "a").await?.release().await?;
    assert_eq!(requests(&node).await?, only("evalsha", 5));
    assert_eq!(
        proxy.accepted(),
        1,
        "one connection as long as nobody waits"
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
        .map(|_| tokio::spawn(locker.acquire("a").wait(TTL_LONG).into_future()))
        .collect();
    until_listeners(&node, "a", 1).await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let asked = requests(&node).await?;
    assert_eq!(
        asked.get("evalsha"),
        Some(&2),
        "{asked:?}: try, subscribe, try"
    );
    assert_eq!(asked.get("subscribe"), Some(&1), "{asked:?}");
    assert_eq!(proxy.accepted(), 2);
    held.release().await?;
    for waiter in waiters {
        soon("it is granted", waiter).await???.release().await?;
    }
    // One to take it and one to release it for each, and what the first one did more.
    let asked = requests(&node).await?;
    let total = asked.values().sum::<u64>();
    assert!(total <= u64::from(WAITERS) * 2 + 10, "{asked:?}");
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
    let few = per_grant(&program, 10).await?;
    let many = per_grant(&program, 500).await?;
    assert!(
        many <= few.max(6.0),
        "{few:.1} requests a grant, then {many:.1}"
    );
    Ok(())
}

async fn renewals_that_are_due_together_are_few_requests(program: Program) -> Outcome {
    const HELD: usize = 2_000;
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut guards = Vec::new();
    for number in 0..HELD {
        let name = number.to_string();
        guards.push(locker.acquire(&name).ttl(Duration::from_secs(6)).await?);
    }
    reset(&node).await?;
    // Each is renewed at least every 2 s; a request leaves at most every 5 ms.
    tokio::time::sleep(Duration::from_secs(4)).await;
    let asked = requests(&node).await?.get("evalsha").copied().unwrap_or(0);
    assert!(asked <= 4 * 200 + 50, "{asked} requests");
    let renewed = node.info("cmdstat_pexpire").await?;
    let renewed = renewed
        .strip_prefix("calls=")
        .and_then(|calls| calls.split_once(','));
    let renewed: usize = renewed.ok_or("no renewals")?.0.parse()?;
    assert!(renewed >= HELD, "{renewed} renewals");
    assert!(guards.iter().all(dlock::Guard::is_held));
    for guard in guards {
        guard.release().await?;
    }
    until_clean(&node).await
}
