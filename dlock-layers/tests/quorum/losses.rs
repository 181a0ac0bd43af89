//! Losses, and that there are none while enough nodes hold a lock.

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Clock, ErrorKind, Holder, LockName, Locker, LostCause, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
    memory::{Fault, Memory, Operation},
};
use dlock_layers::quorum::{Node, QuorumLock, QuorumOptions};
use tokio::runtime::Handle;

use crate::support::{Nodes, TTL, program_of, refused, time_of};

#[tokio::test(start_paused = true)]
async fn with_too_many_nodes_down_there_is_no_grant_and_no_loss_before_the_deadline() -> Result<()>
{
    for fault in [Fault::LoseRequest, Fault::Stall] {
        let nodes = Nodes::new(3);
        let (one, other) = (nodes.program().await?, nodes.program().await?);
        let guard = one.acquire("a").await?;
        nodes.fail(0, fault);
        nodes.fail(1, fault);
        let none = other.try_acquire("b").await;
        let unavailable = refused(none, "1 of 3 nodes answered, 2 are needed: node 1: ");
        assert_eq!(unavailable, ErrorKind::Unavailable);
        let waited = other.acquire("b").wait(Duration::from_secs(1)).await;
        assert_eq!(refused(waited, "1 of 3 nodes"), ErrorKind::Unavailable);
        // No other client can have it: the two nodes that hold it have not answered.
        let (took, cause) = time_of(guard.lost()).await;
        assert_eq!(cause, LostCause::Expired);
        assert!(TTL / 2 < took && took <= TTL, "{took:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn too_many_nodes_that_forget_are_a_loss() -> Result<()> {
    let nodes = Nodes::new(5);
    let options = QuorumOptions::new().need(4);
    let locks = nodes.program_with(&options).await?;
    // Reported by the stores at once.
    let guard = locks.acquire("a").await?;
    nodes.0[0].revoke("a");
    assert!(guard.is_held());
    nodes.0[1].revoke("a");
    assert!(!guard.is_held());
    assert_eq!(guard.lost().await, LostCause::Removed);
    drop(guard);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(nodes.used(), 0);
    // Found by the next renewal.
    let guard = locks.acquire("a").await?;
    nodes.forgets(0);
    nodes.forgets(1);
    assert!(guard.is_held());
    assert!(guard.renew().await.expect_err("lost").is_lost());
    drop(guard);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_loss_leaves_a_lock_no_longer_than_enough_nodes_hold_it() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    let guard = locks.acquire("a").no_renewal().await?;
    tokio::time::sleep(TTL / 2).await;
    nodes.down(0);
    guard.renew().await?;
    assert!(guard.remaining() > TTL * 9 / 10);
    // The first node ends it with the first ttl, and only it and the second one are left.
    nodes.down(2);
    nodes.0[2].revoke("a");
    let (took, cause) = time_of(guard.lost()).await;
    assert_eq!(cause, LostCause::Expired);
    assert!(took <= TTL / 2, "{took:?}");
    Ok(())
}

/// The guard has the deadline of before the loss. The machine sleeps past that of the nodes that are left.
#[tokio::test(start_paused = true)]
async fn a_suspended_machine_hears_of_a_loss_within_a_second() -> Result<()> {
    let clock = Clock::pausable();
    let nodes = Nodes((0..3).map(|_| Memory::with_clock(clock.clone())).collect());
    let locks = nodes.program().await?;
    let guard = locks.acquire("a").no_renewal().await?;
    tokio::time::sleep(TTL / 2).await;
    nodes.down(0);
    guard.renew().await?;
    nodes.down(2);
    nodes.0[2].revoke("a");
    // The task that waits for their end has begun.
    tokio::time::sleep(Duration::from_millis(1)).await;
    clock.jump(TTL * 3 / 4);
    let (took, cause) = time_of(guard.lost()).await;
    assert_eq!(cause, LostCause::Expired);
    assert!(took <= Duration::from_secs(1), "{took:?}");
    Ok(())
}

/// A store that reports the loss of a lock at its renewal, before it answers.
#[derive(Debug)]
struct ReportsFirst(Memory);

#[async_trait]
impl DistributedLock for ReportsFirst {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.0.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.0.revoke(lease.name.as_str());
        self.0.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.0.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.0.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_not_read_yet_are_no_loss_by_time() -> Result<()> {
    let nodes = Nodes::new(5);
    let [first, second, rest @ ..] = &nodes.0[..] else {
        panic!("five nodes")
    };
    let rest = rest.iter().cloned().map(Node::new);
    let all = [
        Node::new(first.clone()),
        Node::new(ReportsFirst(second.clone())),
    ];
    let locks = program_of(all.into_iter().chain(rest), &QuorumOptions::new()).await?;
    let guard = locks.acquire("a").await?;
    // From here on the end of the others is watched.
    first.revoke("a");
    tokio::time::sleep(Duration::from_millis(1)).await;
    nodes.forgets(2);
    assert!(guard.renew().await.expect_err("lost").is_lost());
    assert_eq!(guard.lost().await, LostCause::Removed);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_on_after_a_lock_is_lost() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    let guard = locks.acquire("a").await?;
    nodes.0[0].revoke("a");
    drop(guard);
    locks.shutdown(Duration::from_secs(1)).await?;
    drop(locks);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0);
    Ok(())
}

/// A release that no node has confirmed in time may still be executed, and would free a lock of the same identity.
#[tokio::test(start_paused = true)]
async fn a_node_is_taken_again_with_another_identity_while_a_release_may_come() -> Result<()> {
    let nodes = Nodes::new(3);
    let all = nodes.0.iter().cloned().map(Node::new);
    // The release is given up before its first try ends.
    let locks = Locker::builder(QuorumLock::open(all, &QuorumOptions::new()).await?)
        .ttl(Duration::from_secs(2))
        .build()?;
    let guard = locks.acquire("a").await?;
    nodes.0[2].inject(Operation::Release, Fault::Stall);
    nodes.forgets(2);
    tokio::time::sleep(Duration::from_millis(4_500)).await;
    let (first, again) = (nodes.holder(0).await?, nodes.holder(2).await?);
    assert!(again.is_some() && again != first, "{again:?}");
    guard.release().await?;
    Ok(())
}
