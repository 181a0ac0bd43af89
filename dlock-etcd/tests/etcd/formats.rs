//! `format=python-etcd3`: one key for each lock, which other clients write, too. The cases with the real client are in
//! `python_etcd3.rs`.

use dlock::{ErrorKind, LostCause, Order};
use dlock_servers::etcd::{Flavour, Node};

use crate::support::{Outcome, PYTHON, cases, connect, refused, soon, start, take, until};

cases![
    a_lock_of_python_etcd3_is_one_key,
    two_formats_of_etcd_on_one_prefix_are_refused,
    a_format_of_etcd_is_one_of_two,
    a_name_of_python_etcd3_that_is_a_key_of_ours_is_refused,
    a_client_that_overwrites_the_key_is_reported_at_once,
    a_client_that_deletes_the_key_is_reported_at_once,
    a_waiter_without_a_queue_is_woken_by_each_release,
];

const KEY: &str = "/locks/seat/14C";

const NAME: &str = "seat/14C";

/// The value of the lock's key, if there is one.
async fn value(node: &Node) -> Outcome<Option<String>> {
    Ok(node.keys(KEY).await?.pop().map(|entry| entry.value))
}

/// A change of this test raises the version, which it contains.
async fn a_lock_of_python_etcd3_is_one_key(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), PYTHON).await?;
    assert_eq!(locker.capabilities().order, Order::Unordered);
    let record = node.keys("").await?;
    assert_eq!(record.len(), 1, "{record:?}");
    assert_eq!(record[0].key, "/locks/%dlock-layout");
    assert_eq!(record[0].value, "1-python-etcd3");
    let held = take(&locker, NAME).await?;
    let all = node.keys("").await?;
    assert_eq!(all.len(), 2, "{all:?}");
    let own = all.iter().find(|entry| entry.key == KEY).ok_or("no key")?;
    assert_eq!(held.token().get(), own.create_revision);
    let holder = locker.inspect(NAME).await?.ok_or("it is free")?;
    let attempt = holder.attempt.ok_or("who?")?.to_string();
    assert!(own.value.starts_with(&format!("{attempt} ")), "{own:?}");
    // A name that this one begins with, and one that begins with it, are other locks.
    take(&locker, "seat").await?.release().await?;
    take(&locker, "seat/14C2").await?.release().await?;
    held.renew().await?;
    held.release().await?;
    assert_eq!(node.keys("").await?, record);
    Ok(())
}

async fn two_formats_of_etcd_on_one_prefix_are_refused(flavour: Flavour) -> Outcome {
    for (first, second) in [
        ("concurrency", "python-etcd3"),
        ("python-etcd3", "concurrency"),
    ] {
        let node = start(flavour).await?;
        let keys = |format| format!("prefix=app/&format={format}");
        let locker = connect(node.address(), &keys(first)).await?;
        let held = take(&locker, NAME).await?;
        let error = refused(connect(node.address(), &keys(second)).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
        let error = error.to_string();
        assert!(error.contains("format=python-etcd3"), "{error}");
        assert!(error.contains("the default format"), "{error}");
        let again = connect(node.address(), &keys(first)).await?;
        assert!(again.try_acquire(NAME).await?.is_none());
        held.release().await?;
    }
    Ok(())
}

async fn a_format_of_etcd_is_one_of_two(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let error = refused(connect(node.address(), "format=python").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    let error = error.to_string();
    assert!(error.contains("concurrency and python-etcd3"), "{error}");
    Ok(())
}

async fn a_name_of_python_etcd3_that_is_a_key_of_ours_is_refused(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), PYTHON).await?;
    for name in ["%dlock-layout", "%dlock-undone/1/a", "dlock/%dlock-layout"] {
        for error in [
            refused(locker.acquire(name).await)?,
            refused(locker.try_acquire(name).await)?,
            refused(locker.inspect(name).await)?,
        ] {
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        }
    }
    Ok(())
}

async fn a_client_that_overwrites_the_key_is_reported_at_once(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), PYTHON).await?;
    let held = take(&locker, NAME).await?;
    node.put(KEY, "theirs").await?;
    assert_eq!(soon("the loss", held.lost()).await?, LostCause::Taken);
    assert!(held.release().await.is_err());
    assert_eq!(value(&node).await?.as_deref(), Some("theirs"));
    assert!(locker.try_acquire(NAME).await?.is_none());
    // A renewal finds it, too, when it comes before the watch begins.
    node.delete(KEY).await?;
    let held = take(&locker, NAME).await?;
    node.put(KEY, "theirs").await?;
    assert!(held.renew().await.is_err());
    assert_eq!(soon("the loss", held.lost()).await?, LostCause::Taken);
    Ok(())
}

async fn a_client_that_deletes_the_key_is_reported_at_once(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), PYTHON).await?;
    let held = take(&locker, NAME).await?;
    node.delete(KEY).await?;
    assert_eq!(soon("the loss", held.lost()).await?, LostCause::Removed);
    Ok(())
}

async fn a_waiter_without_a_queue_is_woken_by_each_release(flavour: Flavour) -> Outcome {
    const WAITERS: u8 = 5;
    let node = start(flavour).await?;
    let first = connect(node.address(), PYTHON).await?;
    let held = take(&first, NAME).await?;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..WAITERS {
        let locker = connect(node.address(), PYTHON).await?;
        waiting.spawn(async move {
            let guard = locker.acquire(NAME).await?;
            let token = guard.token();
            guard.release().await?;
            Ok::<_, dlock::Error>(token)
        });
    }
    // All of them watch, and the holder.
    until("all wait", async || {
        let watchers = node.metric("etcd_debugging_mvcc_watcher_total").await?;
        Ok(watchers > f64::from(WAITERS) + 0.5)
    })
    .await?;
    let mut last = held.token();
    held.release().await?;
    // Each is woken by the release before: within less than a read without an event would take for one.
    while let Some(ended) = soon("each has it", waiting.join_next()).await? {
        let token = ended??;
        assert!(token > last, "tokens grow");
        last = token;
    }
    Ok(())
}
