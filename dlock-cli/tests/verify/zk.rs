//! ZooKeeper: a healthy server, and settings that endanger its locks.

use std::time::Duration;

use dlock_servers::zk::{Flavour, Node, Options};
use dlock_verify::{
    ensure,
    support::{Outcome, if_available},
    verdict::Severity,
};
use libtest_mimic::Trial;

use crate::support::{expect, holds, settings, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let trials = vec![
        trial("zk::a_healthy_server_holds", a_healthy_server_holds),
        trial(
            "zk::a_server_that_does_not_flush",
            a_server_that_does_not_flush,
        ),
        trial("zk::a_wrong_tick", a_wrong_tick),
    ];
    if_available("zk", Flavour::Newest.find().map(drop), trials)
}

async fn start(options: &Options) -> Outcome<Node> {
    Ok(Node::start(&Flavour::Newest.find()?, options).await?)
}

async fn a_healthy_server_holds() -> Outcome {
    // Test servers do not flush by default.
    let properties = vec!["zookeeper.forceSync=yes".to_owned()];
    let node = start(&Options {
        properties,
        ..Options::default()
    })
    .await?;
    let store = holds(&format!("zk://{}", node.address()), &[]).await?;
    // A server alone is a warning, which does not count.
    expect(&store, "zk.standalone", Severity::Warning)?;
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
