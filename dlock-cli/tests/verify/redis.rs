//! Redis: a healthy server, what endangers it, and what a verification leaves behind.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use dlock::{BootInstant, Clock};
use dlock_servers::redis::{Flavour, Node, Options, Persistence, Replicated};
use dlock_verify::{
    ensure,
    proxy::Proxy,
    support::{Outcome, if_available, within},
    verdict::Severity,
};
use libtest_mimic::{Failed, Trial};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Child;

use crate::support::{Ran, expect, holds, ran, settings, trial, verify};

/// The next phase of a verification begins within this time.
const PHASE_MAX: Duration = Duration::from_secs(60);

/// How often the server's keys are listed.
const POLL_EVERY: Duration = Duration::from_millis(5);

pub(crate) fn trials() -> Vec<Trial> {
    let trials = vec![
        trial("redis::a_healthy_server_holds", a_healthy_server_holds),
        trial("redis::a_server_that_may_evict", a_server_that_may_evict),
        trial(
            "redis::sentinels_without_persistence",
            sentinels_without_persistence,
        ),
        trial(
            "redis::two_servers_at_one_address",
            two_servers_at_one_address,
        ),
        trial("redis::people_get_a_table", people_get_a_table),
        trial("redis::traffic_is_bounded", traffic_is_bounded),
        trial("redis::ctrl_c_leaves_nothing", ctrl_c_leaves_nothing),
        trial(
            "redis::ctrl_c_before_the_first_lock",
            ctrl_c_before_the_first_lock,
        ),
        trial("redis::term_leaves_nothing", term_leaves_nothing),
    ];
    if_available("redis", Flavour::RedisStable.find().map(drop), trials)
}

async fn start(persistence: Persistence, lines: &[&str]) -> Outcome<Node> {
    let program = Flavour::RedisStable.find()?;
    let options = Options {
        persistence,
        lines: lines.iter().map(ToString::to_string).collect(),
        ..Options::default()
    };
    Ok(Node::start(&program, &options).await?)
}

/// The keys of locks and waiters; dlock's own keys are documented and stay.
async fn left(node: &Node) -> Outcome<Vec<String>> {
    let mut left = Vec::new();
    for key in node.command(&["KEYS", "*"]).await?.array()? {
        let key = key.text()?;
        if !key.contains('{') {
            left.push(key);
        }
    }
    Ok(left)
}

async fn a_healthy_server_holds() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    holds(&format!("redis://{}?restart_guard=0s", node.address()), &[]).await?;
    let left = left(&node).await?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
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

async fn people_get_a_table() -> Outcome {
    let lines = ["maxmemory 50mb", "maxmemory-policy allkeys-lru"];
    let node = start(Persistence::None, &lines).await?;
    let url = format!("redis://{}?restart_guard=0s&may_evict=true", node.address());
    let args = [&url, "--quick", "--accept", "K13"];
    let text = ran(&args).await?.stdout;
    for word in [
        "✓ K1  exclusion",
        "✕ redis.eviction",
        "→ CONFIG SET maxmemory-policy",
        "NOT SAFE AS IT IS",
    ] {
        ensure!(text.contains(word), "no {word:?} in\n{text}");
    }
    let widest = text.lines().map(|line| line.chars().count()).max();
    ensure!(widest <= Some(100), "{widest:?} columns:\n{text}");
    ensure!(
        !text.contains('\u{1b}'),
        "colours without a terminal:\n{text}"
    );
    Ok(())
}

/// How often the server's counters are read.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);

/// The requests of clients, as opposed to those of scripts and of this test.
const REQUESTS: [&str; 10] = [
    "evalsha",
    "eval",
    "hello",
    "auth",
    "select",
    "ping",
    "subscribe",
    "unsubscribe",
    "client",
    "config",
];

async fn traffic_is_bounded() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let url = format!("redis://{}?restart_guard=0s", node.address());
    let mut running = verify(&[&url, "--json"])?;
    let (mut connections, mut samples) = (0, Vec::new());
    let clock = Clock::boottime();
    while running.try_wait()?.is_none() {
        // One of them is the test's own.
        let connected = node.info("connected_clients").await?.parse::<u32>()?;
        connections = connections.max(connected);
        let seen = node.command(&["INFO", "commandstats"]).await?.text()?;
        samples.push((clock.now(), requests(&seen)));
        tokio::time::sleep(SAMPLE_EVERY).await;
    }
    let rate = |pair: &[(BootInstant, u32)]| {
        let (before, after) = (pair[0], pair[1]);
        f64::from(after.1 - before.1) / after.0.since(before.0).as_secs_f64()
    };
    let most = samples.windows(2).map(rate).fold(0.0, f64::max);
    ensure!(connections <= 24 + 1, "{connections} connections");
    ensure!(most <= 200.0, "{most:.0} requests a second");
    // The test would see nothing if it counted wrongly.
    ensure!(
        connections > 4 && most > 10.0,
        "{connections} connections, {most:.0} requests a second"
    );
    Ok(())
}

/// The requests of clients so far.
fn requests(stats: &str) -> u32 {
    let calls = |line: &str| -> Option<u32> {
        let (command, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let command = command.split('|').next()?;
        let calls = rest.split(',').next()?.parse().ok()?;
        REQUESTS.contains(&command).then_some(calls)
    };
    stats.lines().filter_map(calls).sum()
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
    let known = async {
        while node.command(&["KEYS", "*"]).await?.array()?.is_empty() {
            tokio::time::sleep(POLL_EVERY).await;
        }
        Ok::<_, Failed>(())
    };
    within(PHASE_MAX, "the record of the server", known).await??;
    stopped(&node, running, Signal::INT).await
}

/// Stops a verification when a lock whose name has `part` is held.
async fn stopped_leaves_nothing(signal: Signal, part: &str) -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let url = format!("redis://{}?restart_guard=0s", node.address());
    let running = verify(&[&url])?;
    let held = async {
        while !left(&node).await?.iter().any(|key| key.contains(part)) {
            tokio::time::sleep(POLL_EVERY).await;
        }
        Ok::<_, Failed>(())
    };
    within(PHASE_MAX, "a lock", held).await??;
    stopped(&node, running, signal).await
}

/// Stops a verification, which leaves nothing.
async fn stopped(node: &Node, running: Child, signal: Signal) -> Outcome {
    let pid = running
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    kill_process(pid.ok_or("it has ended")?, signal)?;
    let ran = Ran::of(running.wait_with_output().await?)?;
    ensure!(ran.code == 128 + signal.as_raw(), "{ran:#?}");
    ensure!(ran.stderr.contains("nothing is left"), "{ran:#?}");
    ensure!(ran.stdout.is_empty(), "{ran:#?}");
    let left = left(node).await?;
    ensure!(left.is_empty(), "left behind: {left:?}; {ran:#?}");
    // Nor a client: the last one is the test's own.
    let clients = node.info("connected_clients").await?;
    ensure!(clients == "1", "{clients} clients");
    Ok(())
}
