//! Attempts that are undone late.

use std::time::Duration;

use dlock_servers::etcd::Flavour;
use dlock_verify::proxy::{Direction, Fault, Proxy};

use crate::support::{
    Outcome, cases, connect, queue_keys, soon, start, take, until, until_queue_length,
};

cases![k04_an_undoing_that_is_late_leaves_the_next_place_alone];

/// So late what the server says arrives that the test can hold what the client says to it.
const LATE: Duration = Duration::from_secs(1);

/// A read has more bytes; other frames of a connection have far fewer.
const LOOK_BYTES: u64 = 100;

/// Making a place has more, and deleting one has less.
const PLACE_BYTES: u64 = 400;

async fn k04_an_undoing_that_is_late_leaves_the_next_place_alone(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let other = connect(node.address(), "").await?;
    let waiter = connect(proxy.address(), "timeout=10s").await?;
    let guard = take(&other, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_queue_length(&node, "a", 2).await?;
    until("its watches", async || {
        let watches = node.metric("etcd_debugging_mvcc_watcher_total").await?;
        Ok(watches > 1.5)
    })
    .await?;
    let gone = queue_keys(&node, "a").await?[1].clone();
    let connection = proxy.connection(0).await;
    let asked = connection.passed(Direction::ToServer);
    connection.set(Direction::ToClient, Fault::Delay(LATE));
    // It reads, and deletes its key; the deletion does not arrive.
    node.delete(&gone.key).await?;
    soon(
        "its look",
        connection.until_passed(Direction::ToServer, asked + LOOK_BYTES),
    )
    .await?;
    proxy.set(Direction::ToServer, Fault::Hold);
    let held = connection.seen(Direction::ToServer);
    connection.set(Direction::ToClient, Fault::None);
    // The undo goes on in the background, and the waiter queues again.
    soon(
        "the next place",
        connection.until_seen(Direction::ToServer, held + PLACE_BYTES),
    )
    .await?;
    proxy.set(Direction::ToServer, Fault::None);
    until_queue_length(&node, "a", 2).await?;
    let next = queue_keys(&node, "a").await?[1].clone();
    assert_ne!(next.key, gone.key);
    // Also what comes later is about the first place.
    take(&waiter, "b").await?.release().await?;
    guard.release().await?;
    let granted = soon("its turn", waiting).await???;
    assert_eq!(granted.token().get(), next.create_revision);
    assert!(granted.is_held());
    granted.renew().await?;
    Ok(granted.release().await?)
}
