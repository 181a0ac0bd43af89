//! Clusters, and the gRPC proxy in front of one.

use dlock_raw::probe::Severity::{Danger, Warning};
use dlock_servers::etcd::{Cluster, GrpcProxy, Options};

use super::{assert_only, start};
use crate::support::{Flavour, Outcome, assert_fine, cases, finding, report_of, unknown, until};

cases![
    a_healthy_cluster_has_nothing_to_mend,
    a_member_that_is_down_is_reported,
    a_cluster_without_a_majority_is_a_danger,
    a_grpc_proxy_is_reported,
];

async fn a_healthy_cluster_has_nothing_to_mend(flavour: Flavour) -> Outcome {
    let cluster = Cluster::start(&flavour.etcd()?.find()?, &Options::default()).await?;
    let addresses = cluster.addresses();
    // The first names the others.
    let report = report_of(format!("etcd://{}", addresses[0])).await?;
    assert_eq!(report.about.role, "cluster of 3 members");
    assert_eq!(report.about.servers.len(), 3);
    assert_fine(
        &report,
        &[
            "etcd.members",
            "etcd.unreachable",
            "etcd.no-fsync",
            "etcd.no-leader",
        ],
    );
    assert_only(flavour, report, &[])
}

async fn a_member_that_is_down_is_reported(flavour: Flavour) -> Outcome {
    let mut cluster = Cluster::start(&flavour.etcd()?.find()?, &Options::default()).await?;
    let [first, second, _] = cluster.addresses()[..] else {
        return Err("not three members".into());
    };
    cluster.nodes()[1].kill()?;
    let report = report_of(format!("etcd://{first},{second}")).await?;
    let found = finding(&report, Warning, "etcd.unreachable")?;
    assert!(found.found.contains(&second.to_string()), "{found:?}");
    Ok(())
}

async fn a_cluster_without_a_majority_is_a_danger(flavour: Flavour) -> Outcome {
    let mut cluster = Cluster::start(&flavour.etcd()?.find()?, &Options::default()).await?;
    let address = cluster.addresses()[0];
    for node in &mut cluster.nodes()[1..] {
        node.kill()?;
    }
    until("it knows no leader", async || {
        Ok(cluster.node(0).leads().await.is_err())
    })
    .await?;
    let report = report_of(format!("etcd://{address}?timeout=500ms")).await?;
    finding(&report, Danger, "etcd.no-leader")?;
    unknown(&report, "etcd.election-timeout")?;
    Ok(())
}

async fn a_grpc_proxy_is_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, &[]).await?;
    let proxy = GrpcProxy::start(&flavour.etcd()?.find()?, node.address()).await?;
    let report = report_of(format!("etcd://{}", proxy.address())).await?;
    finding(&report, Warning, "etcd.grpc-proxy")?;
    unknown(&report, "etcd.members")?;
    assert_eq!(report.about.role, "behind a gRPC proxy");
    let report = report_of(format!("etcd://{}", node.address())).await?;
    assert_fine(&report, &["etcd.grpc-proxy"]);
    Ok(())
}
