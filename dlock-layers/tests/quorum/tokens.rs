//! Tokens that grow over independent counters.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Fencing, Result,
    backend::DistributedLock,
    memory::{Fault, Operation},
};
use dlock_layers::quorum::{Node, QuorumLock, QuorumOptions};

use crate::support::{Delayed, Nodes, TTL, program_of, refused};

#[tokio::test(start_paused = true)]
async fn tokens_grow_with_any_nodes_down() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    // The counters of the nodes differ.
    let alone = dlock_core::Locker::builder(nodes.0[0].clone()).build()?;
    for _ in 0..100 {
        alone.acquire("b").await?.release().await?;
    }
    let mut last = 0;
    for down in [1, 0, 2, 0, 1, 2, 0] {
        nodes.down(down);
        let guard = locks.acquire("a").await?;
        assert!(guard.token().get() > last, "{last} {}", guard.token());
        last = guard.token().get();
        let holder = locks.inspect("a").await?.expect("a holder");
        assert_eq!(holder.token, Some(guard.token()));
        guard.release().await?;
        nodes.back(down);
        tokio::time::sleep(TTL * 2).await;
    }
    assert!(last > 100);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_token_that_no_majority_confirms_is_no_grant() -> Result<()> {
    for fault in [Fault::LoseRequest, Fault::Stall, Fault::Deny] {
        let nodes = Nodes::new(3);
        let locks = nodes.program().await?;
        let alone = dlock_core::Locker::builder(nodes.0[0].clone()).build()?;
        alone.acquire("b").await?.release().await?;
        // The first node has a larger token than the others.
        nodes.0[1].inject(Operation::Raise, fault);
        nodes.0[2].inject(Operation::Raise, fault);
        let none = locks.try_acquire("a").await;
        assert_eq!(
            refused(none, "1 of 3 nodes confirmed the token, 2 are needed"),
            ErrorKind::Unavailable
        );
        assert_eq!(nodes.used(), 0);
        nodes.back(1);
        locks.acquire("a").await?.release().await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn without_a_counter_that_can_be_raised_there_is_no_fencing() -> Result<()> {
    let nodes = Nodes::new(3);
    let plain = || {
        nodes.0.iter().cloned().map(|store| {
            Node::new(Delayed {
                store,
                requests: Duration::ZERO,
                replies: Duration::ZERO,
            })
        })
    };
    let quorum = QuorumLock::open(plain(), &QuorumOptions::new()).await?;
    assert_eq!(quorum.capabilities().fencing, Fencing::None);
    let locks = program_of(plain(), &QuorumOptions::new()).await?;
    let guard = locks.acquire("a").await?;
    let first = guard.token();
    guard.release().await?;
    let guard = locks.acquire("a").await?;
    assert_ne!(guard.token(), first);
    let holder = locks.inspect("a").await?.expect("a holder");
    assert_eq!(holder.token, None, "the nodes do not know the token");
    guard.renew().await?;
    guard.release().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_forgotten_the_lock_does_not_confirm_its_token() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    let alone = dlock_core::Locker::builder(nodes.0[0].clone()).build()?;
    alone.acquire("b").await?.release().await?;
    nodes.0[1].inject(Operation::Raise, Fault::Stall);
    nodes.0[2].inject(Operation::Raise, Fault::Stall);
    let trying = tokio::spawn(async move { locks.try_acquire("a").await });
    tokio::time::sleep(QuorumOptions::NODE_TIMEOUT / 2).await;
    for node in [1, 2] {
        nodes.forgets(node);
        nodes.back(node);
    }
    let none = trying.await.unwrap_or(Ok(None));
    assert_eq!(
        refused(none, "1 of 3 nodes confirmed the token"),
        ErrorKind::Unavailable
    );
    assert_eq!(nodes.used(), 0);
    Ok(())
}
