//! Settings that endanger locks.

use std::sync::atomic::{AtomicUsize, Ordering};

use dlock_servers::redis::{Flavour, Node, Options, Persistence, Replicated};
use dlock_verify::{ensure, proxy::Proxy, support::Outcome, verdict::Severity};
use libtest_mimic::Trial;

use super::server::start;
use crate::{
    stop::begun,
    support::{expect, ran, settings, trial},
};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("redis::a_server_that_may_evict", a_server_that_may_evict),
        trial(
            "redis::keys_that_are_evicted_in_that_time",
            keys_that_are_evicted_in_that_time,
        ),
        trial(
            "redis::sentinels_without_persistence",
            sentinels_without_persistence,
        ),
        trial(
            "redis::two_servers_at_one_address",
            two_servers_at_one_address,
        ),
    ]
}

async fn a_server_that_may_evict() -> Outcome {
    let lines = ["maxmemory 50mb", "maxmemory-policy allkeys-lru"];
    let node = start(Persistence::AofAlways, &lines).await?;
    let url = format!("redis://{}?restart_guard=0s&may_evict=true", node.address());
    let (code, store) = settings(&url).await?;
    expect(&store, "redis.eviction", Severity::Danger)?;
    ensure!(code == 1, "exit code {code}: {store:#?}");
    Ok(())
}

async fn keys_that_are_evicted_in_that_time() -> Outcome {
    let lines = ["maxmemory 6mb", "maxmemory-policy allkeys-lru"];
    let node = start(Persistence::AofAlways, &lines).await?;
    begun("keys are evicted", async || {
        node.command(&["DEBUG", "POPULATE", "60000"]).await?;
        node.command(&["SET", "one", "more"]).await?;
        Ok(node.info("evicted_keys").await? != "0")
    })
    .await?;
    let url = format!("redis://{}?restart_guard=0s&may_evict=true", node.address());
    let ran = ran(&[&url, "--for", "5s", "--no-faults", "--json"]).await?;
    let store = ran.store()?;
    ensure!(ran.stderr.contains("memory is almost full"), "{ran:#?}");
    let evicted = expect(&store, "redis.evicted", Severity::Danger)?;
    ensure!(
        evicted.found.contains("during this verification"),
        "{evicted:#?}"
    );
    Ok(())
}

async fn sentinels_without_persistence() -> Outcome {
    let program = Flavour::RedisStable.find()?;
    let servers = Replicated::start(&program, &Options::default(), 2).await?;
    let sentinels: Vec<_> = servers
        .addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    let url = format!(
        "redis-sentinel://{}/{}",
        sentinels.join(","),
        servers.name()
    );
    let (_, store) = settings(&url).await?;
    expect(&store, "redis.empty-primary", Severity::Warning)?;
    Ok(())
}

async fn two_servers_at_one_address() -> Outcome {
    let nodes = [
        start(Persistence::AofAlways, &[]).await?,
        start(Persistence::AofAlways, &[]).await?,
    ];
    let (addresses, turn) = (nodes.each_ref().map(Node::address), AtomicUsize::new(0));
    let proxy = Proxy::switch(move |_| {
        let turn = turn.fetch_add(1, Ordering::Relaxed);
        addresses.get(turn % addresses.len()).copied()
    })?;
    let url = format!("redis://{}?restart_guard=0s", proxy.address());
    let (code, store) = settings(&url).await?;
    expect(&store, "redis.two-servers", Severity::Danger)?;
    ensure!(code == 1, "exit code {code}: {store:#?}");
    Ok(())
}
