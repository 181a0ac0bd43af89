//! Attempts that are undone late.

use std::time::Duration;

use dlock_servers::etcd::Flavour;
use dlock_verify::proxy::{Direction, Fault, Proxy};

use crate::support::{
    Outcome, cases, connect, queue_keys, soon, start, take, until, until_queue_length,
};

cases![k04_a_late_undo_leaves_the_next_key_alone];

/// The delay of replies: long enough for the test to hold the next request.
const LATE: Duration = Duration::from_secs(1);

/// A read has more bytes; other frames of a connection have far fewer.
const READ_BYTES: u64 = 100;

/// Creating a key has more bytes, and deleting one has fewer.
const CREATE_BYTES: u64 = 400;

async fn k04_a_late_undo_leaves_the_next_key_alone(flavour: Flavour) -> Outcome {
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
    let passed = connection.passed(Direction::ToServer);
    connection.set(Direction::ToClient, Fault::Delay(LATE));
    // It reads, and deletes its key; the deletion does not arrive.
    node.delete(&gone.key).await?;
    soon(
        "its read",
        connection.until_passed(Direction::ToServer, passed + READ_BYTES),
    )
    .await?;
    proxy.set(Direction::ToServer, Fault::Hold);
    let held = connection.seen(Direction::ToServer);
    connection.set(Direction::ToClient, Fault::None);
    // The undo goes on in the background, and the waiter queues again.
    soon(
        "the next key",
        connection.until_seen(Direction::ToServer, held + CREATE_BYTES),
    )
    .await?;
    proxy.set(Direction::ToServer, Fault::None);
    until_queue_length(&node, "a", 2).await?;
    let next = queue_keys(&node, "a").await?[1].clone();
    assert_ne!(next.key, gone.key);
    // The late request is about the first key only.
    take(&waiter, "b").await?.release().await?;
    guard.release().await?;
    let granted = soon("its turn", waiting).await???;
    assert_eq!(granted.token().get(), next.create_revision);
    assert!(granted.is_held());
    granted.renew().await?;
    Ok(granted.release().await?)
}
