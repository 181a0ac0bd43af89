//! Real clients of other projects on the same locks, in both directions: `docs/mixed-fleets.md` is made from these.

use std::time::Duration;

use dlock::ErrorKind;
use dlock_servers::{
    Program,
    clients::{Client, Peer},
};
use dlock_verify::support::{hold_and_die, if_client_available};
use libtest_mimic::Trial;

use crate::support::{
    Flavour, Outcome, connect, refused, start, take, until_key_listeners, within,
};

/// The cases with one client.
macro_rules! with_client {
    ($module:ident: $($case:ident),*) => {
        mod $module {
            use super::{$($case),*};

            crate::support::cases![$($case),*];
        }
    };
}

with_client!(redis_py: redis_py_waits_for_dlock, dlock_waits_for_redis_py, redis_py_and_dlock_share_names_with_braces);
with_client!(node_redlock: node_redlock_waits_for_dlock, dlock_waits_for_node_redlock, node_redlock_and_dlock_share_names_with_braces);
with_client!(redsync: redsync_waits_for_dlock, dlock_waits_for_redsync, redsync_and_dlock_share_names_with_braces);

pub(crate) fn trials(flavour: Flavour) -> Vec<Trial> {
    let groups = [
        (Client::RedisPy, redis_py::trials(flavour)),
        (Client::NodeRedlock, node_redlock::trials(flavour)),
        (Client::Redsync, redsync::trials(flavour)),
    ];
    let groups = groups.into_iter();
    groups
        .flat_map(|(client, trials)| if_client_available(client.name(), client.find(), trials))
        .collect()
}

/// The ttl of a holder that dies.
const TTL: Duration = Duration::from_secs(2);

/// A ttl that no case lives to see the end of.
const LONG: Duration = Duration::from_secs(120);

/// A waiter of dlock polls every second, as no other client publishes its releases.
const POLLED: Duration = Duration::from_secs(5);

const PLAIN: &str = "prefix=&format=plain";

async fn redis_py_waits_for_dlock(program: Program) -> Outcome {
    it_waits_for_dlock(program, Client::RedisPy).await
}

async fn dlock_waits_for_redis_py(program: Program) -> Outcome {
    dlock_waits_for_it(program, Client::RedisPy).await
}

async fn redis_py_and_dlock_share_names_with_braces(program: Program) -> Outcome {
    it_shares_names_with_braces(program, Client::RedisPy).await
}

async fn node_redlock_waits_for_dlock(program: Program) -> Outcome {
    it_waits_for_dlock(program, Client::NodeRedlock).await
}

async fn dlock_waits_for_node_redlock(program: Program) -> Outcome {
    dlock_waits_for_it(program, Client::NodeRedlock).await
}

async fn node_redlock_and_dlock_share_names_with_braces(program: Program) -> Outcome {
    it_shares_names_with_braces(program, Client::NodeRedlock).await
}

async fn redsync_waits_for_dlock(program: Program) -> Outcome {
    it_waits_for_dlock(program, Client::Redsync).await
}

async fn dlock_waits_for_redsync(program: Program) -> Outcome {
    dlock_waits_for_it(program, Client::Redsync).await
}

async fn redsync_and_dlock_share_names_with_braces(program: Program) -> Outcome {
    it_shares_names_with_braces(program, Client::Redsync).await
}

async fn it_waits_for_dlock(program: Program, client: Client) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    let mut peer = client.start(node.address(), LONG, &[]).await?;
    let held = take(&locker, "job").await?;
    peer.request("try job", "taken").await?;
    peer.say("acquire job").await?;
    held.renew().await?;
    held.release().await?;
    peer.expect("acquired").await?;
    peer.request("release job", "released").await?;
    // And for one that dies.
    let keys = format!("{PLAIN}&restart_guard=0s&ttl={}s", TTL.as_secs());
    let url = format!("redis://{}?{keys}", node.address());
    hold_and_die(
        async move { Ok(dlock::connect(url.as_str()).await?) },
        "job",
    )
    .await?;
    peer.request("try job", "taken").await?;
    Ok(peer.request("acquire job", "acquired").await?)
}

async fn dlock_waits_for_it(program: Program, client: Client) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    let waiting = async |peer: &mut Peer| -> Outcome<_> {
        peer.request("acquire job", "acquired").await?;
        assert!(locker.try_acquire("job").await?.is_none());
        let waiting = tokio::spawn(locker.acquire("job").into_future());
        until_key_listeners(&node, "job", 1).await?;
        Ok(waiting)
    };
    let mut peer = client.start(node.address(), LONG, &[]).await?;
    let waiter = waiting(&mut peer).await?;
    peer.request("release job", "released").await?;
    let guard = within(POLLED, "its turn", waiter).await???;
    peer.request("try job", "taken").await?;
    guard.release().await?;
    // And for one that dies.
    let mut mortal = client.start(node.address(), TTL, &[]).await?;
    let waiter = waiting(&mut mortal).await?;
    mortal.kill().await?;
    let guard = within(TTL + POLLED, "its turn", waiter).await???;
    Ok(guard.release().await?)
}

async fn it_shares_names_with_braces(program: Program, client: Client) -> Outcome {
    let node = start(&program, &[]).await?;
    let plain = connect(node.address(), "prefix=&format=plain").await?;
    let mut peer = client.start(node.address(), LONG, &[]).await?;
    for name in ["{user:7}cart", "50%", "a}b{"] {
        let held = take(&plain, name).await?;
        peer.request(&format!("try {name}"), "taken").await?;
        held.release().await?;
        peer.request(&format!("try {name}"), "acquired").await?;
        assert!(plain.try_acquire(name).await?.is_none(), "{name}");
        peer.request(&format!("release {name}"), "released").await?;
    }
    // Without the format such a name is refused, and not a second lock.
    node.command(&["DEL", "{all}record"]).await?;
    let escaped = connect(node.address(), "prefix=").await?;
    let error = refused(escaped.try_acquire("50%").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    Ok(())
}
