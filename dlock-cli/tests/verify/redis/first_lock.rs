//! The first lock: a late reply, and a server that may have forgotten its locks.

use std::time::Duration;

use dlock_servers::redis::Persistence;
use dlock_verify::{
    ensure,
    proxy::{Direction, Fault, Proxy},
    support::Outcome,
};
use libtest_mimic::Trial;

use super::server::{left, start};
use crate::{
    stop::begun,
    support::{Ran, ran, trial, verify},
};

/// Longer than the ttl of the first lock.
const LATE: Duration = Duration::from_secs(2);

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "redis::a_first_reply_that_is_late",
            a_first_reply_that_is_late,
        ),
        trial(
            "redis::the_wait_for_the_first_lock",
            the_wait_for_the_first_lock,
        ),
    ]
}

/// The first lock is requested again.
async fn a_first_reply_that_is_late() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    // The guard is the time to set the fault in.
    let keys = "ttl=4s&restart_guard=4s&timeout=10s";
    let url = format!("redis://{}?{keys}", proxy.address());
    let running = verify(&[&url, "--for", "12s", "--no-faults", "--json"])?;
    begun("the record of the server", async || {
        Ok(!node.command(&["KEYS", "*"]).await?.array()?.is_empty())
    })
    .await?;
    proxy.set(Direction::ToClient, Fault::Delay(LATE));
    begun("a lock", async || Ok(!left(&node).await?.is_empty())).await?;
    // Its reply is still on its way when it has expired.
    begun("its end", async || Ok(left(&node).await?.is_empty())).await?;
    proxy.set(Direction::ToClient, Fault::None);
    let ran = Ran::of(running.wait_with_output().await?)?;
    let store = ran.store()?;
    ensure!(store.error.is_none() && store.grants > 0, "{ran:#?}");
    Ok(())
}

async fn the_wait_for_the_first_lock() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let url = format!("redis://{}?ttl=4s&restart_guard=4s", node.address());
    let ran = ran(&[&url, "--for", "1ms", "--accept", "K1"]).await?;
    ensure!(ran.code == 0, "{ran:#?}");
    ensure!(
        ran.stderr.contains("waiting for the first lock"),
        "{ran:#?}"
    );
    ensure!(ran.stdout.contains("s for the first lock"), "{ran:#?}");
    Ok(())
}
