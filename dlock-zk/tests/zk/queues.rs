//! Nodes in the queue: deleted, waited for, and found in directories that come and go (T45–T49).

use std::time::Duration;

use dlock_servers::zk::{Java, Node};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use tokio::task::JoinSet;
use zookeeper_client::{Acls, CreateMode};

use crate::support::{
    LONG, Outcome, RACES, SOON, cases, connect, driver, drop_after_polls, queue, soon, start,
    start_tidy, take, until, until_queue, watches, within,
};

cases![
    t45_an_acquire_dropped_at_any_poll_leaves_nothing,
    t45_an_acquire_dropped_at_any_time_leaves_nothing,
    t45_a_wait_dropped_at_any_time_leaves_nothing,
    t45_an_acquire_dropped_while_disconnected_leaves_nothing,
    t46_a_wait_that_is_given_up_leaves_no_watch,
    t47_a_release_wakes_one_waiter,
    t48_sequence_numbers_beyond_the_largest,
    t49_directories_that_the_server_removes_are_made_again,
    t49_two_clients_make_one_directory,
];

/// More polls than an acquire has.
const POLLS: u32 = 12;

async fn t45_an_acquire_dropped_at_any_poll_leaves_nothing(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (locker, other) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    let driver = driver(node.address()).await?;
    let mut whole = 0;
    for round in 0..RACES {
        let polls = round % POLLS;
        if let Some(guard) = drop_after_polls(locker.acquire("a"), polls).await {
            whole += 1;
            drop(guard?);
        }
        let held = soon("it is free again", other.acquire("a")).await??;
        // It waits, and is polled less often than the later rounds need.
        let wait = locker.acquire("a").wait(Duration::from_millis(50));
        drop_after_polls(wait, polls).await;
        held.release().await?;
    }
    assert!((1..RACES).contains(&whole), "{whole} were not dropped");
    until_queue(&driver, "a", 0).await
}

/// So slow that each phase of an acquire takes some of the drops.
async fn slow(node: &Node) -> Outcome<(Proxy, dlock::Locker)> {
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), LONG).await?;
    take(&locker, "a").await?.release().await?;
    for direction in [Direction::ToServer, Direction::ToClient] {
        proxy.set(direction, Fault::Delay(Duration::from_millis(3)));
    }
    Ok((proxy, locker))
}

async fn t45_an_acquire_dropped_at_any_time_leaves_nothing(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (_proxy, locker) = slow(&node).await?;
    let driver = driver(node.address()).await?;
    for round in 0..RACES {
        let after = Duration::from_micros(u64::from(round) * 400);
        drop(tokio::time::timeout(after, locker.acquire("a")).await);
        until_queue(&driver, "a", 0).await?;
    }
    locker.shutdown(SOON).await?;
    until_queue(&driver, "a", 0).await
}

async fn t45_a_wait_dropped_at_any_time_leaves_nothing(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (_proxy, locker) = slow(&node).await?;
    let other = connect(node.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    for round in 0..RACES {
        // What was dropped before its node was made makes it, and deletes it.
        let held = soon("it is free again", other.acquire("a")).await??;
        let after = Duration::from_micros(u64::from(round) * 600);
        let waited = tokio::time::timeout(after, locker.acquire("a")).await;
        assert!(waited.is_err(), "granted beside a holder");
        until_queue(&driver, "a", 1).await?;
        held.release().await?;
        until_queue(&driver, "a", 0).await?;
    }
    Ok(())
}

async fn t45_an_acquire_dropped_while_disconnected_leaves_nothing(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    take(&locker, "a").await?.release().await?;
    for _ in 0..5 {
        // The server has it, and the client will not know.
        proxy.set(Direction::ToClient, Fault::Hold);
        let acquired = tokio::time::timeout(Duration::from_millis(200), locker.acquire("a")).await;
        assert!(acquired.is_err());
        until_queue(&driver, "a", 1).await?;
        proxy.set(Direction::ToClient, Fault::None);
        until_queue(&driver, "a", 0).await?;
    }
    Ok(())
}

async fn t46_a_wait_that_is_given_up_leaves_no_watch(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (holder, waiter) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    let held = take(&holder, "a").await?;
    for _ in 0..10 {
        let waiting = tokio::spawn(waiter.acquire("a").wait_forever().into_future());
        until("a watch", async || Ok(watches(&node).await? == 1)).await?;
        waiting.abort();
        until("no watch", async || Ok(watches(&node).await? == 0)).await?;
    }
    Ok(held.release().await?)
}

async fn t47_a_release_wakes_one_waiter(java: Java) -> Outcome {
    const WAITERS: u64 = 100;
    let node = start(&java).await?;
    let holder = connect(node.address(), LONG).await?;
    let held = take(&holder, "a").await?;
    // A process has one place in the queue.
    let mut waiting = JoinSet::new();
    for _ in 0..WAITERS {
        let waiter = connect(node.address(), LONG).await?;
        waiting.spawn(async move {
            let guard = waiter.acquire("a").wait_forever().await;
            (waiter, guard)
        });
    }
    until("all wait", async || Ok(watches(&node).await? == WAITERS)).await?;
    held.release().await?;
    for left in (0..WAITERS).rev() {
        let (waiter, guard) = soon("the next one", waiting.join_next())
            .await?
            .ok_or("it has no waiter")??;
        // A waiter that was woken in vain would be watching again, or not yet.
        assert_eq!(watches(&node).await?, left, "one was woken, and no other");
        guard?.release().await?;
        drop(waiter);
    }
    Ok(())
}

/// The server's counter cannot be set, but nodes with such numbers can be made by hand: as text, −3 is
/// before −5.
async fn t48_sequence_numbers_beyond_the_largest(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    take(&locker, "a").await?.release().await?;
    let options = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
    let path =
        |number: i32| format!("/dlock/a/_c_00000000-0000-0000-0000-000000000000-lock-{number:010}");
    let (first, _) = driver.create(&path(-5), b"", &options).await?;
    driver.create(&path(-3), b"", &options).await?;
    let holder = locker.inspect("a").await?.ok_or("it has no holder")?;
    let token = holder.token.map(dlock::Token::get);
    assert_eq!(
        token,
        Some(first.czxid.try_into()?),
        "the wrong one is first"
    );
    let waiting = tokio::spawn(locker.acquire("a").wait_forever().into_future());
    until_queue(&driver, "a", 3).await?;
    for number in [-5, -3] {
        until("it waits", async || Ok(watches(&node).await? == 1)).await?;
        assert!(!waiting.is_finished());
        driver.delete(&path(number), None).await?;
    }
    soon("its turn", waiting).await???.release().await?;
    Ok(())
}

async fn t49_directories_that_the_server_removes_are_made_again(java: Java) -> Outcome {
    let node = start_tidy(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    for _ in 0..3 {
        take(&locker, "a").await?.release().await?;
        until("no directory", async || {
            Ok(driver.check_stat("/dlock/a").await?.is_none())
        })
        .await?;
    }
    // Between the making of the directory and of the node.
    let racing = async {
        loop {
            let _ = driver.delete("/dlock/b", None).await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let acquiring = async {
        for _ in 0..RACES {
            locker.acquire("b").await?.release().await?;
        }
        Outcome::Ok(())
    };
    tokio::select! {
        acquired = within(4 * SOON, "all acquires", acquiring) => acquired?,
        () = racing => Ok(()),
    }
}

async fn t49_two_clients_make_one_directory(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    let (one, two) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    for round in 0..RACES {
        let name = format!("lock-{round}");
        let (first, second) = tokio::join!(one.try_acquire(&name), two.try_acquire(&name));
        let (first, second) = (first?, second?);
        assert!(first.is_none() || second.is_none(), "held twice");
        drop((first, second));
        until("it is free", async || {
            Ok(queue(&driver, &name).await?.is_empty())
        })
        .await?;
    }
    Ok(())
}
