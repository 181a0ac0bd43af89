//! The version of the layout in the store, and the stored keys, byte for byte.

use dlock::{ErrorKind, LockName};
use dlock_servers::etcd::{Flavour, Login, Node};
use serde_json::json;

use crate::support::{
    LAYOUT, Outcome, cases, connect, keys, queue_keys, refused, soon, start, start_with, take,
    until,
};

cases![
    the_first_contact_says_which_layout,
    an_older_and_a_newer_layout_are_refused_with_both_numbers,
    further_words_are_ignored,
    locks_from_before_the_record_go_on,
    each_prefix_has_its_own,
    with_an_empty_prefix_it_blocks_no_queue,
    a_user_without_permission_to_write_it_is_not_refused,
    a_change_of_keys_or_values_raises_the_version,
];

async fn the_first_contact_says_which_layout(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (one, other) = tokio::join!(connect(node.address(), ""), connect(node.address(), ""));
    drop((one?, other?));
    let record = node.keys("").await?;
    assert_eq!(record.len(), 1, "{record:?}");
    assert_eq!((&*record[0].key, &*record[0].value), (LAYOUT, "1"));
    assert_eq!(record[0].lease, 0, "it stays");
    connect(node.address(), "").await?;
    assert_eq!(node.keys("").await?, record, "it is written once");
    Ok(())
}

async fn an_older_and_a_newer_layout_are_refused_with_both_numbers(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    for (found, says) in [
        ("2", "upgrade this dlock"),
        ("2 4711", "upgrade this dlock"),
        ("0", "upgrade the other programs"),
        ("", "the layout version is"),
        ("x1", "the layout version is"),
    ] {
        node.put(LAYOUT, found).await?;
        let error = refused(connect(node.address(), "").await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
        let error = error.to_string();
        assert!(error.contains(says), "{error}");
        let found = found.split(' ').next().unwrap_or_default();
        assert!(error.contains(found) && error.contains('1'), "{error}");
    }
    Ok(())
}

async fn further_words_are_ignored(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.put(LAYOUT, "1 and what a later release says").await?;
    let locker = connect(node.address(), "").await?;
    take(&locker, "a").await?.release().await?;
    let left = node.keys("").await?;
    assert_eq!(left[0].value, "1 and what a later release says");
    Ok(())
}

/// A release that knew no record has the same keys and values.
async fn locks_from_before_the_record_go_on(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let older = connect(node.address(), "").await?;
    let guard = take(&older, "a").await?;
    node.delete(LAYOUT).await?;
    let newer = connect(node.address(), "").await?;
    assert_eq!(node.keys(LAYOUT).await?.len(), 1);
    assert!(newer.try_acquire("a").await?.is_none());
    let waiting = tokio::spawn(newer.acquire("a").into_future());
    guard.renew().await?;
    guard.release().await?;
    soon("its turn", waiting).await???.release().await?;
    Ok(())
}

async fn each_prefix_has_its_own(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.put(LAYOUT, "2").await?;
    refused(connect(node.address(), "").await)?;
    let locker = connect(node.address(), "prefix=app").await?;
    take(&locker, "a").await?.release().await?;
    assert_eq!(node.keys("app%dlock-layout").await?.len(), 1);
    Ok(())
}

async fn with_an_empty_prefix_it_blocks_no_queue(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "prefix=").await?;
    for name in ["dlock-layout", "a"] {
        take(&locker, name).await?.release().await?;
    }
    // The names that would have its key in their queues.
    for name in ["%dlock-layout", "%dlock", "%"] {
        let error = refused(locker.try_acquire(name).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    let left = node.keys("").await?;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].key, "%dlock-layout");
    Ok(())
}

/// A user `app` who may read all and write what is under `dlock/a`.
async fn add_user(node: &Node) -> Outcome {
    let all = json!({"permType": "READ", "key": "AA==", "range_end": "AA=="});
    // dlock/a to dlock/b
    let own = json!({"permType": "READWRITE", "key": "ZGxvY2svYQ==", "range_end": "ZGxvY2svYg=="});
    for (path, question) in [
        ("/v3/auth/user/add", json!({"name": "app", "password": "p"})),
        ("/v3/auth/role/add", json!({"name": "locks"})),
        ("/v3/auth/role/grant", json!({"name": "locks", "perm": all})),
        ("/v3/auth/role/grant", json!({"name": "locks", "perm": own})),
        (
            "/v3/auth/user/grant",
            json!({"user": "app", "role": "locks"}),
        ),
    ] {
        node.call(path, &question).await?;
    }
    Ok(())
}

async fn a_user_without_permission_to_write_it_is_not_refused(flavour: Flavour) -> Outcome {
    let node = start_with(flavour, Login::Root("secret".to_owned()), &[]).await?;
    add_user(&node).await?;
    let url = format!("etcd://app:p@{}?ttl=30s", node.address());
    let locker = dlock::connect(url.as_str()).await?;
    take(&locker, "a").await?.release().await?;
    assert_eq!(node.keys(LAYOUT).await?, []);
    // But a client that finds another one there is.
    node.put(LAYOUT, "2").await?;
    let error = refused(dlock::connect(url.as_str()).await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    Ok(())
}

/// A change of this test raises the version, which it contains.
async fn a_change_of_keys_or_values_raises_the_version(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "").await?;
    assert_eq!(node.keys(LAYOUT).await?[0].value, "1");
    let name = LockName::new("a/b 100% \u{e9}")?;
    let guard = locker.acquire(&name).note("checkout 77").await?;
    let held = keys(&node).await?;
    assert_eq!(held.len(), 1, "{held:?}");
    let (queue, own) = held[0].key.split_at("dlock/a%2Fb 100%25 %C3%A9/".len());
    assert_eq!(queue, "dlock/a%2Fb 100%25 %C3%A9/");
    assert!(is_number(own), "{own}");
    assert_eq!(guard.token().get(), held[0].create_revision);
    let holder = locker.inspect(&name).await?.ok_or("it is free")?;
    let since = holder.since_unix_micros.ok_or("since when?")?;
    let (pid, host) = (std::process::id(), holder.host.ok_or("where?")?);
    let attempt = holder.attempt.ok_or("who?")?.to_string();
    assert!(is_number(&attempt), "{attempt}");
    let value = format!("{attempt} {since} {pid}@{host} checkout 77");
    assert_eq!(held[0].value, value);
    guard.release().await?;
    assert_eq!(queue_keys(&node, "a").await?, []);
    until("nothing is left", async || {
        Ok(keys(&node).await?.is_empty())
    })
    .await
}

/// 32 hexadecimal digits.
fn is_number(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == 32 && text.bytes().all(is_digit)
}
