//! Users whose ACL keeps something from them: without channels they lose wake-ups, not locks.

use std::time::Duration;

use dlock::ErrorKind;
use dlock_servers::Program;
use tokio::task::JoinSet;

use crate::support::{
    COUNTER, Outcome, WOKEN, calls, cases, connect, connect_as_user, refused, soon, start, take,
    until, until_clean, until_listeners, until_marked, within,
};

cases![
    k04_a_user_who_may_not_publish_releases,
    k04_an_acquire_that_is_denied_in_its_middle_leaves_no_lock,
    k06_a_user_without_permission_to_subscribe_is_denied,
    k13_a_refused_subscription_harms_no_other,
    k13_subscriptions_of_one_moment_are_refused_alone,
    k03_a_renewal_that_may_not_read_is_no_loss,
    t14_an_acquire_that_may_not_read_the_role_is_denied,
    a_user_without_permission_for_a_database_is_denied,
];

async fn k04_a_user_who_may_not_publish_releases(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let holder = connect_as_user(&node, &["resetchannels"]).await?;
    let other = connect(node.address(), "").await?;
    let ttl = Duration::from_secs(4);
    let held = holder.acquire("a").ttl(ttl).no_renewal().await?;
    let waiter = tokio::spawn(other.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    until_marked(&node, "a").await?;
    held.release().await?;
    // No release is published, so the waiter tries again when the ttl would have ended.
    let most = ttl + other.capabilities().takeover_max;
    let guard = within(most, "the waiter polls", waiter).await???;
    guard.release().await?;
    until_clean(&node).await
}

/// The user may not execute one command any more: the acquires of a batch are denied, or granted and released.
async fn k04_an_acquire_that_is_denied_in_its_middle_leaves_no_lock(program: Program) -> Outcome {
    const NAMES: u32 = 20;
    let node = start(&program, &[]).await?;
    let locker = connect_as_user(&node, &[]).await?;
    let set_rule = async |rule: &str| node.command(&["ACL", "SETUSER", "shop", rule]).await;
    for command in ["evalsha", "get", "time", "set", "info", "pttl", "pexpire"] {
        set_rule(&format!("-{command}")).await?;
        let mut acquires = JoinSet::new();
        for number in 0..NAMES {
            acquires.spawn(
                locker
                    .try_acquire(format!("{command}-{number}"))
                    .into_future(),
            );
        }
        let mut held = Vec::new();
        while let Some(acquired) = acquires.join_next().await {
            match acquired? {
                Ok(guard) => held.extend(guard),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Denied, "{command}: {error}");
                }
            }
        }
        set_rule(&format!("+{command}")).await?;
        for guard in held {
            guard.release().await?;
        }
        until_clean(&node).await?;
    }
    Ok(())
}

/// Nothing is known of the lock then, so it is held until its deadline, and longer if the permission comes back.
async fn k03_a_renewal_that_may_not_read_is_no_loss(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect_as_user(&node, &[]).await?;
    let held = take(&locker, "a").await?;
    for command in ["get", "pexpire"] {
        node.command(&["ACL", "SETUSER", "shop", &format!("-{command}")])
            .await?;
        let error = refused(held.renew().await)?;
        assert_eq!(error.kind(), ErrorKind::Denied, "{command}: {error}");
        assert!(held.is_held(), "{command}");
        node.command(&["ACL", "SETUSER", "shop", &format!("+{command}")])
            .await?;
        held.renew().await?;
    }
    held.release().await?;
    until_clean(&node).await
}

/// The server may have been a replica in between (K1). Only right after a grant it was none.
async fn t14_an_acquire_that_may_not_read_the_role_is_denied(program: Program) -> Outcome {
    const TRIES: usize = 20;
    let node = start(&program, &[]).await?;
    let locker = connect_as_user(&node, &[]).await?;
    take(&locker, "a").await?.release().await?;
    node.command(&["ACL", "SETUSER", "shop", "-info"]).await?;
    until("its last grant is no proof any more", async || {
        Ok(locker.try_acquire("a").await.is_err())
    })
    .await?;
    let ahead = "+8000000000000000";
    for counter in [None, Some(ahead)] {
        if let Some(counter) = counter {
            node.command(&["SET", COUNTER, counter]).await?;
        }
        for _ in 0..TRIES {
            let error = refused(locker.try_acquire("a").await)?;
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        }
    }
    let counter = node.command(&["GET", COUNTER]).await?;
    assert_eq!(counter.text()?, ahead);
    node.command(&["ACL", "SETUSER", "shop", "+info"]).await?;
    take(&locker, "a").await?.release().await?;
    until_clean(&node).await
}

async fn k06_a_user_without_permission_to_subscribe_is_denied(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect_as_user(&node, &["resetchannels"]).await?;
    let holder = connect(node.address(), "").await?;
    // An acquire that need not wait does not subscribe.
    locker.acquire("a").await?.release().await?;
    let held = take(&holder, "a").await?;
    let error = refused(soon("an answer", locker.acquire("a")).await?)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("extend its ACL"), "{error}");
    held.release().await?;
    until_clean(&node).await
}

async fn k13_a_refused_subscription_harms_no_other(program: Program) -> Outcome {
    const OTHERS: u32 = 20;
    let node = start(&program, &[]).await?;
    let rules = ["resetchannels", "&{dlock:ok-*"];
    let locker = connect_as_user(&node, &rules).await?;
    let holder = connect(node.address(), "").await?;
    let refused_to = take(&holder, "no").await?;
    let mut waits = Vec::new();
    for number in 0..OTHERS {
        let name = format!("ok-{number}");
        let held = take(&holder, &name).await?;
        let waiter = tokio::spawn(locker.acquire(name.as_str()).into_future());
        until_listeners(&node, &name, 1).await?;
        waits.push((held, waiter));
    }
    let before = calls(&node, "subscribe").await?;
    for _ in 0..10 {
        let error = refused(locker.acquire("no").await)?;
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    }
    // Not even refused ones count.
    assert_eq!(
        calls(&node, "subscribe").await?,
        before,
        "others subscribed again"
    );
    refused_to.release().await?;
    for (held, waiter) in waits {
        held.release().await?;
        let guard = within(WOKEN, "it is woken", waiter).await???;
        guard.release().await?;
    }
    until_clean(&node).await
}

/// Subscriptions of many waiters are sent together.
async fn k13_subscriptions_of_one_moment_are_refused_alone(program: Program) -> Outcome {
    const NAMES: u32 = 50;
    let node = start(&program, &[]).await?;
    let rules = ["resetchannels", "&{dlock:ok-*"];
    let locker = connect_as_user(&node, &rules).await?;
    let holder = connect(node.address(), "").await?;
    let mut held = Vec::new();
    for number in 0..NAMES {
        for name in [format!("ok-{number}"), format!("no-{number}")] {
            held.push(take(&holder, &name).await?);
        }
    }
    // The first one makes the connection, and others come in the meantime.
    let waits: Vec<_> = held
        .iter()
        .map(|held| tokio::spawn(locker.acquire(held.name().as_str()).into_future()))
        .collect();
    for (held, waiter) in held.into_iter().zip(waits) {
        if held.name().as_str().starts_with("no") {
            assert_eq!(refused(waiter.await?)?.kind(), ErrorKind::Denied);
            held.release().await?;
        } else {
            until_listeners(&node, held.name().as_str(), 1).await?;
            held.release().await?;
            let guard = within(WOKEN, "it is woken", waiter).await???;
            guard.release().await?;
        }
    }
    until_clean(&node).await
}

async fn a_user_without_permission_for_a_database_is_denied(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    // It logs in to the first one.
    drop(connect_as_user(&node, &["-select"]).await?);
    let url = format!("redis://shop:secret@{}/1?restart_guard=0s", node.address());
    let error = refused(dlock::connect(url.as_str()).await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(error.to_string().contains("extend its ACL"), "{error}");
    Ok(())
}
