//! etcd: a healthy server, a full one, and one behind a proxy of its own kind.

use std::{fs, net::SocketAddr};

use dlock_servers::etcd::{Flavour, GrpcProxy, Node, Options};
use dlock_verify::{
    ensure,
    proxy::{Direction, Proxy},
    support::{Outcome, if_available},
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
        trial("etcd::a_healthy_server_holds", a_healthy_server_holds),
        trial("etcd::a_server_that_is_full", a_server_that_is_full),
        trial("etcd::a_grpc_proxy", a_grpc_proxy),
        trial("etcd::an_old_version", an_old_version),
        trial("etcd::ctrl_c_leaves_nothing", ctrl_c_leaves_nothing),
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
    let counters = async || {
        Ok(Counters {
            requests: node.metric_sum("grpc_server_msg_received_total").await?,
            connections: connections(node.address())?,
        })
    };
    let url = format!("etcd://{}", node.address());
    let store = traffic::holds(&url, &[], counters).await?;
    for method in ["Compact", "Defragment"] {
        let labels = format!("grpc_method=\"{method}\"");
        let sent = node
            .metric_sum_of("grpc_server_started_total", &labels)
            .await?;
        ensure!(sent == 0.0, "{method}: {sent}");
    }
    // A single member is a warning, which does not count.
    expect(&store, "etcd.members", Severity::Warning)?;
    let left: Vec<_> = node.keys("dlock/dlock-verify").await?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    let leases = node.leases().await?;
    ensure!(leases.is_empty(), "left behind: {leases:?}");
    Ok(())
}

/// The connections to this address, by the kernel: the server does not count them.
fn connections(address: SocketAddr) -> Outcome<u32> {
    const ESTABLISHED: &str = "01";
    let port = format!(":{:04X}", address.port());
    let table = fs::read_to_string("/proc/net/tcp")?;
    let lines = table.lines().filter(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let local = columns.next().is_some_and(|local| local.ends_with(&port));
        local && columns.nth(1) == Some(ESTABLISHED)
    });
    Ok(u32::try_from(lines.count())?)
}

async fn ctrl_c_leaves_nothing() -> Outcome {
    let node = start(&[]).await?;
    // While the settings are read, and in the contract's cases.
    for part in ["", "dlock/dlock-verify"] {
        let proxy = Proxy::start(node.address())?;
        let running = verify(&[&format!("etcd://{}", proxy.address())])?;
        begun("a request or a lock", async || {
            let is_begun = proxy.seen(Direction::ToServer) > 0;
            Ok(is_begun && (part.is_empty() || !node.keys(part).await?.is_empty()))
        })
        .await?;
        stopped(running, Signal::INT).await?;
        let left = node.keys("dlock/dlock-verify").await?;
        ensure!(left.is_empty(), "left behind: {left:?}");
        let leases = node.leases().await?;
        ensure!(leases.is_empty(), "left behind: {leases:?}");
    }
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
