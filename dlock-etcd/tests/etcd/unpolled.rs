//! Acquires that are begun and then not polled for long, as in a `select!` with a slow other branch
//! (K6, K13).

use std::{pin::pin, time::Duration};

use dlock::{Error, Guard, Locker};
use dlock_servers::etcd::Flavour;
use dlock_verify::proxy::{End, Proxy};

use crate::support::{
    Outcome, cases, connect, drop_after_polls, poll_times, soon, start, take, until_queue_length,
    within,
};

cases![
    k13_an_unpolled_acquire_blocks_no_other,
    k06_an_unpolled_waiter_is_skipped_and_queues_again,
    k06_an_unpolled_acquire_frees_its_lock,
    k06_an_unpolled_try_frees_its_lock,
];

/// An acquire of a free lock, left after each of its polls, blocks no other for longer than its ttl. It has no
/// lock when it is polled again and another one has it.
const POLLS_TO_A_GRANT: u32 = 10;

/// The shortest ttl; an unpolled waiter loses its queue key after its ttl.
const TTL: Duration = Duration::from_secs(2);

/// That, twice, and a request or two.
const PASSED_OVER: Duration = Duration::from_secs(6);

/// Left while it waits for a connection, a lease, a reply or its turn.
async fn k13_an_unpolled_acquire_blocks_no_other(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    for polls in 1..POLLS_TO_A_GRANT {
        let locker = connect(proxy.address(), "").await?;
        // The next request needs a new connection.
        proxy.end(End::Reset);
        let mut left = pin!(locker.acquire("left").into_future());
        let granted = drop_after_polls(left.as_mut(), polls).await;
        soon("another lock", take(&locker, "b"))
            .await??
            .release()
            .await?;
        let guard = match granted {
            Some(guard) => guard?,
            None => soon("it goes on", left).await??,
        };
        guard.release().await?;
    }
    Ok(())
}

async fn k06_an_unpolled_waiter_is_skipped_and_queues_again(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let holder = connect(node.address(), "").await?;
    let other = connect(node.address(), "").await?;
    let waiter = connect(node.address(), "ttl=2s").await?;
    let guard = take(&holder, "a").await?;
    // It keeps their lease alive.
    let survivor = take(&waiter, "survivor").await?;
    let mut left = pin!(waiter.acquire("a").into_future());
    tokio::select! {
        _ = left.as_mut() => return Err("it is taken".into()),
        queued = until_queue_length(&node, "a", 2) => queued?,
    }
    guard.release().await?;
    let next = within(PASSED_OVER, "the next one", other.acquire("a")).await??;
    until_queue_length(&node, "a", 1).await?;
    tokio::select! {
        _ = left.as_mut() => return Err("it is taken".into()),
        queued = until_queue_length(&node, "a", 2) => queued?,
    }
    next.release().await?;
    soon("its turn", left).await??.release().await?;
    assert!(survivor.is_held());
    Ok(survivor.release().await?)
}

async fn k06_an_unpolled_acquire_frees_its_lock(flavour: Flavour) -> Outcome {
    frees_its_lock(flavour, async |locker, name| locker.acquire(name).await).await
}

async fn k06_an_unpolled_try_frees_its_lock(flavour: Flavour) -> Outcome {
    let attempt = async |locker: &Locker, name: &str| {
        let guard = locker.try_acquire(name).await?;
        guard.ok_or_else(Error::contended)
    };
    frees_its_lock(flavour, attempt).await
}

/// An acquire of a free lock, left after each of its polls, blocks no other for longer than its ttl; and
/// has no lock when it is polled again and another one has it.
async fn frees_its_lock(
    flavour: Flavour,
    acquire: impl AsyncFn(&Locker, &str) -> dlock::Result<Guard>,
) -> Outcome {
    let node = start(flavour).await?;
    let other = connect(node.address(), "").await?;
    let locker = connect(node.address(), "ttl=2s").await?;
    let survivor = take(&locker, "survivor").await?;
    let mut passed_over = 0;
    for polls in 1..POLLS_TO_A_GRANT {
        let name = format!("left after {polls}");
        let mut left = Box::pin(acquire(&locker, &name));
        if let Some(granted) = poll_times(left.as_mut(), polls).await {
            granted?.release().await?;
            continue;
        }
        // Its request may not have come yet.
        tokio::time::sleep(TTL / 10).await;
        passed_over += usize::from(!node.keys(&format!("dlock/{name}/")).await?.is_empty());
        let next = within(PASSED_OVER, &name, other.acquire(name.as_str())).await??;
        let again = tokio::time::timeout(TTL / 2, left.as_mut()).await;
        assert!(!matches!(again, Ok(Ok(_))), "two have {name}");
        next.release().await?;
        if again.is_err() {
            soon("its turn", left).await??.release().await?;
        }
        until_queue_length(&node, &name, 0).await?;
    }
    assert!(passed_over > 0, "it was never left with a key");
    assert!(survivor.is_held());
    Ok(survivor.release().await?)
}
