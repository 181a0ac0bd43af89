//! Locks that are acquired again without a list (`sequence_cache.rs`): exclusion stays.

use dlock::Locker;
use dlock_servers::zk::Java;
use dlock_verify::proxy::{Direction, End, Fault, Proxy};
use zookeeper_client::Client;

use crate::support::{
    LONG, Outcome, cases, connect, driver, packets, queue, soon, start, take, until, until_queue,
};

cases![
    k01_a_name_taken_again_costs_two_requests,
    k01_another_client_came_in_between,
    k01_another_client_waits_in_between,
    t49_a_recreated_directory_counts_as_far,
    t49_a_recreated_directory_behind_a_lost_connection,
    k13_many_cached_names_outlive_a_lost_connection,
];

/// After so many takes in a row the numbers speak for themselves.
const ROWS: u32 = 3;

async fn in_a_row(locker: &Locker, times: u32) -> Outcome {
    for _ in 0..times {
        take(locker, "a").await?.release().await?;
    }
    Ok(())
}

async fn k01_a_name_taken_again_costs_two_requests(java: Java) -> Outcome {
    const TIMES: u32 = 200;
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    in_a_row(&locker, ROWS).await?;
    let before = packets(&node).await?;
    in_a_row(&locker, TIMES).await?;
    let spent = packets(&node).await? - before;
    // And a heartbeat, a ping, and the questions of this test.
    let most = u64::from(2 * TIMES + 20);
    assert!(spent <= most, "{spent} packets");
    Ok(())
}

async fn k01_another_client_came_in_between(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (locker, other) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    let mut last = None;
    for _ in 0..ROWS {
        in_a_row(&locker, ROWS).await?;
        let held = take(&other, "a").await?;
        let token = held.token();
        assert!(last < Some(token));
        assert!(locker.try_acquire("a").await?.is_none(), "two hold it");
        held.release().await?;
        let next = take(&locker, "a").await?;
        assert!(next.token() > token);
        assert!(other.try_acquire("a").await?.is_none(), "two hold it");
        last = Some(next.token());
        next.release().await?;
    }
    Ok(())
}

/// A waiter gets the next number while the lock is held.
async fn k01_another_client_waits_in_between(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (locker, other) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    let driver = driver(node.address()).await?;
    in_a_row(&locker, ROWS).await?;
    let held = take(&locker, "a").await?;
    let waiting = tokio::spawn(other.acquire("a").wait_forever().into_future());
    until_queue(&driver, "a", 2).await?;
    held.release().await?;
    let next = soon("its turn", waiting).await???;
    assert!(locker.try_acquire("a").await?.is_none(), "two hold it");
    Ok(next.release().await?)
}

/// Removes the directory, and holds the lock in the next one, whose counter has come as far.
async fn recreated(driver: &Client, other: &Locker) -> Outcome<dlock::Guard> {
    driver.delete("/dlock/a", None).await?;
    in_a_row(other, ROWS - 1).await?;
    let held = take(other, "a").await?;
    let last = format!("-lock-{:010}", ROWS - 1);
    assert!(queue(driver, "a").await?[0].ends_with(&last));
    Ok(held)
}

async fn t49_a_recreated_directory_counts_as_far(java: Java) -> Outcome {
    let node = start(&java).await?;
    let (locker, other) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    in_a_row(&locker, ROWS).await?;
    let held = recreated(&driver(node.address()).await?, &other).await?;
    assert!(locker.try_acquire("a").await?.is_none(), "two hold it");
    held.release().await?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn t49_a_recreated_directory_behind_a_lost_connection(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let (locker, other) = (
        connect(proxy.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    in_a_row(&locker, ROWS).await?;
    for direction in [Direction::ToClient, Direction::ToServer] {
        proxy.set(direction, Fault::Hold);
    }
    let held = recreated(&driver(node.address()).await?, &other).await?;
    for direction in [Direction::ToClient, Direction::ToServer] {
        proxy.set(direction, Fault::None);
    }
    proxy.end(End::Reset);
    let tried = until_answered(&locker).await?;
    assert!(tried.is_none(), "two hold it");
    held.release().await?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

/// The driver does not come back when its watches need two requests.
async fn k13_many_cached_names_outlive_a_lost_connection(java: Java) -> Outcome {
    const NAMES: usize = 800;
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), LONG).await?;
    for number in 0..NAMES {
        for _ in 0..ROWS {
            take(&locker, &format!("{number:0>200}"))
                .await?
                .release()
                .await?;
        }
    }
    proxy.end(End::Reset);
    until_answered(&locker)
        .await?
        .ok_or("it is taken")?
        .release()
        .await?;
    Ok(())
}

/// A try over the next connection.
async fn until_answered(locker: &Locker) -> Outcome<Option<dlock::Guard>> {
    let mut tried = None;
    until("a connection", async || {
        tried = locker.try_acquire("a").await.ok();
        Ok(tried.is_some())
    })
    .await?;
    tried.ok_or_else(|| "no answer".into())
}
