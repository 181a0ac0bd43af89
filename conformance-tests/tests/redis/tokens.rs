//! Tokens grow, whatever the server forgets (K5).

use std::time::Duration;

use conformance_tests::servers::{
    Program,
    redis::{Node, Persistence},
};
use dlock::Locker;

use crate::kit::{Outcome, cases, connect, follow, start, start_keeping, start_pair, take, until};

cases![
    k05_tokens_grow_over_flushall,
    k05_tokens_grow_over_a_deleted_counter,
    k05_tokens_grow_over_kill_and_restart_without_persistence,
    k05_tokens_grow_over_kill_and_restart_with_persistence,
    k05_tokens_grow_over_the_restart_from_an_old_snapshot,
    k05_tokens_grow_over_the_promotion_of_a_lagging_replica,
    k05_tokens_grow_for_one_client_though_a_clock_is_behind,
    k05_a_counter_ends_by_itself,
];

/// A server may come back with a lock that was held when it wrote its snapshot.
const TTL: Duration = Duration::from_secs(5);

/// The largest token so far.
#[derive(Default)]
struct Tokens(u64);

impl Tokens {
    /// Takes and releases `a` so many times.
    async fn grow(&mut self, locker: &Locker, grants: u32) -> Outcome {
        for _ in 0..grants {
            let guard = locker.acquire("a").ttl(TTL).await?;
            let token = guard.token().get();
            assert!(token > self.0, "{token} after {}", self.0);
            self.0 = token;
            guard.release().await?;
        }
        Ok(())
    }
}

async fn k05_tokens_grow_over_flushall(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    for _ in 0..50 {
        tokens.grow(&locker, 10).await?;
        node.ask(&["FLUSHALL"]).await?;
    }
    Ok(())
}

async fn k05_tokens_grow_over_a_deleted_counter(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    for _ in 0..50 {
        tokens.grow(&locker, 10).await?;
        assert_eq!(node.ask(&["DEL", "{dlock:a}:fence"]).await?.int()?, 1);
    }
    // Also under a holder.
    let held = take(&locker, "a").await?;
    node.ask(&["FLUSHALL"]).await?;
    let next = take(&locker, "a").await?;
    assert!(next.token() > held.token());
    Ok(())
}

async fn over_restarts(program: &Program, persistence: Persistence, rounds: u32) -> Outcome {
    let mut node = start_keeping(program, persistence, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    for _ in 0..rounds {
        tokens.grow(&locker, 20).await?;
        node.restart().await?;
    }
    tokens.grow(&locker, 20).await
}

async fn k05_tokens_grow_over_kill_and_restart_without_persistence(program: Program) -> Outcome {
    over_restarts(&program, Persistence::None, 10).await
}

async fn k05_tokens_grow_over_kill_and_restart_with_persistence(program: Program) -> Outcome {
    for persistence in [
        Persistence::AofAlways,
        Persistence::AofEverySecond,
        Persistence::Rdb,
    ] {
        over_restarts(&program, persistence, 4).await?;
    }
    Ok(())
}

/// What was granted after the snapshot is forgotten, but the counter is there: an old one.
async fn k05_tokens_grow_over_the_restart_from_an_old_snapshot(program: Program) -> Outcome {
    let mut node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    for _ in 0..5 {
        tokens.grow(&locker, 5).await?;
        node.ask(&["SAVE"]).await?;
        tokens.grow(&locker, 20).await?;
        node.restart().await?;
        let counter = node.ask(&["GET", "{dlock:a}:fence"]).await?.text()?;
        assert!(counter.parse::<u64>()? < tokens.0, "it forgot nothing");
    }
    tokens.grow(&locker, 5).await
}

/// A replica that did not get the last grants takes over: its counter is an old one.
async fn k05_tokens_grow_over_the_promotion_of_a_lagging_replica(program: Program) -> Outcome {
    let (primary, replica) = start_pair(&program).await?;
    let mut tokens = Tokens::default();
    let locker = connect(primary.address(), "").await?;
    tokens.grow(&locker, 5).await?;
    let counter = async |node: &Node| node.ask(&["GET", "{dlock:a}:fence"]).await;
    until("it has the counter", async || {
        Ok(counter(&replica).await? == counter(&primary).await?)
    })
    .await?;
    // What is granted from now on it does not get.
    follow(&replica, None).await?;
    tokens.grow(&locker, 20).await?;
    drop(primary);
    let counter = counter(&replica).await?.text()?;
    assert!(counter.parse::<u64>()? < tokens.0, "it does not lag");
    let locker = connect(replica.address(), "").await?;
    tokens.grow(&locker, 5).await
}

/// The counter was begun by a server whose clock was ahead, and the one that comes after it knows
/// nothing of that; the client does.
async fn k05_tokens_grow_for_one_client_though_a_clock_is_behind(program: Program) -> Outcome {
    // In microseconds, as the tokens.
    const AHEAD: u64 = 60_000_000;
    let mut node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    tokens.grow(&locker, 1).await?;
    for _ in 0..3 {
        let ahead = (tokens.0 + AHEAD).to_string();
        node.ask(&["SET", "{dlock:a}:fence", &ahead, "EX", "3600"])
            .await?;
        tokens.grow(&locker, 5).await?;
        node.restart().await?;
        tokens.grow(&locker, 5).await?;
    }
    Ok(())
}

async fn k05_a_counter_ends_by_itself(program: Program) -> Outcome {
    const HOUR: Duration = Duration::from_secs(3600);
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    tokens.grow(&locker, 2).await?;
    let left = node.ask(&["PTTL", "{dlock:a}:fence"]).await?.int()?;
    let left = Duration::from_millis(u64::try_from(left)?);
    assert!(left > HOUR / 2 && left <= HOUR, "{left:?}");
    node.ask(&["PEXPIRE", "{dlock:a}:fence", "1"]).await?;
    until("it has ended", async || {
        Ok(node.ask(&["EXISTS", "{dlock:a}:fence"]).await?.int()? == 0)
    })
    .await?;
    tokens.grow(&locker, 2).await
}
