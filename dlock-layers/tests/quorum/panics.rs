//! A store that panics is a defect of it, and costs one node.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    Capabilities, Clock, Error, Holder, LockName, Locker, Result, Token,
    backend::{AcquireRequest, DistributedLock, Lease, Renewed, TokenCounter, Wait},
    memory::Memory,
};
use dlock_layers::quorum::{Node, QuorumOptions};

use crate::support::{Delayed, Nodes, TTL, Waiting, program_of, time_of};

/// A store whose lock is taken, and whose waiters panic.
#[derive(Debug)]
struct PanicsAfter(Duration);

/// A store that panics after its first acquire, which it has executed.
#[derive(Debug)]
struct PanicsOnce {
    store: Memory,
    has_panicked: AtomicBool,
}

/// A store whose counter, renewals, releases and inspections panic.
#[derive(Debug)]
struct Panics(Memory);

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_costs_one_node_and_ends_nothing() -> Result<()> {
    let nodes = Nodes::new(3);
    // The largest token is that of the first node, so the others are raised.
    let alone = Locker::builder(nodes.0[0].clone()).build()?;
    for _ in 0..100 {
        alone.acquire("b").await?.release().await?;
    }
    let all = [
        Node::new(nodes.0[0].clone()),
        Node::new(Panics(nodes.0[1].clone())),
        Node::new(nodes.0[2].clone()),
    ];
    let locks = program_of(all, &QuorumOptions::new()).await?;
    let guard = locks.acquire("a").await?;
    assert!(guard.token().get() > 100);
    guard.renew().await?;
    let holder = locks.inspect("a").await?.expect("it is held");
    assert_eq!(holder.token, Some(guard.token()));
    guard.release().await?;
    let freed = [&nodes.0[0], &nodes.0[2]];
    assert!(freed.iter().all(|node| node.names().is_empty()));
    Ok(())
}

/// The others are enough when they are tried a second later, and the node panics while the second one is slow.
#[tokio::test(start_paused = true)]
async fn nothing_is_left_to_release_of_a_waiter_that_panicked() -> Result<()> {
    let nodes = Nodes::new(3);
    let late = Delayed {
        store: nodes.0[1].clone(),
        requests: Duration::ZERO,
        replies: Duration::from_millis(30),
    };
    let all = [
        Node::new(PanicsAfter(Duration::from_millis(1_010))),
        Node::new(late),
        Node::new(nodes.0[2].clone()),
    ];
    let mut taken = Vec::new();
    for node in &nodes.0[1..] {
        let alone = Locker::builder(node.clone()).build()?;
        taken.push(alone.acquire("a").await?);
    }
    let locks = program_of(all, &QuorumOptions::new()).await?;
    let waiting = Waiting::start(&locks);
    tokio::time::sleep(Duration::from_millis(500)).await;
    for guard in taken {
        guard.release().await?;
    }
    waiting.granted().await?.release().await?;
    let (took, ended) = time_of(locks.shutdown(TTL * 2)).await;
    ended?;
    assert_eq!(took, Duration::ZERO);
    Ok(())
}

/// The first request may still be executed, after a release of the second one.
#[tokio::test(start_paused = true)]
async fn a_node_that_panicked_is_taken_again_with_another_identity() -> Result<()> {
    let nodes = Nodes::new(3);
    let panics = PanicsOnce {
        store: nodes.0[2].clone(),
        has_panicked: AtomicBool::new(false),
    };
    let all = [
        Node::new(nodes.0[0].clone()),
        Node::new(nodes.0[1].clone()),
        Node::new(panics),
    ];
    let locks = program_of(all, &QuorumOptions::new()).await?;
    let guard = locks.acquire("a").await?;
    tokio::time::sleep(TTL * 2).await;
    let (first, again) = (nodes.holder(0).await?, nodes.holder(2).await?);
    assert!(again.is_some() && again != first, "{again:?}");
    guard.release().await?;
    assert_eq!(nodes.used(), 0);
    Ok(())
}

#[async_trait]
impl DistributedLock for PanicsOnce {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn clock(&self) -> Clock {
        self.store.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        let granted = self.store.acquire(request).await;
        assert!(
            self.has_panicked.swap(true, Ordering::SeqCst),
            "a defect of this store"
        );
        granted
    }

    async fn renew(&self, lease: &Lease) -> Result<Renewed> {
        self.store.renew(lease).await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.store.release(lease).await
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>> {
        self.store.inspect(name).await
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }

    fn token_counter(&self) -> Option<&dyn TokenCounter> {
        self.store.token_counter()
    }
}

#[async_trait]
impl DistributedLock for PanicsAfter {
    fn capabilities(&self) -> Capabilities {
        Memory::new().capabilities()
    }

    fn clock(&self) -> Clock {
        Clock::pausable()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        if request.wait == Wait::Never {
            return Err(Error::contended());
        }
        tokio::time::sleep(self.0).await;
        panic!("a defect of this store")
    }

    async fn renew(&self, _: &Lease) -> Result<Renewed> {
        unreachable!("it grants nothing")
    }

    async fn release(&self, _: &Lease) -> Result<()> {
        unreachable!("it grants nothing")
    }

    async fn inspect(&self, _: &LockName) -> Result<Option<Holder>> {
        Ok(None)
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

#[async_trait]
impl DistributedLock for Panics {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn clock(&self) -> Clock {
        self.0.clock()
    }

    async fn acquire(&self, request: &AcquireRequest) -> Result<Lease> {
        self.0.acquire(request).await
    }

    async fn renew(&self, _: &Lease) -> Result<Renewed> {
        panic!("a defect of this store")
    }

    async fn release(&self, _: &Lease) -> Result<()> {
        panic!("a defect of this store")
    }

    async fn inspect(&self, _: &LockName) -> Result<Option<Holder>> {
        panic!("a defect of this store")
    }

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }

    fn token_counter(&self) -> Option<&dyn TokenCounter> {
        Some(self)
    }
}

#[async_trait]
impl TokenCounter for Panics {
    async fn raise(&self, _: &Lease, _: Token) -> Result<bool> {
        panic!("a defect of this store")
    }
}
