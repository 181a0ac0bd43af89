//! ZooKeeper: a healthy server, and settings that endanger its locks.

use std::time::Duration;

use dlock_servers::zk::{Flavour, Node, Options};
use dlock_verify::{
    ensure,
    proxy::{Direction, Proxy},
    support::{Outcome, if_available, until},
    verdict::Severity,
};
use libtest_mimic::Trial;
use rustix::process::Signal;

use crate::{
    stop::{begun, stopped},
    support::{expect, settings, trial, verify},
    traffic::{self, Counters},
};

pub(crate) fn trials() -> Vec<Trial> {
    let trials = vec![
        trial("zk::a_healthy_server_holds", a_healthy_server_holds),
        trial(
            "zk::a_server_that_does_not_flush",
            a_server_that_does_not_flush,
        ),
        trial("zk::a_wrong_tick", a_wrong_tick),
        trial("zk::ctrl_c_leaves_nothing", ctrl_c_leaves_nothing),
    ];
    if_available("zk", Flavour::Newest.find().map(drop), trials)
}

async fn start(options: &Options) -> Outcome<Node> {
    Ok(Node::start(&Flavour::Newest.find()?, options).await?)
}

/// Test servers do not flush by default.
async fn flushing() -> Outcome<Node> {
    let properties = vec!["zookeeper.forceSync=yes".to_owned()];
    start(&Options {
        properties,
        ..Options::default()
    })
    .await
}

async fn number(node: &Node, field: &str) -> Outcome<u32> {
    Ok(node.metric(field).await?.parse()?)
}

async fn a_healthy_server_holds() -> Outcome {
    let node = flushing().await?;
    let counters = async || {
        Ok(Counters {
            requests: number(&node, "zk_packets_received").await?.into(),
            connections: number(&node, "zk_num_alive_connections").await?,
        })
    };
    let url = format!("zk://{}", node.address());
    let store = traffic::holds(&url, &[], counters).await?;
    let sessions = number(&node, "zk_global_sessions").await?;
    ensure!(sessions == 0, "left behind: {sessions} sessions");
    // A server alone is a warning, which does not count.
    expect(&store, "zk.standalone", Severity::Warning)?;
    Ok(())
}

async fn ctrl_c_leaves_nothing() -> Outcome {
    let node = flushing().await?;
    let proxy = Proxy::start(node.address())?;
    let url = format!("zk://{}", proxy.address());
    // While the settings are read, and in the contract's cases.
    for held in [0, 2] {
        let seen = proxy.seen(Direction::ToServer);
        let running = verify(&[&url])?;
        begun("a request or locks", async || {
            let is_begun = proxy.seen(Direction::ToServer) > seen;
            Ok(is_begun && number(&node, "zk_ephemerals_count").await? >= held)
        })
        .await?;
        stopped(running, Signal::INT).await?;
        let left = number(&node, "zk_ephemerals_count").await?;
        ensure!(left == 0, "left behind: {left} nodes");
        // A session that was just being made has no nodes, and expires.
        until("the sessions end", async || {
            Ok(number(&node, "zk_global_sessions").await? == 0)
        })
        .await?;
    }
    Ok(())
}

async fn a_server_that_does_not_flush() -> Outcome {
    let node = start(&Options::default()).await?;
    let (code, store) = settings(&format!("zk://{}", node.address())).await?;
    let finding = expect(&store, "zk.no-force-sync", Severity::Danger)?;
    ensure!(finding.advice.contains("forceSync"), "{finding:#?}");
    ensure!(code == 1, "exit code {code}: {store:#?}");
    Ok(())
}

/// The bounds of sessions hide it, so dlock connects.
async fn a_wrong_tick() -> Outcome {
    let mut options = Options::with_tick(Duration::from_secs(6));
    let bounds = ["minSessionTimeout=4000", "maxSessionTimeout=60000"];
    options.lines = bounds.map(str::to_owned).to_vec();
    let node = start(&options).await?;
    let (code, store) = settings(&format!("zk://{}", node.address())).await?;
    let finding = expect(&store, "zk.tick", Severity::Danger)?;
    ensure!(finding.advice == "tick=6000ms in the URL", "{finding:#?}");
    ensure!(code == 1, "exit code {code}: {store:#?}");
    Ok(())
}
