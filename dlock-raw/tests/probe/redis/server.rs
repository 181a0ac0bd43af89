//! One server: memory, persistence, load, and which server it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use dlock_raw::probe::Severity::{Covered, Danger, Note, Warning};
use dlock_servers::redis::{Node, Options, Persistence, Tls};
use dlock_verify::proxy::Proxy;

use super::start;
use crate::support::{
    Flavour, Outcome, assert_fine, assert_healthy, cases, finding, refused, report_of, until,
};

cases![
    a_healthy_server_has_nothing_to_mend,
    a_healthy_server_with_tls_has_nothing_to_mend,
    a_server_that_may_evict_is_a_danger_also_where_dlock_refuses_it,
    a_server_that_forgets_is_covered_by_the_guard,
    a_server_that_is_almost_full_is_reported,
    slow_commands_are_reported,
    idle_connections_that_are_ended_are_reported,
    a_failed_snapshot_is_reported,
    two_servers_behind_one_address_are_a_danger,
];

async fn a_healthy_server_has_nothing_to_mend(flavour: Flavour) -> Outcome {
    let node = start(flavour, Persistence::AofAlways, &[]).await?;
    let report = report_of(format!("redis://{}", node.address())).await?;
    assert_healthy(&report);
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.id.starts_with("client."))
    );
    let expected = if flavour.name().contains("valkey") {
        "Valkey"
    } else {
        "Redis"
    };
    assert_eq!(report.about.product, expected);
    assert!(report.about.version.contains('.'), "{:?}", report.about);
    assert_eq!(report.about.role, "primary, 0 replicas");
    assert_eq!(report.about.servers, [node.address().to_string()]);
    assert_fine(
        &report,
        &[
            "redis.eviction",
            "redis.restart",
            "redis.two-servers",
            "redis.late",
        ],
    );
    let measured = report.assumptions[0]
        .measured
        .as_deref()
        .unwrap_or_default();
    assert!(measured.contains("ppm"), "{:?}", report.assumptions);
    Ok(())
}

async fn a_healthy_server_with_tls_has_nothing_to_mend(flavour: Flavour) -> Outcome {
    let options = Options {
        persistence: Persistence::AofAlways,
        tls: Tls::Mutual,
        ..Options::default()
    };
    let node = Node::start(&flavour.redis()?, &options).await?;
    let certificates = node.certificates().ok_or("no certificates")?;
    let keys = format!(
        "{}&{}",
        certificates.ca_in_url(),
        certificates.client_in_url()
    );
    let report = report_of(format!("rediss://{}?{keys}", node.address())).await?;
    assert_healthy(&report);
    assert_fine(&report, &["redis.two-servers"]);
    Ok(())
}

async fn a_server_that_may_evict_is_a_danger_also_where_dlock_refuses_it(
    flavour: Flavour,
) -> Outcome {
    let lines = ["maxmemory 4mb", "maxmemory-policy allkeys-lru"];
    let node = start(flavour, Persistence::AofAlways, &lines).await?;
    let url = format!("redis://{}", node.address());
    refused(dlock::connect(url.as_str()).await)?;
    let report = report_of(&url).await?;
    let found = finding(&report, Danger, "redis.eviction")?;
    assert_eq!(found.exception, Some("redis.key-removed"));
    assert!(found.found.contains("allkeys-lru"), "{found:?}");
    assert!(found.advice.contains("noeviction"), "{found:?}");
    assert!(
        found.advice.contains("; or may_evict=true in the URL"),
        "{found:?}"
    );
    let evictions = report.evictions.ok_or("no evictions")?;
    assert!(!evictions.are_near && evictions.keys == 0, "{evictions:?}");
    assert_fine(&report, &["redis.evicted"]);
    until("keys are evicted", async || {
        node.command(&["DEBUG", "POPULATE", "60000"]).await?;
        node.command(&["SET", "one", "more"]).await?;
        Ok(node.info("evicted_keys").await? != "0")
    })
    .await?;
    let report = report_of(&url).await?;
    finding(&report, Danger, "redis.evicted")?;
    let evictions = report.evictions.ok_or("no evictions")?;
    assert!(evictions.are_near && evictions.keys > 0, "{evictions:?}");
    // What the advice says mends it.
    node.command(&["CONFIG", "SET", "maxmemory-policy", "noeviction"])
        .await?;
    let mended = report_of(&url).await?;
    assert_fine(&mended, &["redis.eviction"]);
    finding(&mended, Note, "redis.evicted")?;
    assert_eq!(mended.evictions, None);
    Ok(())
}

async fn a_server_that_forgets_is_covered_by_the_guard(flavour: Flavour) -> Outcome {
    let node = start(flavour, Persistence::None, &[]).await?;
    let url = format!("redis://{}", node.address());
    let report = report_of(&url).await?;
    let found = finding(&report, Covered, "redis.restart")?;
    assert!(found.effect.contains("restart_guard 30 s"), "{found:?}");
    assert_eq!(found.advice, "", "nothing is to be done");
    assert_healthy(&report);
    let report = report_of(format!("{url}?restart_guard=0s")).await?;
    finding(&report, Warning, "redis.restart")?;
    let synced = start(flavour, Persistence::AofEverySecond, &[]).await?;
    let url = format!("redis://{}?restart_guard=0s", synced.address());
    let report = report_of(url).await?;
    let found = finding(&report, Warning, "redis.restart")?;
    assert_eq!(found.found, "appendfsync everysec");
    Ok(())
}

async fn a_server_that_is_almost_full_is_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, Persistence::AofAlways, &[]).await?;
    let used: u64 = node.info("used_memory").await?.parse()?;
    let limit = (used + used / 20).to_string();
    node.command(&["CONFIG", "SET", "maxmemory", &limit])
        .await?;
    let report = report_of(format!("redis://{}", node.address())).await?;
    finding(&report, Warning, "redis.memory")?;
    assert_fine(&report, &["redis.eviction"]);
    Ok(())
}

async fn slow_commands_are_reported(flavour: Flavour) -> Outcome {
    let lines = ["latency-monitor-threshold 100"];
    let node = start(flavour, Persistence::AofAlways, &lines).await?;
    let url = format!("redis://{}", node.address());
    node.command(&["DEBUG", "SLEEP", "0.3"]).await?;
    // A fourth of the timeout, which is 2 s by default.
    assert_fine(
        &report_of(&url).await?,
        &["redis.slow-commands", "redis.latency"],
    );
    let report = report_of(format!("{url}?timeout=1s")).await?;
    let found = finding(&report, Warning, "redis.slow-commands")?;
    assert!(found.found.starts_with("debug"), "{found:?}");
    let found = finding(&report, Warning, "redis.latency")?;
    assert!(found.found.contains("command"), "{found:?}");
    Ok(())
}

async fn idle_connections_that_are_ended_are_reported(flavour: Flavour) -> Outcome {
    let node = start(flavour, Persistence::AofAlways, &["timeout 20"]).await?;
    let url = format!("redis://{}", node.address());
    finding(&report_of(&url).await?, Warning, "redis.idle-timeout")?;
    assert_fine(
        &report_of(format!("{url}?ttl=10s")).await?,
        &["redis.idle-timeout"],
    );
    Ok(())
}

async fn a_failed_snapshot_is_reported(flavour: Flavour) -> Outcome {
    let lines = ["enable-protected-configs yes"];
    let node = start(flavour, Persistence::AofAlways, &lines).await?;
    let url = format!("redis://{}", node.address());
    assert_fine(&report_of(&url).await?, &["redis.snapshot"]);
    // A directory with the name of the file that the snapshot is renamed to.
    let directory = node.command(&["CONFIG", "GET", "dir"]).await?.array()?;
    let directory = directory.into_iter().nth(1).ok_or("no directory")?.text()?;
    std::fs::create_dir_all(format!("{directory}/taken.rdb/full"))?;
    node.command(&["CONFIG", "SET", "dbfilename", "taken.rdb"])
        .await?;
    node.command(&["BGSAVE"]).await?;
    until("the snapshot has failed", async || {
        Ok(node.info("rdb_last_bgsave_status").await? == "err")
    })
    .await?;
    let report = report_of(&url).await?;
    let found = finding(&report, Danger, "redis.snapshot")?;
    assert!(found.found.contains("writes are refused"), "{found:?}");
    node.command(&["CONFIG", "SET", "stop-writes-on-bgsave-error", "no"])
        .await?;
    finding(&report_of(&url).await?, Note, "redis.snapshot")?;
    Ok(())
}

async fn two_servers_behind_one_address_are_a_danger(flavour: Flavour) -> Outcome {
    let a = start(flavour, Persistence::AofAlways, &[]).await?;
    let b = start(flavour, Persistence::AofAlways, &[]).await?;
    let addresses = [a.address(), b.address()];
    let turn = AtomicUsize::new(0);
    let next = move |_| Some(addresses[turn.fetch_add(1, Ordering::Relaxed) % 2]);
    let proxy = Proxy::switch(next)?;
    let report = report_of(format!("redis://{}", proxy.address())).await?;
    let found = finding(&report, Danger, "redis.two-servers")?;
    assert_eq!(found.exception, Some("redis.two-servers"));
    let one = Proxy::start(a.address())?;
    let report = report_of(format!("redis://{}", one.address())).await?;
    assert_healthy(&report);
    Ok(())
}
