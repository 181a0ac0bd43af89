//! Redis: a healthy server, what endangers it, and what a verification leaves behind.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

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
            "redis::a_server_that_dlock_refuses",
            a_server_that_dlock_refuses,
        ),
        trial(
            "redis::the_rights_of_the_readme_suffice",
            the_rights_of_the_readme_suffice,
        ),
        trial("redis::a_user_without_rights", a_user_without_rights),
        trial(
            "redis::a_first_reply_that_is_late",
            a_first_reply_that_is_late,
        ),
        trial(
            "redis::the_wait_for_the_first_lock",
            the_wait_for_the_first_lock,
        ),
        trial(
            "redis::keys_that_are_evicted_in_that_time",
            keys_that_are_evicted_in_that_time,
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

/// Accepting what is found would not make dlock use the server.
async fn a_server_that_dlock_refuses() -> Outcome {
    let lines = ["maxmemory 50mb", "maxmemory-policy allkeys-lru"];
    let node = start(Persistence::AofAlways, &lines).await?;
    let ran = ran(&[&format!("redis://{}", node.address())]).await?;
    ensure!(ran.code == 1, "{ran:#?}");
    ensure!(!ran.stdout.contains("--accept"), "{}", ran.stdout);
    let reasons = ran.stdout.matches("dlock cannot use the store").count();
    ensure!(reasons == 1, "{}", ran.stdout);
    for part in ["may_evict=true in the URL", "unknown: K1 to K13"] {
        ensure!(ran.stdout.contains(part), "no {part:?}: {}", ran.stdout);
    }
    Ok(())
}

/// The rights in some rows of the README's table, as rules.
fn rights(rows: &[&str]) -> Vec<String> {
    let readme = include_str!("../../../dlock-redis/README.md");
    let row = |row: &&str| {
        readme
            .lines()
            .find(|line| line.starts_with(&format!("| {row} |")))
    };
    let commands = rows
        .iter()
        .filter_map(row)
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let commands = commands.filter(|word| word.chars().all(|c| c.is_uppercase() || c == ' '));
    let rules = commands.map(|command| format!("+{}", command.to_lowercase().replace(' ', "|")));
    rules.collect()
}

/// A server with an account that has only these rights.
async fn with_account(rows: &[&str]) -> Outcome<(Node, String)> {
    let node = start(Persistence::AofAlways, &[]).await?;
    let mut user = vec!["ACL", "SETUSER", "shop", "on", ">secret", "-@all"];
    user.extend(["~dlock:*", "&{dlock:*"]);
    let rights = rights(rows);
    user.extend(rights.iter().map(String::as_str));
    node.command(&user).await?;
    let url = format!("redis://shop:secret@{}?restart_guard=0s", node.address());
    Ok((node, url))
}

async fn the_rights_of_the_readme_suffice() -> Outcome {
    let rows = ["all: connections", "all: locks", "recommended"];
    let (_node, url) = with_account(&rows).await?;
    let ran = ran(&[&url, "--quick"]).await?;
    // Of what it may not read, each id is named.
    ensure!(ran.code == 2, "{ran:#?}");
    ensure!(ran.stdout.contains("unknown: redis."), "{}", ran.stdout);
    ensure!(!ran.stdout.contains("could not check"), "{}", ran.stdout);
    let accepted = ["redis.restart", "redis.idle-timeout", "redis.latency"];
    quick_holds(&url, &accepted).await?;
    let rows = [&rows[..], &["`dlock verify`"]].concat();
    let (_node, url) = with_account(&rows).await?;
    quick_holds(&url, &[]).await?;
    Ok(())
}

/// As a wrong password: no verdict, and a code of its own.
async fn a_user_without_rights() -> Outcome {
    let (_node, url) = with_account(&["all: connections"]).await?;
    let ran = ran(&[&url, "--quick"]).await?;
    ensure!(
        ran.code == 64 && ran.stderr.lines().count() == 1 && ran.stdout.is_empty(),
        "{ran:#?}"
    );
    Ok(())
}

/// Longer than the ttl of the first lock.
const LATE: Duration = Duration::from_secs(2);

/// The first lock is requested again.
async fn a_first_reply_that_is_late() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    // The guard is the time to set the fault in.
    let keys = "ttl=4s&restart_guard=4s&timeout=10s";
    let url = format!("redis://{}?{keys}", proxy.address());
    let running = verify(&[&url, "--for", "12s", "--no-faults", "--json"])?;
    begun("the record of the server", async || {
        Ok(!node.command(&["KEYS", "*"]).await?.array()?.is_empty())
    })
    .await?;
    proxy.set(Direction::ToClient, Fault::Delay(LATE));
    begun("a lock", async || Ok(!left(&node).await?.is_empty())).await?;
    // Its reply is still on its way when it has expired.
    begun("its end", async || Ok(left(&node).await?.is_empty())).await?;
    proxy.set(Direction::ToClient, Fault::None);
    let ran = Ran::of(running.wait_with_output().await?)?;
    let store = ran.store()?;
    ensure!(store.error.is_none() && store.grants > 0, "{ran:#?}");
    Ok(())
}

async fn the_wait_for_the_first_lock() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let url = format!("redis://{}?ttl=4s&restart_guard=4s", node.address());
    let ran = ran(&[&url, "--for", "1ms", "--accept", "K1"]).await?;
    ensure!(ran.code == 0, "{ran:#?}");
    ensure!(
        ran.stderr.contains("waiting for the first lock"),
        "{ran:#?}"
    );
    ensure!(ran.stdout.contains("s for the first lock"), "{ran:#?}");
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
    let own = "dlock's own keys {all}fence and {all}record stay";
    ensure!(ran.stderr.contains(own), "{ran:#?}");
    // Nor a client: the last one is the test's own.
    let clients = node.info("connected_clients").await?;
    ensure!(clients == "1", "{clients} clients");
    Ok(())
}
