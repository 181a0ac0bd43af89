//! `docs/moving.md`: from Redis to etcd and back, with a resource that remembers the largest token.

use dlock::Token;
use dlock_servers::{Program, etcd, redis};
use dlock_verify::{
    ensure,
    support::{Outcome, SOON},
};

/// The programs of the two servers, if this machine has them.
pub(crate) fn programs() -> Result<(Program, Program), String> {
    Ok((
        Program::installed("redis-server")?,
        Program::installed("etcd")?,
    ))
}

pub(crate) async fn tokens_go_on_growing() -> Outcome {
    let (redis, etcd) = programs()?;
    let redis = redis::Node::start(&redis, &redis::Options::default()).await?;
    let etcd = etcd::Node::start(&etcd, &etcd::Options::default()).await?;
    let old = format!("redis://{}?restart_guard=0s", redis.address());
    let new = format!("etcd://{}", etcd.address());

    let before = grant(&old).await?;
    let last = grant(&old).await?;
    let without = grant(&new).await?;
    ensure!(before < last, "{before} {last}");
    ensure!(without < last, "a base is needed: {without} {last}");

    let moved = format!("{new}?token_base={last}");
    let first = grant(&moved).await?;
    let second = grant(&moved).await?;
    ensure!(last < first && first < second, "{last} {first} {second}");

    // Back again.
    let back = grant(&format!("{old}&token_base={second}")).await?;
    ensure!(second < back, "{second} {back}");
    Ok(())
}

/// The token of one grant, in a program of its own.
async fn grant(url: &str) -> Outcome<Token> {
    let locks = dlock::connect(url).await?;
    let guard = locks.acquire("last-token").await?;
    let token = guard.token();
    guard.release().await?;
    locks.shutdown(SOON).await?;
    Ok(token)
}
