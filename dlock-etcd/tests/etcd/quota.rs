//! A server that is full.

use std::time::Duration;

use dlock::{Effect, ErrorKind};
use dlock_servers::etcd::{Flavour, Login, Node};
use dlock_verify::proxy::{Direction, End, Fault, Proxy};

use crate::{
    batches::{names, release_all, take_all, try_all},
    support::{Outcome, cases, connect, keys, refused, soon, start_with, take, until_queue_length},
};

cases![
    t34_a_full_server_says_so_and_holders_go_on,
    t34_a_full_server_frees_a_key_with_an_unknown_effect,
    t34_a_full_server_frees_what_many_release_while_others_try,
];

/// The smallest quota that a server takes.
const QUOTA: [&str; 1] = ["--quota-backend-bytes=2097152"];

async fn fill(node: &Node) {
    let much = "x".repeat(100_000);
    for at in 0..100 {
        if node.put(&format!("fill-{at}"), &much).await.is_err() {
            break;
        }
    }
}

async fn t34_a_full_server_says_so_and_holders_go_on(flavour: Flavour) -> Outcome {
    let node = start_with(flavour, Login::Open, &QUOTA).await?;
    let locker = connect(node.address(), "ttl=3s").await?;
    let guard = take(&locker, "a").await?;
    fill(&node).await;
    let error = refused(locker.try_acquire("b").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("no space left"), "{error}");
    tokio::time::sleep(Duration::from_secs(4)).await;
    guard.renew().await?;
    Ok(guard.release().await?)
}

async fn t34_a_full_server_frees_a_key_with_an_unknown_effect(flavour: Flavour) -> Outcome {
    let node = start_with(flavour, Login::Open, &QUOTA).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "").await?;
    take(&locker, "warm").await?.release().await?;
    let connections = proxy.connections();
    for connection in &connections {
        connection.set(Direction::ToClient, Fault::Hold);
    }
    let waiting = tokio::spawn(locker.acquire("a").into_future());
    until_queue_length(&node, "a", 1).await?;
    proxy.end(End::Reset);
    let guard = soon("its request is repeated", waiting).await???;
    fill(&node).await;
    guard.release().await?;
    until_queue_length(&node, "a", 0).await
}

async fn t34_a_full_server_frees_what_many_release_while_others_try(flavour: Flavour) -> Outcome {
    let node = start_with(flavour, Login::Open, &QUOTA).await?;
    let locker = connect(node.address(), "").await?;
    let guards = take_all(&locker, &names("many")).await?;
    fill(&node).await;
    let tries = try_all(&locker, names("more"));
    let (released, tried) = tokio::join!(release_all(guards), tries.join_all());
    released?;
    // It does not weigh what is requested together: it may give some, and refuses the others.
    for tried in tried {
        match tried {
            Ok(guard) => guard.ok_or("it is free")?.release().await?,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
                assert_eq!(error.effect(), Effect::None, "{error}");
            }
        }
    }
    let mut left = keys(&node).await?;
    left.retain(|entry| !entry.key.starts_with("fill-"));
    assert_eq!(left, []);
    Ok(())
}
