//! Requests that the server executed, and whose replies were lost.

use std::{num::NonZeroU32, time::Duration};

use dlock::{ErrorKind, Guard, Locker};
use dlock_servers::etcd::{Entry, Flavour, Node};
use dlock_verify::proxy::{Direction, End, Fault, Proxy};

use crate::support::{
    Outcome, TwoWays, cases, connect, soon, start, take, until, until_clean, until_queue_length,
};

cases![
    t27_lost_reply_of_a_try_acquire,
    t27_lost_reply_of_a_waiting_acquire,
    t27_lost_reply_of_a_release,
    t27_no_reply_ever_to_a_try_acquire_is_undone,
    t27_a_request_that_arrives_after_the_release_creates_no_key,
    t27_a_request_that_arrives_after_the_undo_creates_no_key,
    t27_a_try_that_arrives_after_it_was_contended_creates_no_key,
    t25_a_waiter_of_unknown_effect_whose_key_is_deleted_queues_again,
    k12_an_unknown_effect_leaves_at_most_a_key_for_each_used_lease,
];

const KEYS: &str = "timeout=700ms";

/// The same with one key for each lock, and each format.
const ONE_KEY: &str = "timeout=700ms&prefix=dlock/&format=python-etcd3";
const FORMATS: [&str; 2] = [KEYS, ONE_KEY];

/// The keys of the lock `a`, in either format.
async fn keys_of_a(node: &Node) -> Outcome<Vec<Entry>> {
    let mut found = node.keys("dlock/a").await?;
    found.retain(|entry| entry.key == "dlock/a" || entry.key.starts_with("dlock/a/"));
    Ok(found)
}

async fn until_keys_of_a(node: &Node, count: usize) -> Outcome {
    until(format!("{count} keys"), async || {
        Ok(keys_of_a(node).await?.len() == count)
    })
    .await
}

/// How often a fault is tried: the moment of it differs.
const TIMES: u32 = 10;

struct ProxiedClient {
    node: Node,
    proxy: Proxy,
    locker: Locker,
}

impl ProxiedClient {
    async fn new(flavour: Flavour) -> Outcome<Self> {
        Self::with(flavour, KEYS).await
    }

    async fn with(flavour: Flavour, keys: &str) -> Outcome<Self> {
        let node = start(flavour).await?;
        let proxy = Proxy::start(node.address())?;
        let locker = connect(proxy.address(), keys).await?;
        // The lease is there, for a while.
        take(&locker, "warm").await?.release().await?;
        Ok(Self {
            node,
            proxy,
            locker,
        })
    }

    /// Runs an acquire of `a` whose reply is lost; it comes back with the grant that was lost.
    async fn lose_reply(
        &self,
        acquire: impl IntoFuture<Output = dlock::Result<Guard>>,
    ) -> Outcome<Guard> {
        // A new lease: an unknown effect has retired the one before.
        take(&self.locker, "warm").await?.release().await?;
        let connections = self.proxy.connections();
        for connection in &connections {
            connection.set(Direction::ToClient, Fault::Hold);
        }
        let first = async {
            until_keys_of_a(&self.node, 1).await?;
            let first = keys_of_a(&self.node).await?[0].clone();
            for connection in &connections {
                connection.end(End::Reset);
            }
            Outcome::Ok(first)
        };
        let both = async { tokio::join!(acquire.into_future(), first) };
        let (guard, first) = soon("the reply is lost and found", both).await?;
        let (guard, first) = (guard?, first?);
        assert_eq!(guard.token().get(), first.create_revision);
        assert_eq!(keys_of_a(&self.node).await?, [first]);
        assert!(guard.is_held());
        Ok(guard)
    }
}

async fn t27_lost_reply_of_a_try_acquire(flavour: Flavour) -> Outcome {
    for keys in FORMATS {
        Box::pin(lost_reply_of_a_try_acquire(flavour, keys)).await?;
    }
    Ok(())
}

async fn lost_reply_of_a_try_acquire(flavour: Flavour, keys: &str) -> Outcome {
    let proxied = ProxiedClient::with(flavour, keys).await?;
    for _ in 0..TIMES {
        let acquire = async {
            let guard = proxied.locker.try_acquire("a").await?;
            guard.ok_or_else(dlock::Error::contended)
        };
        Box::pin(proxied.lose_reply(acquire))
            .await?
            .release()
            .await?;
    }
    proxied.locker.shutdown(Duration::from_secs(5)).await?;
    until_clean(&proxied.node).await
}

async fn t27_lost_reply_of_a_waiting_acquire(flavour: Flavour) -> Outcome {
    for keys in FORMATS {
        Box::pin(lost_reply_of_a_waiting_acquire(flavour, keys)).await?;
    }
    Ok(())
}

async fn lost_reply_of_a_waiting_acquire(flavour: Flavour, keys: &str) -> Outcome {
    let proxied = ProxiedClient::with(flavour, keys).await?;
    for _ in 0..TIMES {
        let guard = Box::pin(proxied.lose_reply(proxied.locker.acquire("a"))).await?;
        guard.release().await?;
    }
    proxied.locker.shutdown(Duration::from_secs(5)).await?;
    until_clean(&proxied.node).await
}

async fn t27_lost_reply_of_a_release(flavour: Flavour) -> Outcome {
    for keys in FORMATS {
        Box::pin(lost_reply_of_a_release(flavour, keys)).await?;
    }
    Ok(())
}

async fn lost_reply_of_a_release(flavour: Flavour, keys: &str) -> Outcome {
    let proxied = ProxiedClient::with(flavour, keys).await?;
    let other = connect(proxied.node.address(), keys).await?;
    for _ in 0..TIMES {
        let guard = take(&proxied.locker, "a").await?;
        let connections = proxied.proxy.connections();
        for connection in &connections {
            connection.set(Direction::ToClient, Fault::Hold);
        }
        let successor = async {
            let successor = other.acquire("a").await?;
            for connection in &connections {
                connection.end(End::Reset);
            }
            Ok::<_, dlock::Error>(successor)
        };
        let both = async { tokio::join!(guard.release(), successor) };
        let (released, successor) = soon("both", both).await?;
        released?;
        let successor = successor?;
        assert_eq!(keys_of_a(&proxied.node).await?.len(), 1);
        successor.renew().await?;
        successor.release().await?;
    }
    Ok(())
}

async fn t27_no_reply_ever_to_a_try_acquire_is_undone(flavour: Flavour) -> Outcome {
    let proxied = ProxiedClient::new(flavour).await?;
    let other = connect(proxied.node.address(), "").await?;
    // The lease of both stays in use, or the key would end with it.
    let kept = take(&proxied.locker, "kept").await?;
    proxied.proxy.set(Direction::ToClient, Fault::Hold);
    let error = soon("an answer", proxied.locker.try_acquire("a")).await?;
    let error = error.err().ok_or("it was granted")?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    proxied.proxy.set(Direction::ToClient, Fault::None);
    let guard = soon("it is free again", other.acquire("a")).await??;
    guard.release().await?;
    Ok(kept.release().await?)
}

async fn t27_a_request_that_arrives_after_the_release_creates_no_key(flavour: Flavour) -> Outcome {
    for keys in FORMATS {
        Box::pin(a_request_that_arrives_after_the_release_creates_no_key(
            flavour, keys,
        ))
        .await?;
    }
    Ok(())
}

async fn a_request_that_arrives_after_the_release_creates_no_key(
    flavour: Flavour,
    keys: &str,
) -> Outcome {
    let two = TwoWays::new(flavour, keys).await?;
    take(&two.locker, "warm").await?.release().await?;
    // The request stays on its way, and the next try of it is granted by the other way.
    two.ways[0].set(Direction::ToServer, Fault::Hold);
    let guard = soon("the grant", two.locker.acquire("a")).await??;
    guard.release().await?;
    late_request(&two, keys).await
}

async fn t27_a_request_that_arrives_after_the_undo_creates_no_key(flavour: Flavour) -> Outcome {
    for keys in FORMATS {
        Box::pin(a_request_that_arrives_after_the_undo_creates_no_key(
            flavour, keys,
        ))
        .await?;
    }
    Ok(())
}

async fn a_request_that_arrives_after_the_undo_creates_no_key(
    flavour: Flavour,
    keys: &str,
) -> Outcome {
    let two = TwoWays::new(flavour, keys).await?;
    let other = connect(two.node.address(), keys).await?;
    take(&two.locker, "warm").await?.release().await?;
    let held = take(&other, "a").await?;
    two.ways[0].set(Direction::ToServer, Fault::Hold);
    let acquire = two.locker.acquire("a").wait(Duration::from_millis(1_500));
    let error = soon("the end", acquire).await?.err().ok_or("granted")?;
    assert_eq!(error.kind(), ErrorKind::Contended, "{error}");
    held.release().await?;
    late_request(&two, keys).await
}

async fn t27_a_try_that_arrives_after_it_was_contended_creates_no_key(flavour: Flavour) -> Outcome {
    for keys in FORMATS {
        Box::pin(a_try_that_arrives_after_it_was_contended_creates_no_key(
            flavour, keys,
        ))
        .await?;
    }
    Ok(())
}

async fn a_try_that_arrives_after_it_was_contended_creates_no_key(
    flavour: Flavour,
    keys: &str,
) -> Outcome {
    let two = TwoWays::new(flavour, keys).await?;
    let other = connect(two.node.address(), keys).await?;
    take(&two.locker, "warm").await?.release().await?;
    let held = take(&other, "a").await?;
    two.ways[0].set(Direction::ToServer, Fault::Hold);
    let found = soon("an answer", two.locker.try_acquire("a")).await??;
    assert!(found.is_none());
    held.release().await?;
    late_request(&two, keys).await
}

/// So slowly what was on its way arrives that a request has been handled before the client's next
/// word, which gives it up.
const SLOWLY: NonZeroU32 = NonZeroU32::new(250).unwrap();

/// Lets delayed requests arrive; they must create no key.
async fn late_request(two: &TwoWays, keys: &str) -> Outcome {
    until_keys_of_a(&two.node, 0).await?;
    let connection = two.ways[0].connection(0).await;
    let seen = connection.seen(Direction::ToServer);
    assert!(connection.passed(Direction::ToServer) < seen);
    // The client has left: an answer would end the connection.
    connection.set(Direction::ToClient, Fault::Hold);
    connection.set(Direction::ToServer, Fault::Throttle(SLOWLY));
    soon(
        "it arrives",
        connection.until_passed(Direction::ToServer, seen),
    )
    .await?;
    // It is handled in order: what comes by another connection later is handled after it.
    for round in 0..50 {
        two.node.put("later", &round.to_string()).await?;
        assert_eq!(keys_of_a(&two.node).await?, []);
    }
    let other = connect(two.node.address(), keys).await?;
    until("others get it", async || {
        Ok(other.try_acquire("a").await?.is_some())
    })
    .await
}

async fn t25_a_waiter_of_unknown_effect_whose_key_is_deleted_queues_again(
    flavour: Flavour,
) -> Outcome {
    let proxied = ProxiedClient::new(flavour).await?;
    let other = connect(proxied.node.address(), "").await?;
    let held = take(&other, "a").await?;
    let connections = proxied.proxy.connections();
    for connection in &connections {
        connection.set(Direction::ToClient, Fault::Hold);
    }
    let waiting = tokio::spawn(proxied.locker.acquire("a").into_future());
    until_queue_length(&proxied.node, "a", 2).await?;
    for connection in &connections {
        connection.end(End::Reset);
    }
    // The waiter has found its key again, and watches it from then on.
    until("its watch", async || {
        Ok(proxied
            .node
            .metric("etcd_debugging_mvcc_watcher_total")
            .await?
            > 1.5)
    })
    .await?;
    proxied
        .node
        .delete(&keys_of_a(&proxied.node).await?[1].key)
        .await?;
    until_queue_length(&proxied.node, "a", 2).await?;
    held.release().await?;
    soon("its turn", waiting).await???.release().await?;
    Ok(())
}

async fn k12_an_unknown_effect_leaves_at_most_a_key_for_each_used_lease(
    flavour: Flavour,
) -> Outcome {
    let proxied = ProxiedClient::with(flavour, "ttl=6s&timeout=700ms").await?;
    let survivor = take(&proxied.locker, "survivor").await?;
    for _ in 0..5 {
        let guard = Box::pin(proxied.lose_reply(proxied.locker.acquire("a"))).await?;
        guard.release().await?;
    }
    // The others are gone with their unused leases; the lease of `survivor` stays.
    until("the marks are gone", async || {
        Ok(proxied.node.keys("dlock/a%/").await?.len() <= 1)
    })
    .await?;
    assert!(survivor.is_held());
    survivor.release().await?;
    proxied.locker.shutdown(Duration::from_secs(5)).await?;
    until_clean(&proxied.node).await
}
