//! A waiter behind the holder is granted the lock without a read: not if its key is deleted, too.

use std::{net::SocketAddr, time::Duration};

use dlock::{Guard, Locker};
use dlock_servers::etcd::{Cluster, Flavour, Node, Options};
use dlock_verify::proxy::{Direction, End, Fault, Proxy};
use tokio::task::JoinHandle;

use crate::support::{
    Outcome, cases, connect, queue_keys, start, take, until, until_queue_length, within,
};

cases![
    k01_a_key_that_is_deleted_before_the_first_one_is_not_granted,
    k01_a_key_that_is_deleted_with_the_first_one_is_not_granted,
    k08_a_key_that_is_deleted_after_the_first_one_is_lost,
    k01_a_key_that_is_deleted_while_the_stream_breaks_is_not_granted,
    k01_a_key_that_is_deleted_over_an_election_is_not_granted,
];

/// A bound below a waiter's poll interval.
const NOTICE_MAX: Duration = Duration::from_secs(8);

/// A waiter behind a holder, and the network between it and its member.
struct Waiter {
    proxy: Proxy,
    /// Both keys: the holder's and the waiter's.
    keys: [String; 2],
    created: u64,
    waiting: JoinHandle<dlock::Result<Guard>>,
    _holder: Guard,
    _lockers: [Locker; 2],
}

impl Waiter {
    async fn new(node: &Node, holder: SocketAddr) -> Outcome<Self> {
        let proxy = Proxy::start(node.address())?;
        let (holder, waiter) = (
            connect(holder, "").await?,
            connect(proxy.address(), "").await?,
        );
        let guard = take(&holder, "a").await?;
        let waiting = tokio::spawn(waiter.acquire("a").into_future());
        until_queue_length(node, "a", 2).await?;
        until("it watches", async || {
            Ok(node.metric("etcd_debugging_mvcc_watcher_total").await? > 0.5)
        })
        .await?;
        // The watch has begun, and what was missed was read.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let [first, own] = &queue_keys(node, "a").await?[..] else {
            return Err("not two keys".into());
        };
        Ok(Self {
            proxy,
            keys: [first.key.clone(), own.key.clone()],
            created: own.create_revision,
            waiting,
            _holder: guard,
            _lockers: [holder, waiter],
        })
    }

    fn hold(&self, fault: Fault) {
        for connection in self.proxy.connections() {
            connection.set(Direction::ToClient, fault);
        }
    }

    /// Deletes both keys, before it is notified of either.
    async fn delete_unnoticed(&self, node: &Node, order: [&String; 2]) -> Outcome {
        self.hold(Fault::Hold);
        for key in order {
            node.delete(key).await?;
        }
        self.hold(Fault::None);
        Ok(())
    }

    async fn granted(&mut self) -> Outcome<Guard> {
        Ok(within(NOTICE_MAX, "its turn", &mut self.waiting).await???)
    }

    async fn expect_a_new_key(mut self) -> Outcome {
        let guard = self.granted().await?;
        assert!(guard.token().get() > self.created, "its key was deleted");
        Ok(guard.release().await?)
    }
}

async fn k01_a_key_that_is_deleted_before_the_first_one_is_not_granted(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    for _ in 0..5 {
        let waiter = Waiter::new(&node, node.address()).await?;
        let [first, own] = &waiter.keys;
        waiter.delete_unnoticed(&node, [own, first]).await?;
        waiter.expect_a_new_key().await?;
    }
    Ok(())
}

/// As when one client revokes a lease that has both.
async fn k01_a_key_that_is_deleted_with_the_first_one_is_not_granted(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    for _ in 0..5 {
        let waiter = Waiter::new(&node, node.address()).await?;
        node.delete_all("dlock/a/").await?;
        waiter.expect_a_new_key().await?;
    }
    Ok(())
}

async fn k08_a_key_that_is_deleted_after_the_first_one_is_lost(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    for _ in 0..5 {
        let mut waiter = Waiter::new(&node, node.address()).await?;
        let [first, own] = &waiter.keys;
        waiter.delete_unnoticed(&node, [first, own]).await?;
        let guard = waiter.granted().await?;
        if guard.token().get() == waiter.created {
            within(NOTICE_MAX, "the loss", guard.lost()).await?;
        }
        drop(guard);
        until_queue_length(&node, "a", 0).await?;
    }
    Ok(())
}

async fn k01_a_key_that_is_deleted_while_the_stream_breaks_is_not_granted(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    for _ in 0..5 {
        let waiter = Waiter::new(&node, node.address()).await?;
        waiter.hold(Fault::Hold);
        node.delete(&waiter.keys[1]).await?;
        waiter.proxy.end(End::Reset);
        node.delete(&waiter.keys[0]).await?;
        waiter.expect_a_new_key().await?;
    }
    Ok(())
}

async fn k01_a_key_that_is_deleted_over_an_election_is_not_granted(flavour: Flavour) -> Outcome {
    let cluster = Cluster::start(&flavour.find()?, &Options::default()).await?;
    let leader = cluster.leader().await?;
    let [member, next] = [1, 2].map(|after| cluster.node((leader + after) % Cluster::SIZE));
    let waiter = Waiter::new(member, next.address()).await?;
    waiter.hold(Fault::Hold);
    let to = next.member_id().await?;
    cluster.node(leader).move_leader(&to).await?;
    next.delete(&waiter.keys[1]).await?;
    next.delete(&waiter.keys[0]).await?;
    waiter.hold(Fault::None);
    waiter.expect_a_new_key().await
}
