//! Waiters: one node after the other, without polling, and never two holders.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Locker, Result,
    memory::{Fault, Operation},
};
use dlock_layers::quorum::{Node, QuorumOptions};
use tokio::task::JoinSet;

use crate::support::{Mute, Nodes, TTL, Waiting, program_of, time_of};

#[tokio::test(start_paused = true)]
async fn a_release_hands_over_at_once() -> Result<()> {
    let nodes = Nodes::new(5);
    let (one, other) = (nodes.program().await?, nodes.program().await?);
    let guard = one.acquire("a").await?;
    let waiting = Waiting::start(&other);
    tokio::time::sleep(TTL * 2).await;
    let before = guard.token();
    let (took, granted) = time_of(async {
        guard.release().await?;
        waiting.granted().await
    })
    .await;
    let guard = granted?;
    assert!(took < Duration::from_millis(5), "{took:?}");
    assert!(guard.token() > before);
    assert!(guard.remaining() > TTL * 9 / 10, "a wait eats no ttl");
    assert_eq!(nodes.used(), 5);
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

/// A wait takes several rounds, and the nodes have the identity of the last one.
#[tokio::test(start_paused = true)]
async fn inspect_shows_the_identity_of_a_guard_that_was_waited_for() -> Result<()> {
    let nodes = Nodes::new(3);
    let (one, other) = (nodes.program().await?, nodes.program().await?);
    let guard = one.acquire("a").await?;
    let waiting = Waiting::start(&other);
    tokio::time::sleep(TTL).await;
    guard.release().await?;
    let guard = waiting.granted().await?;
    let holder = one.inspect("a").await?.expect("a holder");
    assert_eq!(holder.attempt, Some(guard.id()));
    guard.release().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_does_not_wait_for_a_silent_node() -> Result<()> {
    for fault in [Fault::Stall, Fault::LoseRequest] {
        let nodes = Nodes::new(3);
        let (one, other) = (nodes.program().await?, nodes.program().await?);
        nodes.fail(0, fault);
        let guard = one.acquire("a").await?;
        let waiting = Waiting::start(&other);
        tokio::time::sleep(TTL * 2).await;
        let (took, granted) = time_of(async {
            guard.release().await?;
            waiting.granted().await
        })
        .await;
        granted?.release().await?;
        assert!(took < Duration::from_millis(60), "{took:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_part_is_kept_while_the_next_node_is_waited_for() -> Result<()> {
    let nodes = Nodes::new(3);
    let (one, other) = (nodes.program().await?, nodes.program().await?);
    let guard = one.acquire("a").await?;
    let waiting = Waiting::start(&other);
    tokio::time::sleep(TTL / 10).await;
    // The waiter has the first node now, and waits at the second one for long.
    nodes.forgets(0);
    tokio::time::sleep(TTL * 3).await;
    assert!(guard.is_held());
    assert_ne!(nodes.holder(0).await?, nodes.holder(1).await?);
    assert_eq!(nodes.used(), 3);
    // Its part is lost, too: the others are enough.
    nodes.0[0].revoke("a");
    tokio::time::sleep(TTL).await;
    guard.release().await?;
    waiting.granted().await?.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_goes_away_leaves_nothing() -> Result<()> {
    let nodes = Nodes::new(3);
    let (one, other) = (nodes.program().await?, nodes.program().await?);
    let guard = one.acquire("a").await?;
    nodes.forgets(0);
    let waited = other.acquire("a").wait(TTL).await;
    assert!(waited.expect_err("another holder").is_contended());
    tokio::time::sleep(Duration::from_secs(1)).await;
    guard.renew().await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    guard.release().await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_release_that_one_node_has_lost_delays_no_waiter_for_long() -> Result<()> {
    let nodes = Nodes::new(3);
    let (one, other) = (nodes.program().await?, nodes.program().await?);
    let guard = one.acquire("a").await?;
    let waiting = Waiting::start(&other);
    tokio::time::sleep(TTL * 2).await;
    // The waiter is in the queue of this node.
    nodes.0[0].inject(Operation::Release, Fault::LoseRequest);
    guard.release().await?;
    let (took, granted) = time_of(waiting.granted()).await;
    assert!(took < Duration::from_millis(1_100), "{took:?}");
    granted?.release().await?;
    nodes.back(0);
    tokio::time::sleep(TTL * 2).await;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_reports_nothing_for_a_moment_is_not_given_up() -> Result<()> {
    let nodes = Nodes::new(3);
    let one = nodes.program().await?;
    let guard = one.acquire("a").await?;
    let waits = Arc::<AtomicUsize>::default();
    let all = nodes.0.iter().map(|store| {
        Node::new(Mute {
            store: store.clone(),
            for_: Duration::from_millis(800),
            waits: waits.clone(),
        })
    });
    let other = program_of(all, &QuorumOptions::new()).await?;
    let waiting = Waiting::start(&other);
    tokio::time::sleep(Duration::from_millis(300)).await;
    guard.release().await?;
    let (took, granted) = time_of(waiting.granted()).await;
    assert!(took < Duration::from_millis(1_500), "{took:?}");
    assert_eq!(nodes.used(), 3);
    // One at each node that was needed: none was given up, and begun again.
    assert_eq!(waits.load(Ordering::SeqCst), 2);
    granted?.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_turns_silent_during_a_wait_does_not_hold_it_up() -> Result<()> {
    let nodes = Nodes::new(3);
    let one = nodes.program().await?;
    let guard = one.acquire("a").await?;
    let mute = Node::new(Mute {
        store: nodes.0[0].clone(),
        for_: TTL * 100,
        waits: Arc::default(),
    });
    let rest = nodes.0[1..].iter().cloned().map(Node::new);
    let other = program_of([mute].into_iter().chain(rest), &QuorumOptions::new()).await?;
    let waiting = Waiting::start(&other);
    tokio::time::sleep(Duration::from_millis(300)).await;
    guard.release().await?;
    let (took, granted) = time_of(waiting.granted()).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    granted?.release().await?;
    Ok(())
}

/// How many hold the lock, and the last token.
#[derive(Default)]
struct Seen {
    holders: AtomicUsize,
    last: AtomicU64,
    grants: AtomicUsize,
}

async fn work(locks: Locker, seen: Arc<Seen>, rounds: usize) -> Result<()> {
    for _ in 0..rounds {
        let (took, guard) = time_of(async { locks.acquire("a").wait(TTL * 100).await }).await;
        assert!(took < TTL * 3, "a waiter starves: {took:?}");
        let guard = guard?;
        assert_eq!(
            seen.holders.fetch_add(1, Ordering::SeqCst),
            0,
            "two holders"
        );
        let token = guard.token().get();
        let before = seen.last.swap(token, Ordering::SeqCst);
        assert!(before < token, "{before} {token}");
        tokio::time::sleep(Duration::from_millis(1)).await;
        seen.grants.fetch_add(1, Ordering::SeqCst);
        seen.holders.fetch_sub(1, Ordering::SeqCst);
        if let Err(error) = guard.release().await {
            // One node may be unclean since the grant, while another one fails. It goes on in the background.
            assert!(error.is_retryable(), "{error}");
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn many_clients_are_never_two_holders_and_none_starves() -> Result<()> {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 25;
    for count in [2, 3, 5] {
        let nodes = Nodes::new(count);
        let seen = Arc::<Seen>::default();
        let mut clients = JoinSet::new();
        for _ in 0..CLIENTS {
            clients.spawn(work(nodes.program().await?, seen.clone(), ROUNDS));
        }
        // Nodes go and come, one at a time, so that there are enough.
        if count > 2 {
            for round in 0..20 {
                nodes.fail(round % count, [Fault::Stall, Fault::LoseReply][round % 2]);
                tokio::time::sleep(Duration::from_millis(70)).await;
                nodes.back(round % count);
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        }
        while let Some(ended) = clients.join_next().await {
            ended.unwrap_or_else(|panic| panic!("a client panicked: {panic}"))?;
        }
        assert_eq!(seen.grants.load(Ordering::SeqCst), CLIENTS * ROUNDS);
        tokio::time::sleep(TTL * 2).await;
        assert_eq!(nodes.used(), 0);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_part_that_is_kept_has_the_whole_ttl_at_the_grant() -> Result<()> {
    let nodes = Nodes::new(3);
    let options = QuorumOptions::new().need(3);
    let one = nodes.program_with(&options).await?;
    let other = nodes.program_with(&options).await?;
    let guard = one.acquire("a").no_renewal().await?;
    let waiting = Waiting::start(&other);
    nodes.forgets(0);
    // Before the first renewal of a part.
    tokio::time::sleep(TTL / 4).await;
    guard.release().await?;
    let guard = waiting.granted().await?;
    assert!(guard.remaining() > TTL * 9 / 10, "{:?}", guard.remaining());
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}
