//! Waiters that cannot be notified: they poll, with pauses (K6).

use std::time::Duration;

use dlock::{Guard, Locker};
use dlock_servers::{
    Program,
    redis::{Node, Options, Replicated},
};
use dlock_verify::proxy::{Direction::ToServer, Fault, Proxy};

use crate::{
    sentinel,
    support::{Outcome, WOKEN, calls, cases, connect, start, take, until_clean, within},
};

cases![
    k06_a_waiter_that_cannot_connect_to_subscribe_polls_with_pauses,
    k06_a_waiter_that_finds_no_sentinel_to_subscribe_polls_with_pauses,
    k06_a_subscriber_that_is_cut_off_polls_with_pauses,
];

/// Far more tries than there are in [`LONG`] with pauses that double from 50 ms to 1 s, and far fewer
/// than without.
const TRIES_MAX: u64 = 20;

const LONG: Duration = Duration::from_secs(4);

/// Waits for what is `held`, counts the tries, and has it granted after its release all the same.
async fn waits_with_pauses(node: &Node, held: Guard, waiting: &Locker) -> Outcome {
    let before = calls(node, "evalsha").await?;
    let waiter = tokio::spawn(waiting.acquire("a").into_future());
    tokio::time::sleep(LONG).await;
    let tries = calls(node, "evalsha").await? - before;
    assert!((2..TRIES_MAX).contains(&tries), "{tries} tries in {LONG:?}");
    held.release().await?;
    let guard = within(WOKEN, "it looks", waiter).await???;
    Ok(guard.release().await?)
}

async fn k06_a_waiter_that_cannot_connect_to_subscribe_polls_with_pauses(
    program: Program,
) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(node.address(), "").await?;
    let waiting = connect(proxy.address(), "").await?;
    let held = take(&holder, "a").await?;
    let requests = proxy.connection(0).await;
    proxy.set(ToServer, Fault::CutInstead);
    requests.set(ToServer, Fault::None);
    waits_with_pauses(&node, held, &waiting).await?;
    let connections = proxy.accepted();
    assert!(connections > 1, "it never tried to listen");
    assert!(connections < 20, "{connections} connections in {LONG:?}");
    assert!(!requests.has_ended());
    until_clean(&node).await
}

async fn k06_a_waiter_that_finds_no_sentinel_to_subscribe_polls_with_pauses(
    program: Program,
) -> Outcome {
    let mut servers = Replicated::start(&program, &Options::default(), 1).await?;
    let holder = sentinel::connect(&servers, "").await?;
    let waiting = sentinel::connect(&servers, "").await?;
    let held = take(&holder, "a").await?;
    for sentinel in servers.sentinels() {
        sentinel.kill()?;
    }
    let primary = &servers.nodes()[0];
    waits_with_pauses(primary, held, &waiting).await?;
    until_clean(primary).await
}

async fn k06_a_subscriber_that_is_cut_off_polls_with_pauses(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let holder = connect(node.address(), "").await?;
    let waiting = connect(node.address(), "").await?;
    let held = take(&holder, "a").await?;
    let cutting = async {
        loop {
            node.command(&["CLIENT", "KILL", "TYPE", "pubsub"]).await?;
        }
    };
    tokio::select! {
        cut = cutting => return cut,
        waited = waits_with_pauses(&node, held, &waiting) => waited?,
    }
    until_clean(&node).await
}
