//! Redis: a healthy server, what endangers it, and what a verification leaves behind.

use std::sync::atomic::{AtomicUsize, Ordering};

use dlock_servers::redis::{Flavour, Node, Options, Persistence, Replicated};
use dlock_verify::{
    ensure,
    proxy::{Direction, Fault, Proxy},
    support::{Outcome, if_available},
    verdict::{ClauseVerdict, Severity, Verdict},
};
use libtest_mimic::Trial;
use rustix::process::Signal;
use tokio::process::Child;

use crate::{
    stop::{begun, stopped},
    support::{Ran, expect, quick_holds, ran, settings, trial, verify},
    traffic::{self, Counters},
};

/// Long enough for faults, which begin in its middle.
const RUN_FOR: &str = "40s";

/// Commands that are never sent to a server that others use.
const FORBIDDEN: [&str; 8] = [
    "keys",
    "scan",
    "flushall",
    "flushdb",
    "swapdb",
    "debug",
    "config|set",
    "config|resetstat",
];

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
        trial("redis::a_quick_run_on_valkey", a_quick_run_on_valkey),
        trial("redis::a_server_that_goes_away", a_server_that_goes_away),
        trial(
            "redis::ctrl_c_while_settings_are_read",
            ctrl_c_while_settings_are_read,
        ),
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
    let url = format!("redis://{}?restart_guard=0s", node.address());
    let counters = async || {
        let stats = node.command(&["INFO", "commandstats"]).await?.text()?;
        Ok(Counters {
            requests: calls(&stats, is_request).into(),
            connections: node.info("connected_clients").await?.parse()?,
        })
    };
    traffic::holds(&url, &[], counters).await?;
    let stats = node.command(&["INFO", "commandstats"]).await?.text()?;
    let forbidden = calls(&stats, |name| FORBIDDEN.contains(&name));
    ensure!(forbidden == 0, "{stats}");
    let left = left(&node).await?;
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

fn is_request(name: &str) -> bool {
    let command = name.split('|').next().unwrap_or(name);
    REQUESTS.contains(&command)
}

/// How often the commands that are wanted were called.
fn calls(stats: &str, is_wanted: impl Fn(&str) -> bool) -> u32 {
    let calls = |line: &str| -> Option<u32> {
        let (command, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let calls = rest.split(',').next()?.parse().ok()?;
        is_wanted(command).then_some(calls)
    };
    stats.lines().filter_map(calls).sum()
}

/// A script may do this before it deploys.
async fn a_quick_run_on_valkey() -> Outcome {
    let options = Options {
        persistence: Persistence::AofAlways,
        ..Options::default()
    };
    let node = Node::start(&Flavour::ValkeyNewest.find()?, &options).await?;
    let url = format!("redis://{}?restart_guard=0s", node.address());
    let store = quick_holds(&url, &[]).await?;
    let server = store.server.ok_or("no server")?;
    ensure!(server.product == "Valkey", "{server:?}");
    Ok(())
}

/// No clause fails by the end of the server: what it did not answer is not known.
async fn a_server_that_goes_away() -> Outcome {
    let mut node = start(Persistence::AofAlways, &[]).await?;
    let url = format!("redis://{}?restart_guard=0s&timeout=500ms", node.address());
    let running = verify(&[&url, "--for", "20s", "--no-faults", "--json"])?;
    begun("a lock", async || Ok(!left(&node).await?.is_empty())).await?;
    node.kill()?;
    let ran = Ran::of(running.wait_with_output().await?)?;
    let store = ran.store()?;
    for clause in &store.clauses {
        ensure!(clause.verdict != Verdict::Fails, "{clause:#?}");
    }
    ensure!(ran.code == 2, "{ran:#?}");
    let is_open = |clause: &ClauseVerdict| clause.verdict == Verdict::Unknown;
    ensure!(store.clauses.iter().any(is_open), "{store:#?}");
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
    begun("the record of the server", async || {
        Ok(!node.command(&["KEYS", "*"]).await?.array()?.is_empty())
    })
    .await?;
    stopped_at(&node, running, Signal::INT).await
}

/// A server that answers nothing holds up neither the settings nor their end.
async fn ctrl_c_while_settings_are_read() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    proxy.set(Direction::ToClient, Fault::Hold);
    let url = format!("redis://{}?timeout=1m", proxy.address());
    let running = verify(&[&url])?;
    begun("the first request", async || {
        Ok(proxy.seen(Direction::ToServer) > 0)
    })
    .await?;
    stopped(running, Signal::INT).await?;
    let keys = node.command(&["KEYS", "*"]).await?.array()?;
    ensure!(keys.is_empty(), "left behind: {keys:?}");
    Ok(())
}

/// Stops a verification when a lock whose name has `part` is held.
async fn stopped_leaves_nothing(signal: Signal, part: &str) -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let url = format!("redis://{}?restart_guard=0s", node.address());
    let running = verify(&[&url, "--for", RUN_FOR])?;
    begun("a lock", async || {
        Ok(left(&node).await?.iter().any(|key| key.contains(part)))
    })
    .await?;
    stopped_at(&node, running, signal).await
}

/// Stops a verification, which leaves nothing.
async fn stopped_at(node: &Node, running: Child, signal: Signal) -> Outcome {
    let ran = stopped(running, signal).await?;
    let left = left(node).await?;
    ensure!(left.is_empty(), "left behind: {left:?}; {ran:#?}");
    // Nor a client: the last one is the test's own.
    let clients = node.info("connected_clients").await?;
    ensure!(clients == "1", "{clients} clients");
    Ok(())
}
