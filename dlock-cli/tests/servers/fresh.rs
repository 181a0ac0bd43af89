//! A Redis that is new to dlock grants nothing at first, and `dlock run` says why and what to set.

use dlock_servers::redis::{Cluster, Flavour, Node, Options, Replicated};
use dlock_verify::{
    ensure,
    support::{Outcome, if_available, soon},
};
use libtest_mimic::Trial;

use crate::support::{Run, trial};

/// The setting for servers that begin empty.
const ADVICE: &str = "for tests, containers and CI set restart_guard=0s";

pub(crate) fn trials() -> Vec<Trial> {
    let trials = vec![
        trial("fresh::redis", redis),
        trial("fresh::redis_sentinel", redis_sentinel),
        trial("fresh::redis_cluster", redis_cluster),
    ];
    if_available("redis", Flavour::RedisStable.find().map(drop), trials)
}

async fn redis() -> Outcome {
    let program = Flavour::RedisStable.find()?;
    let node = Node::start(&program, &Options::default()).await?;
    says_why_and_what_to_set(&format!("redis://{}", node.address())).await
}

async fn redis_sentinel() -> Outcome {
    let program = Flavour::RedisStable.find()?;
    let servers = Replicated::start(&program, &Options::default(), 1).await?;
    let sentinels: Vec<_> = servers
        .addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    let (sentinels, name) = (sentinels.join(","), servers.name());
    says_why_and_what_to_set(&format!("redis-sentinel://{sentinels}/{name}")).await
}

async fn redis_cluster() -> Outcome {
    let program = Flavour::RedisStable.find()?;
    let cluster = Cluster::start(&program, &Options::default()).await?;
    let nodes: Vec<_> = cluster
        .addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    says_why_and_what_to_set(&format!("redis-cluster://{}", nodes.join(","))).await
}

async fn says_why_and_what_to_set(url: &str) -> Outcome {
    // The guard is 30 s, so this line comes at its begin.
    let mut run = Run::start(url, &[])?;
    let why = soon("a line that it waits", run.waits()).await??;
    ensure!(
        why.contains("it is new to it") && why.contains(ADVICE),
        "{why}"
    );
    let ended = Run::start(url, &["--try"])?.end().await?;
    ended.refused(69, ADVICE)?;
    let ended = Run::start(url, &["--wait", "200ms"])?.end().await?;
    ended.refused(69, ADVICE)?;
    ensure!(ended.waits(ADVICE) == 1, "{ended:?}");
    // With what it says, the first command is granted.
    let ended = Run::start(&format!("{url}?restart_guard=0s"), &[])?
        .end()
        .await?;
    ended.entered()?;
    ensure!(ended.waits("") == 0, "{ended:?}");
    Ok(())
}
