//! etcd: a healthy server, a full one, and one behind a proxy of its own kind.

use dlock_servers::etcd::{Flavour, GrpcProxy, Node, Options};
use dlock_verify::{
    ensure,
    support::{Outcome, if_available},
    verdict::Severity,
};
use libtest_mimic::Trial;

use crate::support::{expect, holds, settings, trial};

pub(crate) fn trials() -> Vec<Trial> {
    let trials = vec![
        trial("etcd::a_healthy_server_holds", a_healthy_server_holds),
        trial("etcd::a_server_that_is_full", a_server_that_is_full),
        trial("etcd::a_grpc_proxy", a_grpc_proxy),
        trial("etcd::an_old_version", an_old_version),
    ];
    if_available("etcd", Flavour::Newest.find().map(drop), trials)
}

async fn start(arguments: &[&str]) -> Outcome<Node> {
    let program = Flavour::Newest.find()?;
    let options = Options {
        arguments: arguments.iter().map(ToString::to_string).collect(),
        ..Options::default()
    };
    Ok(Node::start(&program, &options).await?)
}

async fn a_healthy_server_holds() -> Outcome {
    let node = start(&[]).await?;
    let store = holds(&format!("etcd://{}", node.address()), &[]).await?;
    // A single member is a warning, which does not count.
    expect(&store, "etcd.members", Severity::Warning)?;
    let left: Vec<_> = node.keys("dlock/dlock-verify").await?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    let leases = node.leases().await?;
    ensure!(leases.is_empty(), "left behind: {leases:?}");
    Ok(())
}

/// dlock cannot take a lock there; the settings say why.
async fn a_server_that_is_full() -> Outcome {
    let node = start(&["--quota-backend-bytes=2000000"]).await?;
    let value = "x".repeat(100_000);
    for number in 0.. {
        if node.put(&format!("full/{number}"), &value).await.is_err() {
            break;
        }
    }
    let (code, store) = settings(&format!("etcd://{}", node.address())).await?;
    expect(&store, "etcd.nospace", Severity::Danger)?;
    ensure!(code == 1, "exit code {code}: {store:#?}");
    Ok(())
}

async fn an_old_version() -> Outcome {
    let node = Node::start(&Flavour::Stable.find()?, &Options::default()).await?;
    let (_, store) = settings(&format!("etcd://{}", node.address())).await?;
    expect(&store, "etcd.old-version", Severity::Warning)?;
    Ok(())
}

async fn a_grpc_proxy() -> Outcome {
    let (program, node) = (Flavour::Newest.find()?, start(&[]).await?);
    let proxy = GrpcProxy::start(&program, node.address()).await?;
    let (_, store) = settings(&format!("etcd://{}", proxy.address())).await?;
    let finding = store
        .findings
        .iter()
        .find(|finding| finding.id == "etcd.grpc-proxy");
    ensure!(finding.is_some(), "{store:#?}");
    Ok(())
}
