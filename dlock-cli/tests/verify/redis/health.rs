//! A healthy server, and one that ends.

use dlock_servers::redis::{Flavour, Node, Options, Persistence};
use dlock_verify::{
    ensure,
    support::Outcome,
    verdict::{CaseResult, ClauseVerdict, Severity, Verdict},
};
use libtest_mimic::Trial;

use super::server::{left, start};
use crate::{
    stop::begun,
    support::{Ran, quick_holds, ran, trial, verify},
    traffic::{self, Counters},
};

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

/// All cases of a clause or two may end before a server falls silent.
const OPEN_MIN: usize = 11;

/// Entries that more locks than one have.
const LOCKS_MIN: usize = 4;

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial("redis::a_healthy_server_holds", a_healthy_server_holds),
        trial("redis::a_quick_run_on_valkey", a_quick_run_on_valkey),
        trial("redis::a_server_that_goes_away", a_server_that_goes_away),
        trial("redis::a_server_that_is_silent", a_server_that_is_silent),
        trial(
            "redis::a_server_that_closes_idle_connections",
            a_server_that_closes_idle_connections,
        ),
    ]
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
    // The server has answered before.
    ensure!(!ran.stdout.contains("TLS"), "{ran:#?}");
    let is_open = |clause: &ClauseVerdict| clause.verdict == Verdict::Unknown;
    ensure!(store.clauses.iter().any(is_open), "{store:#?}");
    Ok(())
}

/// No clause holds by the few cases that ended before the server fell silent, and the time waited is shown.
async fn a_server_that_is_silent() -> Outcome {
    let node = start(Persistence::AofAlways, &[]).await?;
    let url = format!("redis://{}?restart_guard=0s", node.address());
    let running = verify(&[&url, "--for", "15s", "--no-faults", "--json"])?;
    // More than the first lock: cases run.
    let locks = async || Ok(left(&node).await?.len() >= LOCKS_MIN);
    begun("locks of cases", locks).await?;
    node.stop()?;
    let ran = Ran::of(running.wait_with_output().await?)?;
    let store = ran.store()?;
    for clause in &store.clauses {
        let verdict = clause.verdict;
        ensure!(
            !matches!(verdict, Verdict::Fails | Verdict::NotTried),
            "{clause:#?}"
        );
        let not_tried = |case: &CaseResult| case.verdict == Verdict::NotTried;
        ensure!(!clause.cases.iter().any(not_tried), "{clause:#?}");
    }
    ensure!(ran.code == 2, "{ran:#?}");
    let is_open = |clause: &&ClauseVerdict| clause.verdict == Verdict::Unknown;
    let open = store.clauses.iter().filter(is_open).count();
    ensure!(open >= OPEN_MIN, "{open} clauses are open: {store:#?}");
    let mut assumptions = store.assumptions.iter();
    let slowest = assumptions.find(|assumption| assumption.name == "slowest reply");
    let slowest = slowest.ok_or("no slowest reply")?;
    // The time that was waited, in seconds.
    let is_short = ["ms", "µs"]
        .iter()
        .any(|unit| slowest.found.ends_with(unit));
    ensure!(!is_short, "{slowest:#?}");
    Ok(())
}

/// The connection that reads the clock is used all the time.
async fn a_server_that_closes_idle_connections() -> Outcome {
    let node = start(Persistence::AofAlways, &["timeout 1"]).await?;
    let url = format!("redis://{}?restart_guard=0s", node.address());
    let ran = ran(&[&url, "--for", "8s", "--no-faults", "--json"]).await?;
    let store = ran.store()?;
    let unread = store.findings.iter();
    let unread = unread.filter(|finding| finding.severity == Severity::Unknown);
    ensure!(unread.count() == 0, "{:#?}", store.findings);
    Ok(())
}
