//! Tokens grow, also when the server has forgotten data (K5).

use std::time::Duration;

use dlock::Locker;
use dlock_servers::{
    Program,
    redis::{Node, Persistence},
};

use crate::support::{
    COUNTER, Outcome, cases, connect, follow, refused, start, start_keeping, start_pair, take,
    until, until_clean,
};

cases![
    k05_tokens_grow_over_flushall,
    k05_tokens_grow_over_a_deleted_counter,
    k05_a_counter_that_is_none_heals,
    k05_a_counter_at_its_end_grants_no_more,
    k05_tokens_grow_on_a_connection_that_outlives_two_promotions,
    k05_tokens_grow_past_those_of_a_cut_off_primary,
    k05_names_share_one_counter,
    k05_tokens_grow_over_kill_and_restart_without_persistence,
    k05_tokens_grow_over_kill_and_restart_with_persistence,
    k05_tokens_grow_over_the_restart_from_an_old_snapshot,
    k05_tokens_grow_over_the_promotion_of_a_lagging_replica,
    k05_tokens_grow_for_one_client_though_a_clock_is_behind,
    k05_a_counter_has_no_end,
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
        node.command(&["FLUSHALL"]).await?;
    }
    Ok(())
}

async fn k05_tokens_grow_over_a_deleted_counter(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    for _ in 0..50 {
        tokens.grow(&locker, 10).await?;
        assert_eq!(node.command(&["DEL", COUNTER]).await?.int()?, 1);
    }
    // Also under a holder.
    let held = take(&locker, "a").await?;
    node.command(&["FLUSHALL"]).await?;
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

/// The grants after the snapshot are forgotten, but the counter is there: an old one.
async fn k05_tokens_grow_over_the_restart_from_an_old_snapshot(program: Program) -> Outcome {
    let mut node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    for _ in 0..5 {
        tokens.grow(&locker, 5).await?;
        node.command(&["SAVE"]).await?;
        tokens.grow(&locker, 20).await?;
        node.restart().await?;
        let counter = node.command(&["GET", COUNTER]).await?.text()?;
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
    let counter = async |node: &Node| node.command(&["GET", COUNTER]).await;
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
        node.command(&["SET", COUNTER, &ahead]).await?;
        tokens.grow(&locker, 5).await?;
        node.restart().await?;
        // Another client begins the new counter, so this one does not begin it above its own tokens.
        drop(take(&connect(node.address(), "").await?, "other").await?);
        tokens.grow(&locker, 5).await?;
    }
    Ok(())
}

async fn k05_a_counter_has_no_end(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    tokens.grow(&locker, 2).await?;
    assert_eq!(node.command(&["PTTL", COUNTER]).await?.int()?, -1);
    Ok(())
}

async fn k05_names_share_one_counter(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut last = 0;
    for number in 0..100 {
        let guard = take(&locker, &number.to_string()).await?;
        assert!(guard.token().get() > last);
        last = guard.token().get();
        guard.release().await?;
    }
    let counters = node.command(&["KEYS", "*fence*"]).await?.array()?;
    assert_eq!(counters.len(), 1);
    Ok(())
}

/// The counter was overwritten, or is above the exact numbers of a script.
async fn k05_a_counter_that_is_none_heals(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let mut tokens = Tokens::default();
    tokens.grow(&locker, 1).await?;
    for value in [
        "x",
        "-5",
        "1e3",
        "nan",
        "inf",
        "9007199254740991",
        "9007199254740992",
        "9223372036854775807",
    ] {
        node.command(&["SET", COUNTER, value]).await?;
        tokens.grow(&locker, 3).await?;
        node.command(&["DEL", COUNTER]).await?;
        node.command(&["LPUSH", COUNTER, value]).await?;
        tokens.grow(&locker, 3).await?;
    }
    until_clean(&node).await
}

/// A smaller token would come after a larger one. The counter stays, also for other clients.
async fn k05_a_counter_at_its_end_grants_no_more(program: Program) -> Outcome {
    const LAST: u64 = (1 << 53) - 2;
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    node.command(&["SET", COUNTER, &format!("+{}", LAST - 1)])
        .await?;
    let guard = take(&locker, "a").await?;
    assert_eq!(guard.token().get(), LAST);
    guard.release().await?;
    for locker in [locker, connect(node.address(), "").await?] {
        let error = refused(locker.try_acquire("a").await)?;
        assert!(error.to_string().contains("exhausted"), "{error}");
    }
    let counter = node.command(&["GET", COUNTER]).await?;
    assert_eq!(counter.text()?, LAST.to_string());
    until_clean(&node).await
}

/// Waits until `replica` has the counter that `primary` has.
async fn until_replicated(primary: &Node, replica: &Node) -> Outcome {
    let counter = async |node: &Node| node.command(&["GET", COUNTER]).await;
    until("it has the counter", async || {
        Ok(counter(replica).await? == counter(primary).await?)
    })
    .await
}

/// The first server becomes a replica and the primary again, and a client's connection to it lives through both.
/// It lacks the last grants of the other one.
async fn k05_tokens_grow_on_a_connection_that_outlives_two_promotions(program: Program) -> Outcome {
    for _ in 0..5 {
        let (first, mut second) = start_pair(&program).await?;
        let idle = connect(first.address(), "").await?;
        let mut tokens = Tokens::default();
        tokens.grow(&idle, 1).await?;
        follow(&second, None).await?;
        follow(&first, Some(&second)).await?;
        let busy = connect(second.address(), "").await?;
        tokens.grow(&busy, 5).await?;
        until_replicated(&second, &first).await?;
        first.stop()?;
        second
            .command(&["CLIENT", "KILL", "TYPE", "replica"])
            .await?;
        tokens.grow(&busy, 20).await?;
        second.kill()?;
        first.cont()?;
        follow(&first, None).await?;
        tokens.grow(&idle, 20).await?;
    }
    Ok(())
}

/// A primary that is cut off grants to one more client; then all are at the new one.
async fn k05_tokens_grow_past_those_of_a_cut_off_primary(program: Program) -> Outcome {
    for _ in 0..5 {
        let (cut_off, new) = start_pair(&program).await?;
        follow(&new, None).await?;
        let mut tokens = Tokens::default();
        let locker = connect(new.address(), "").await?;
        tokens.grow(&locker, 5).await?;
        tokens
            .grow(&connect(cut_off.address(), "").await?, 5)
            .await?;
        tokens.grow(&locker, 100).await?;
    }
    Ok(())
}
