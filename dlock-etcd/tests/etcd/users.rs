//! Logins: wrong, missing, limited, and tokens that expire.

use std::{net::SocketAddr, time::Duration};

use dlock::{ErrorKind, Locker};
use dlock_servers::etcd::{Flavour, Login, Node};
use serde_json::json;

use crate::support::{
    Outcome, cases, refused, soon, start, start_with, take, until_queue_length, within,
};

cases![
    a_wrong_password_says_so,
    a_missing_password_says_so,
    a_password_that_is_not_required_says_so,
    a_user_with_permission_for_the_prefix_only_can_lock,
    a_user_without_permission_for_the_prefix_is_refused,
    t32_expired_tokens_are_renewed,
];

async fn start_closed(flavour: Flavour, arguments: &[&str]) -> Outcome<Node> {
    start_with(flavour, Login::Root("secret".to_owned()), arguments).await
}

async fn connect(address: SocketAddr, login: &str, keys: &str) -> dlock::Result<Locker> {
    let url = format!("etcd://{login}@{address}?ttl=120s{keys}");
    dlock::connect(url.as_str()).await
}

async fn a_wrong_password_says_so(flavour: Flavour) -> Outcome {
    let node = start_closed(flavour, &[]).await?;
    for login in ["root:wrong", "unknown:secret"] {
        let error = refused(connect(node.address(), login, "").await)?;
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(
            error.to_string().contains("wrong user or password"),
            "{error}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    Ok(())
}

async fn a_missing_password_says_so(flavour: Flavour) -> Outcome {
    let node = start_closed(flavour, &[]).await?;
    let url = format!("etcd://{}", node.address());
    let error = refused(dlock::connect(url.as_str()).await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(
        error.to_string().contains("give them in the URL"),
        "{error}"
    );
    Ok(())
}

async fn a_password_that_is_not_required_says_so(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let error = refused(connect(node.address(), "root:secret", "").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("has no logins"), "{error}");
    Ok(())
}

/// A user `app` who may read and write what begins with `prefix`.
pub(crate) async fn add_user(node: &Node, prefix: [&str; 2]) -> Outcome {
    let [key, range_end] = prefix;
    let permission = json!({"permType": "READWRITE", "key": key, "range_end": range_end});
    for (path, question) in [
        ("/v3/auth/user/add", json!({"name": "app", "password": "p"})),
        ("/v3/auth/role/add", json!({"name": "locks"})),
        (
            "/v3/auth/role/grant",
            json!({"name": "locks", "perm": permission}),
        ),
        (
            "/v3/auth/user/grant",
            json!({"user": "app", "role": "locks"}),
        ),
    ] {
        node.call(path, &question).await?;
    }
    Ok(())
}

async fn a_user_with_permission_for_the_prefix_only_can_lock(flavour: Flavour) -> Outcome {
    let node = start_closed(flavour, &[]).await?;
    // dlock/ to dlock0
    add_user(&node, ["ZGxvY2sv", "ZGxvY2sw"]).await?;
    let locker = connect(node.address(), "app:p", "").await?;
    let guard = take(&locker, "a").await?;
    let waiting = tokio::spawn(
        connect(node.address(), "app:p", "")
            .await?
            .acquire("a")
            .into_future(),
    );
    until_queue_length(&node, "a", 2).await?;
    guard.renew().await?;
    guard.release().await?;
    soon("its turn", waiting).await???.release().await?;
    Ok(())
}

async fn a_user_without_permission_for_the_prefix_is_refused(flavour: Flavour) -> Outcome {
    let node = start_closed(flavour, &[]).await?;
    // other/ to other0
    add_user(&node, ["b3RoZXIv", "b3RoZXIw"]).await?;
    let error = refused(connect(node.address(), "app:p", "").await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(
        error.to_string().contains("grant one of its roles"),
        "{error}"
    );
    let locker = connect(node.address(), "app:p", "&prefix=other/").await?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn t32_expired_tokens_are_renewed(flavour: Flavour) -> Outcome {
    let node = start_closed(flavour, &["--auth-token-ttl=1"]).await?;
    let expired = Duration::from_secs(4);
    let holder = connect(node.address(), "root:secret", "").await?;
    let waiter = connect(node.address(), "root:secret", "").await?;
    let guard = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_queue_length(&node, "a", 2).await?;
    tokio::time::sleep(expired).await;
    guard.renew().await?;
    tokio::time::sleep(expired).await;
    guard.release().await?;
    // By its watch, which is older than the token.
    let next = within(Duration::from_secs(8), "its turn, by an old watch", waiting).await???;
    tokio::time::sleep(expired).await;
    next.release().await?;
    // A new watch on an old stream.
    let held = take(&holder, "a").await?;
    let waiting = tokio::spawn(waiter.acquire("a").into_future());
    until_queue_length(&node, "a", 2).await?;
    held.release().await?;
    within(Duration::from_secs(8), "its turn", waiting)
        .await???
        .release()
        .await?;
    Ok(())
}
