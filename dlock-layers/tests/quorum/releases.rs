//! Releases while nodes are down, silent or slow.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Clock, ErrorKind, Expiry, Guard, Holder, LockName, Result,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed},
    memory::{Fault, Memory, Operation},
};
use dlock_layers::quorum::{Node, QuorumOptions};
use tokio::sync::Notify;

use crate::support::{Nodes, TTL, program_of, refused, time_of};

#[tokio::test(start_paused = true)]
async fn a_release_that_one_node_does_not_confirm_goes_on() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    let guard = locks.acquire("a").await?;
    nodes.0[0].inject(Operation::Release, Fault::LoseRequest);
    guard.release().await?;
    assert_eq!(nodes.used(), 1);
    locks.acquire("a").await?.release().await?;
    nodes.back(0);
    tokio::time::sleep(TTL / 2).await;
    assert_eq!(nodes.used(), 0);
    // Two that do not are too many.
    let guard = locks.acquire("a").await?;
    nodes.0[0].inject(Operation::Release, Fault::LoseRequest);
    nodes.0[1].inject(Operation::Release, Fault::LoseRequest);
    guard.release().await.expect_err("not confirmed");
    nodes.back(0);
    nodes.back(1);
    tokio::time::sleep(TTL / 2).await;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_flaps_does_not_fail_the_release() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    let guard = locks.acquire("a").await?;
    for _ in 0..5 {
        nodes.forgets(2);
        guard.renew().await?;
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(nodes.used(), 3);
    }
    // Each of its lost leases would count as a node that is not free.
    nodes.down(2);
    guard.release().await?;
    assert!(nodes.0[0].names().is_empty() && nodes.0[1].names().is_empty());
    nodes.back(2);
    tokio::time::sleep(TTL).await;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_release_is_not_done_before_the_next_holder_has_enough_nodes() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    nodes.down(2);
    let guard = locks.acquire("a").await?;
    nodes.0[1].inject(Operation::Release, Fault::LoseRequest);
    let text = "no answer";
    assert_eq!(refused(guard.release().await, text), ErrorKind::Unavailable);
    // It goes on in the background.
    nodes.back(1);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(nodes.0[1].names().is_empty());
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_the_release_in_all_nodes() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    let guard = locks.acquire("a").await?;
    nodes.0[0].inject(Operation::Release, Fault::Stall);
    guard.release().await?;
    let stalled = nodes.0[0].clone();
    let back = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stalled.clear_faults();
    });
    let (took, ended) = time_of(locks.shutdown(Duration::from_secs(5))).await;
    ended?;
    assert!(took >= Duration::from_millis(200), "{took:?}");
    back.await.expect("no panic");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_node_that_turns_silent_during_a_release_does_not_fail_it() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    // Passed over at the grant, so that nothing of it is there.
    nodes.silent(2);
    locks.acquire("before").await?.release().await?;
    let guard = locks.acquire("a").await?;
    nodes.back(2);
    tokio::time::sleep(Duration::from_secs(1)).await;
    locks.acquire("probe").await?.release().await?;
    // It turns silent while the second node is slow.
    nodes.silent(2);
    nodes.0[1].inject(Operation::Release, Fault::Stall);
    let other = locks.clone();
    let noticed = tokio::spawn(async move { other.try_acquire("other").await });
    tokio::time::sleep(QuorumOptions::NODE_TIMEOUT / 2).await;
    let slow = nodes.0[1].clone();
    let answers = tokio::spawn(async move {
        tokio::time::sleep(QuorumOptions::NODE_TIMEOUT * 4).await;
        slow.clear_faults();
    });
    let (took, released) = time_of(guard.release()).await;
    released?;
    assert!(took >= QuorumOptions::NODE_TIMEOUT * 4, "{took:?}");
    assert!(nodes.0[1].inspect(&LockName::new("a")?).await?.is_none());
    answers.await.expect("no panic");
    drop(noticed.await.expect("no panic")?);
    nodes.back(2);
    Ok(())
}

/// Each node was silent once during a long hold, as in a restart of one after the other, and takes part again since then.
/// The end of what was requested in the meantime is not known: the locks of a session have no time of their own.
#[tokio::test(start_paused = true)]
async fn a_release_is_confirmed_after_each_node_was_silent() -> Result<()> {
    let nodes = Nodes::new(3);
    let all = nodes
        .0
        .iter()
        .map(|store| Node::new(Session(store.clone())));
    let locks = program_of(all, &QuorumOptions::new()).await?;
    nodes.silent(0);
    let guard = locks.acquire("a").await?;
    nodes.back(0);
    for silent in [1, 2] {
        repaired(&nodes, &guard).await?;
        nodes.forgets(silent);
        nodes.0[silent].inject(Operation::Acquire, Fault::Stall);
        guard.renew().await?;
        tokio::time::sleep(QuorumOptions::NODE_TIMEOUT * 2).await;
        assert_eq!(nodes.used(), 2);
        nodes.back(silent);
    }
    repaired(&nodes, &guard).await?;
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

/// Renews until each node holds it.
async fn repaired(nodes: &Nodes, guard: &Guard) -> Result<()> {
    for _ in 0..5 {
        if nodes.used() == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        guard.renew().await?;
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(nodes.used(), 3);
    Ok(())
}

/// A node was down at the grant, and answers again.
#[tokio::test(start_paused = true)]
async fn a_release_is_confirmed_by_a_node_that_never_had_the_lock() -> Result<()> {
    let nodes = Nodes::new(3);
    let locks = nodes.program().await?;
    nodes.down(2);
    let guard = locks.acquire("a").await?;
    nodes.back(2);
    nodes.down(1);
    guard.release().await?;
    nodes.back(1);
    Ok(())
}

/// The node has granted the lock, and its answer was lost.
#[tokio::test(start_paused = true)]
async fn a_release_is_not_confirmed_by_a_node_whose_late_grant_is_left() -> Result<()> {
    let nodes = Nodes::new(3);
    nodes.0[2].inject(Operation::Acquire, Fault::LoseReply);
    let locks = nodes.program().await?;
    let guard = locks.acquire("a").await?;
    nodes.back(2);
    assert_eq!(nodes.used(), 3);
    nodes.down(1);
    assert_eq!(
        refused(guard.release().await, "no answer"),
        ErrorKind::Unavailable
    );
    nodes.back(1);
    Ok(())
}

/// A store whose locks end with the session of their process.
#[derive(Debug)]
struct Session(Memory);

#[async_trait]
impl DistributedLock for Session {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            expiry: Expiry::Session,
            ..self.0.capabilities()
        }
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.0.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
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

/// A store whose renewals are executed late, and whose releases are answered late.
#[derive(Debug)]
struct Overtaken {
    store: Memory,
    renewal_began: Arc<Notify>,
}

/// A renewal that was sent before the release is executed after it, and finds no lock.
#[tokio::test(start_paused = true)]
async fn a_release_may_overtake_a_renewal() -> Result<()> {
    let nodes = Nodes::new(3);
    let renewal_began = Arc::new(Notify::new());
    let all = nodes.0.iter().map(|store| {
        Node::new(Overtaken {
            store: store.clone(),
            renewal_began: renewal_began.clone(),
        })
    });
    let options = QuorumOptions::new().node_timeout(Duration::from_secs(1));
    let locks = program_of(all, &options).await?;
    let guard = locks.acquire("a").await?;
    renewal_began.notified().await;
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[async_trait]
impl DistributedLock for Overtaken {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn clock(&self) -> Clock {
        self.store.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.store.acquire(request).await
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.renewal_began.notify_one();
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.store.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let released = self.store.release(lease).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        released
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.store.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}
