//! A leader that is suspended for longer than the ttl. When it resumes, it revokes the leases that it knew
//! as expired, before it learns of the new leader.

use std::{net::SocketAddr, time::Duration};

use dlock::{Guard, Locker};
use dlock_core::Clock;
use dlock_servers::etcd::{Cluster, Flavour, Node, Options};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use tokio::task::JoinHandle;

use crate::support::{
    Outcome, cases, connect_all, keys, queue_keys, soon, take, until, until_clean,
    until_queue_length, within,
};

cases![
    t24_a_leader_that_slept_takes_no_living_lock_away,
    t24_a_leader_that_slept_makes_no_two_holders,
    t24_an_unrenewed_lock_moves_with_its_leader,
    t24_many_locks_move_together_and_leave_nothing,
];

/// The number of holders, each with a lease of its own: the leader revokes them one after another.
const HOLDERS: usize = 12;

/// Many elections fit in, on a busy machine too.
const KEYS: &str = "ttl=20s";

/// The time that the leader sleeps: longer than the ttl.
const SLEEP: Duration = Duration::from_secs(25);

/// The time until a lease without keep-alives has expired, also under a new leader.
const ENDED: Duration = Duration::from_secs(50);

async fn start(flavour: Flavour) -> Outcome<Cluster> {
    Ok(Cluster::start(&flavour.find()?, &Options::default()).await?)
}

/// The members that follow.
fn others(leader: usize) -> impl Iterator<Item = usize> {
    (0..Cluster::SIZE).filter(move |at| *at != leader)
}

/// Waits until the queue of `name` has two keys, however slow the cluster is.
async fn until_queued(node: &Node, name: &str) -> Outcome {
    until("two keys", async || {
        Ok(queue_keys(node, name)
            .await
            .is_ok_and(|queue_keys| queue_keys.len() == 2))
    })
    .await
}

struct Held {
    locker: Locker,
    other: Locker,
    guard: Guard,
    next: JoinHandle<dlock::Result<Guard>>,
}

async fn hold(addresses: &[SocketAddr], name: &str) -> Outcome<Held> {
    let locker = connect_all(addresses, KEYS).await?;
    let other = connect_all(addresses, KEYS).await?;
    let guard = take(&locker, name).await?;
    let next = tokio::spawn(other.acquire(name).wait_forever().into_future());
    Ok(Held {
        locker,
        other,
        guard,
        next,
    })
}

async fn t24_a_leader_that_slept_takes_no_living_lock_away(flavour: Flavour) -> Outcome {
    let cluster = start(flavour).await?;
    let leader = cluster.leader().await?;
    let addresses: Vec<_> = others(leader).map(|at| cluster.addresses()[at]).collect();
    let observer = others(leader).next().ok_or("one member")?;
    let mut held = Vec::new();
    for at in 0..HOLDERS {
        let name = format!("n{at}");
        held.push(hold(&addresses, &name).await?);
        until_queued(cluster.node(observer), &name).await?;
    }
    cluster.node(leader).stop()?;
    tokio::time::sleep(SLEEP).await;
    for Held { guard, .. } in &held {
        assert!(guard.is_held(), "lost while the leader slept");
    }
    cluster.node(leader).cont()?;
    // It says what it has to say at once.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for Held { guard, next, .. } in &held {
        assert!(guard.is_held(), "a living lock was taken away");
        assert!(!next.is_finished(), "two holders");
    }
    for Held {
        locker,
        other,
        guard,
        next,
    } in held
    {
        let token = guard.token();
        guard.release().await?;
        let next = soon("the next one", next).await???;
        assert!(next.token() > token);
        next.release().await?;
        locker.shutdown(Duration::from_secs(5)).await?;
        other.shutdown(Duration::from_secs(5)).await?;
    }
    Ok(())
}

/// The holder's connection breaks as the leader resumes: it cannot be notified.
async fn t24_a_leader_that_slept_makes_no_two_holders(flavour: Flavour) -> Outcome {
    let cluster = start(flavour).await?;
    let clock = Clock::boottime();
    let leader = cluster.leader().await?;
    let addresses: Vec<_> = others(leader).map(|at| cluster.addresses()[at]).collect();
    let observer = others(leader).next().ok_or("one member")?;
    let ways = addresses.iter().map(|address| Proxy::start(*address));
    let ways = ways.collect::<std::io::Result<Vec<_>>>()?;
    let through: Vec<_> = ways.iter().map(Proxy::address).collect();
    let (mut held, mut waiting) = (Vec::new(), Vec::new());
    for at in 0..HOLDERS {
        let name = format!("n{at}");
        let locker = connect_all(&through, KEYS).await?;
        let other = connect_all(&addresses, KEYS).await?;
        held.push((take(&locker, &name).await?, locker));
        let (acquire, clock) = (other.acquire(&name).wait_forever(), clock.clone());
        waiting.push(tokio::spawn(async move {
            let guard = acquire.await?;
            Ok::<_, dlock::Error>((guard, clock.now(), other))
        }));
        until_queued(cluster.node(observer), &name).await?;
    }
    cluster.node(leader).stop()?;
    tokio::time::sleep(SLEEP).await;
    for way in &ways {
        for direction in [Direction::ToServer, Direction::ToClient] {
            way.set(direction, Fault::Hold);
        }
    }
    // Nothing extends them from here on.
    let ends: Vec<_> = held
        .iter()
        .map(|(guard, _)| clock.now().after(guard.remaining()))
        .collect();
    assert!(ends.iter().all(|end| *end > clock.now()), "lost too soon");
    cluster.node(leader).cont()?;
    for ((guard, _locker), (waits, end)) in held.into_iter().zip(waiting.into_iter().zip(ends)) {
        let (next, since, other) = within(ENDED, "the next one", waits).await???;
        let early = end.since(since);
        assert!(early.is_zero(), "two holders for {early:?}");
        assert!(next.token() > guard.token());
        next.release().await?;
        other.shutdown(Duration::from_secs(5)).await?;
    }
    Ok(())
}

/// Ends the leader, and waits until there is another one.
async fn change_leader(cluster: &mut Cluster) -> Outcome {
    let leader = cluster.leader().await?;
    cluster.nodes()[leader].kill()?;
    cluster.leader().await?;
    Ok(cluster.nodes()[leader].resume().await?)
}

async fn t24_an_unrenewed_lock_moves_with_its_leader(flavour: Flavour) -> Outcome {
    let mut cluster = start(flavour).await?;
    let locker = connect_all(&cluster.addresses(), "ttl=60s&timeout=1s").await?;
    let guard = locker.acquire("a").no_renewal().await?;
    let before = queue_keys(cluster.node(0), "a").await?;
    change_leader(&mut cluster).await?;
    guard.renew().await?;
    let after = queue_keys(cluster.node(0), "a").await?;
    assert_eq!(after.len(), 1, "{after:?}");
    assert_ne!(after[0].lease, before[0].lease);
    assert_eq!(after[0].create_revision, before[0].create_revision);
    assert_eq!(after[0].value, before[0].value);
    assert!(locker.try_acquire("a").await?.is_none());
    until("the lease that it has left ends", async || {
        Ok(cluster.node(0).leases().await? == [after[0].lease])
    })
    .await?;
    // It stays there now.
    guard.renew().await?;
    assert_eq!(queue_keys(cluster.node(0), "a").await?, after);
    guard.release().await?;
    until_clean(cluster.node(0)).await
}

async fn t24_many_locks_move_together_and_leave_nothing(flavour: Flavour) -> Outcome {
    const MANY: usize = 250;
    let mut cluster = start(flavour).await?;
    let addresses = cluster.addresses();
    let locker = connect_all(&addresses, "ttl=12s&timeout=1s").await?;
    let other = connect_all(&addresses, "ttl=12s&timeout=1s").await?;
    let names: Vec<_> = (0..MANY).map(|at| format!("many-{at}")).collect();
    let mut guards = Vec::new();
    for name in &names {
        guards.push(take(&locker, name).await?);
    }
    let waiting = tokio::spawn(other.acquire("many-7").into_future());
    until_queue_length(cluster.node(0), "many-7", 2).await?;
    let first = queue_keys(cluster.node(0), "many-0").await?[0].lease;
    change_leader(&mut cluster).await?;
    until("all have moved", async || {
        let keys = keys(cluster.node(0)).await?;
        Ok(keys.iter().all(|entry| entry.lease != first))
    })
    .await?;
    assert!(guards.iter().all(Guard::is_held));
    assert!(!waiting.is_finished());
    for guard in guards {
        guard.release().await?;
    }
    // Whose turn comes on a lease of the former leader moves, too.
    soon("its turn", waiting).await???.release().await?;
    until_clean(cluster.node(0)).await
}
