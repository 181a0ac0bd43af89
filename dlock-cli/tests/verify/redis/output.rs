//! The verdict for people.

use dlock_servers::redis::Persistence;
use dlock_verify::{ensure, support::Outcome};
use libtest_mimic::Trial;

use super::server::start;
use crate::support::{ran, trial};

pub(super) fn trials() -> Vec<Trial> {
    vec![
        trial(
            "redis::a_server_that_dlock_refuses",
            a_server_that_dlock_refuses,
        ),
        trial("redis::people_get_a_table", people_get_a_table),
    ]
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
