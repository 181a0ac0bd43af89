//! Replicas, Sentinels and Clusters.

use std::fmt::Display;

use dlock_raw::probe::{
    Report,
    Severity::{Covered, Danger, Warning},
};
use dlock_servers::redis::{Cluster, Options, Persistence, Replicated};

use super::start;
use crate::support::{
    Flavour, Outcome, assert_fine, assert_healthy, cases, finding, refused, report_of, until,
};

cases![
    no_persistence_behind_sentinels_is_reported,
    replicas_that_confirm_nothing_are_reported,
    fewer_than_three_sentinels_are_a_danger,
    a_low_quorum_is_a_danger,
    a_replica_is_a_danger,
    a_healthy_cluster_has_nothing_to_mend,
    a_cluster_with_slots_that_no_node_serves_is_a_danger,
    a_node_of_a_cluster_is_no_server_of_its_own,
];

/// Servers that lose nothing, with a minimum of replicas for writes.
fn lasting() -> Options {
    Options {
        persistence: Persistence::AofAlways,
        lines: vec!["min-replicas-to-write 1".to_owned()],
        ..Options::default()
    }
}

fn hosts(addresses: impl IntoIterator<Item: Display>) -> String {
    let addresses = addresses.into_iter().map(|address| address.to_string());
    addresses.collect::<Vec<_>>().join(",")
}

async fn by_sentinels(servers: &Replicated, keys: &str) -> Outcome<Report> {
    let (hosts, name) = (hosts(servers.addresses()), servers.name());
    report_of(format!("redis-sentinel://{hosts}/{name}{keys}")).await
}

async fn no_persistence_behind_sentinels_is_reported(flavour: Flavour) -> Outcome {
    let servers = Replicated::start(&flavour.redis()?, &Options::default(), 1).await?;
    let report = by_sentinels(&servers, "").await?;
    let found = finding(&report, Warning, "redis.empty-primary")?;
    assert!(found.advice.contains("appendonly yes"), "{found:?}");
    assert_eq!(found.clause, "K5");
    finding(&report, Covered, "redis.restart")?;
    finding(&report, Warning, "redis.cut-off")?;
    finding(&report, Warning, "redis.min-replicas")?;
    assert_fine(
        &report,
        &["redis.sentinels", "redis.quorum", "redis.primaries"],
    );
    assert_eq!(report.about.role, "primary, 1 replica, 3 Sentinels");
    // Without the guards nothing covers it.
    let report = by_sentinels(&servers, "?restart_guard=0s").await?;
    finding(&report, Danger, "redis.empty-primary")?;
    let unguarded = finding(&report, Danger, "redis.failover-unguarded")?;
    assert_eq!(unguarded.exception, Some("redis.failover-unguarded"));
    // The advice names the key that the URL has.
    assert!(
        unguarded.found.starts_with("failover_guard 0s"),
        "{unguarded:?}"
    );
    assert_eq!(unguarded.advice, "leave out restart_guard= in the URL");
    let report = by_sentinels(&servers, "?failover_guard=0s").await?;
    let unguarded = finding(&report, Danger, "redis.failover-unguarded")?;
    assert_eq!(unguarded.advice, "leave out failover_guard= in the URL");
    Ok(())
}

async fn replicas_that_confirm_nothing_are_reported(flavour: Flavour) -> Outcome {
    let servers = Replicated::start(&flavour.redis()?, &lasting(), 1).await?;
    let report = by_sentinels(&servers, "").await?;
    let found = finding(&report, Warning, "redis.cut-off")?;
    assert!(found.advice.contains("min_acks=1"), "{found:?}");
    assert_fine(
        &report,
        &[
            "redis.empty-primary",
            "redis.min-replicas",
            "redis.min-acks",
        ],
    );
    // What the advice says mends it.
    assert_healthy(&by_sentinels(&servers, "?min_acks=1").await?);
    let report = by_sentinels(&servers, "?min_acks=2").await?;
    finding(&report, Danger, "redis.min-acks")?;
    servers.nodes()[0]
        .command(&["CONFIG", "SET", "min-replicas-to-write", "0"])
        .await?;
    let report = by_sentinels(&servers, "?min_acks=1").await?;
    finding(&report, Covered, "redis.min-replicas")?;
    servers.nodes()[0]
        .command(&["CONFIG", "SET", "repl-backlog-ttl", "5"])
        .await?;
    let report = by_sentinels(&servers, "?min_acks=1").await?;
    let found = finding(&report, Warning, "redis.failover-unguarded")?;
    assert!(found.advice.contains("repl-backlog-ttl"), "{found:?}");
    Ok(())
}

async fn fewer_than_three_sentinels_are_a_danger(flavour: Flavour) -> Outcome {
    let mut servers = Replicated::start(&flavour.redis()?, &lasting(), 1).await?;
    let addresses = servers.addresses();
    let name = servers.name();
    let sentinels = servers.sentinels();
    sentinels[2].kill()?;
    let report = report_of(format!("redis-sentinel://{}/{name}", hosts(&addresses))).await?;
    // The others still count it.
    assert_fine(&report, &["redis.sentinels"]);
    for sentinel in &sentinels[..2] {
        sentinel.command(&["SENTINEL", "RESET", name]).await?;
    }
    until("the two know each other", async || {
        let state = sentinels[0].command(&["SENTINEL", "CKQUORUM", name]).await;
        Ok(state.is_ok())
    })
    .await?;
    let report = report_of(format!("redis-sentinel://{}/{name}", hosts(&addresses))).await?;
    let found = finding(&report, Danger, "redis.sentinels")?;
    assert_eq!(found.found, "2 Sentinels");
    Ok(())
}

async fn a_low_quorum_is_a_danger(flavour: Flavour) -> Outcome {
    let mut servers = Replicated::start(&flavour.redis()?, &lasting(), 1).await?;
    let name = servers.name();
    for sentinel in servers.sentinels() {
        sentinel
            .command(&["SENTINEL", "SET", name, "quorum", "1"])
            .await?;
    }
    let report = by_sentinels(&servers, "").await?;
    let found = finding(&report, Danger, "redis.quorum")?;
    assert_eq!(found.advice, format!("SENTINEL SET {name} quorum 2"));
    assert_fine(&report, &["redis.sentinels"]);
    Ok(())
}

async fn a_replica_is_a_danger(flavour: Flavour) -> Outcome {
    let servers = Replicated::start(&flavour.redis()?, &lasting(), 1).await?;
    let url = format!("redis://{}", servers.nodes()[1].address());
    refused(dlock::connect(url.as_str()).await)?;
    let report = report_of(url).await?;
    let found = finding(&report, Danger, "redis.role")?;
    assert!(found.found.contains("slave"), "{found:?}");
    Ok(())
}

async fn a_healthy_cluster_has_nothing_to_mend(flavour: Flavour) -> Outcome {
    let cluster = Cluster::start(&flavour.redis()?, &lasting()).await?;
    let hosts = hosts(cluster.addresses());
    let report = report_of(format!("redis-cluster://{hosts}?min_acks=1")).await?;
    assert_healthy(&report);
    assert_eq!(report.about.role, "Cluster of 3 masters, 3 replicas");
    assert_eq!(report.about.servers.len(), 3);
    let all = [
        "redis.cluster-state",
        "redis.cluster-replicas",
        "redis.slot-moved",
        "redis.clocks",
    ];
    assert_fine(&report, &all);
    // A finding names its server.
    let master = &cluster.nodes()[1];
    master
        .command(&["CONFIG", "SET", "maxmemory", "100mb"])
        .await?;
    master
        .command(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lfu"])
        .await?;
    let report = report_of(format!("redis-cluster://{hosts}?min_acks=1")).await?;
    let found = finding(&report, Danger, "redis.eviction")?;
    assert!(
        found.found.starts_with(&master.address().to_string()),
        "{found:?}"
    );
    Ok(())
}

async fn a_cluster_with_slots_that_no_node_serves_is_a_danger(flavour: Flavour) -> Outcome {
    let mut cluster = Cluster::start(&flavour.redis()?, &lasting()).await?;
    let hosts = hosts(cluster.addresses());
    let nodes = cluster.nodes_mut();
    nodes[3].kill()?;
    nodes[0].kill()?;
    until("the others notice", async || {
        let info = nodes[1].command(&["CLUSTER", "INFO"]).await?.text()?;
        let known = nodes[1].command(&["CLUSTER", "NODES"]).await?.text()?;
        Ok(info.contains("cluster_state:fail") && known.contains(" slave,fail "))
    })
    .await?;
    let report = report_of(format!("redis-cluster://{hosts}")).await?;
    finding(&report, Danger, "redis.cluster-state")?;
    finding(&report, Warning, "redis.cluster-replicas")?;
    Ok(())
}

async fn a_node_of_a_cluster_is_no_server_of_its_own(flavour: Flavour) -> Outcome {
    let cluster = Cluster::start(&flavour.redis()?, &lasting()).await?;
    let address = cluster.nodes()[0].address();
    let report = report_of(format!("redis://{address}?min_acks=1")).await?;
    let found = finding(&report, Danger, "redis.role")?;
    assert!(found.wanted.contains("redis-cluster://"), "{found:?}");
    let single = start(flavour, Persistence::AofAlways, &[]).await?;
    let report = report_of(format!("redis-cluster://{}", single.address())).await?;
    unknown_cluster(&report)
}

/// A server without a Cluster refuses the commands of one.
fn unknown_cluster(report: &Report) -> Outcome {
    crate::support::unknown(report, "redis.cluster-masters")?;
    Ok(())
}
