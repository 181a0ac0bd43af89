//! A verification that is stopped leaves nothing.

use dlock_servers::redis::{Node, Persistence};
use dlock_verify::{
    ensure,
    proxy::{Direction, Fault, Proxy},
    support::Outcome,
};
use libtest_mimic::Trial;
use rustix::process::Signal;
use tokio::process::Child;

use super::server::{left, start};
use crate::{
    stop::{begun, stopped},
    support::{trial, verify},
};

/// Long enough for faults, which begin in its middle.
const RUN_FOR: &str = "40s";

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "redis::ctrl_c_while_settings_are_read",
            ctrl_c_while_settings_are_read,
        ),
        trial("redis::ctrl_c_leaves_nothing", ctrl_c_leaves_nothing),
        trial(
            "redis::ctrl_c_before_the_first_lock",
            ctrl_c_before_the_first_lock,
        ),
        trial("redis::term_leaves_nothing", term_leaves_nothing),
    ]
}

async fn ctrl_c_leaves_nothing() -> Outcome {
    // A lock of the contract's cases, one of the faults' workers.
    for part in ["dlock-verify/", "/faults/"] {
        stopped_leaves_nothing(Signal::INT, part).await?;
    }
    Ok(())
}

async fn term_leaves_nothing() -> Outcome {
    stopped_leaves_nothing(Signal::TERM, "/faults/").await
}

/// A server that is new to dlock grants nothing for half a minute: the first lock is being waited for.
async fn ctrl_c_before_the_first_lock() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let running = verify(&[&format!("redis://{}", node.address())])?;
    begun("the record of the server", async || {
        Ok(!node.command(&["KEYS", "*"]).await?.array()?.is_empty())
    })
    .await?;
    stopped_at(&node, running, Signal::INT).await
}

/// A server that answers nothing holds up neither the settings nor their end.
async fn ctrl_c_while_settings_are_read() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    proxy.set(Direction::ToClient, Fault::Hold);
    let url = format!("redis://{}?timeout=1m", proxy.address());
    let running = verify(&[&url])?;
    begun("the first request", async || {
        Ok(proxy.seen(Direction::ToServer) > 0)
    })
    .await?;
    stopped(running, Signal::INT).await?;
    let keys = node.command(&["KEYS", "*"]).await?.array()?;
    ensure!(keys.is_empty(), "left behind: {keys:?}");
    Ok(())
}

/// Stops a verification when a lock whose name has `part` is held.
async fn stopped_leaves_nothing(signal: Signal, part: &str) -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let url = format!("redis://{}?restart_guard=0s", node.address());
    let running = verify(&[&url, "--for", RUN_FOR])?;
    begun("a lock", async || {
        Ok(left(&node).await?.iter().any(|key| key.contains(part)))
    })
    .await?;
    stopped_at(&node, running, signal).await
}

/// Stops a verification, which leaves nothing.
async fn stopped_at(node: &Node, running: Child, signal: Signal) -> Outcome {
    let ran = stopped(running, signal).await?;
    let left = left(node).await?;
    ensure!(left.is_empty(), "left behind: {left:?}; {ran:#?}");
    let own = "dlock's own permanent entries stay: the keys {all}fence and {all}record";
    ensure!(ran.stderr.contains(own), "{ran:#?}");
    // Nor a client: the last one is the test's own.
    let clients = node.info("connected_clients").await?;
    ensure!(clients == "1", "{clients} clients");
    Ok(())
}
