//! Many tasks at once: their requests are sent together, and each has its own reply.

use std::{collections::BTreeSet, iter, time::Duration};

use dlock::{Guard, Locker};
use dlock_servers::etcd::{Flavour, Node};
use dlock_verify::proxy::{Direction, End, Fault, Proxy};
use tokio::task::JoinSet;

use crate::support::{Outcome, cases, connect, soon, start, take, until, until_clean};

cases![
    k01_many_that_try_for_one_name_at_once_get_it_once,
    k01_many_names_at_once_are_many_locks_in_few_requests,
    k01_a_name_that_is_freed_and_taken_at_once_has_one_holder,
    k09_a_lost_reply_to_many_is_found_by_each,
    k13_a_lease_that_is_gone_harms_only_its_users,
];

const MANY: usize = 40;

/// Which of them leave together is different each time.
const ROUNDS: usize = 20;

/// A ttl longer than the others': it has a lease of its own.
const LONG: Duration = Duration::from_secs(300);

pub(crate) type Taken = JoinSet<dlock::Result<Option<Guard>>>;

/// Tries for all names at once.
pub(crate) fn try_all(locker: &Locker, names: impl IntoIterator<Item = String>) -> Taken {
    let tries = names.into_iter().map(|name| locker.try_acquire(name));
    tries.map(IntoFuture::into_future).collect()
}

/// Takes all names at once.
pub(crate) async fn take_all(locker: &Locker, names: &[String]) -> Outcome<Vec<Guard>> {
    let acquires = names.iter().map(|name| locker.acquire(name.clone()));
    let taken: JoinSet<_> = acquires.map(IntoFuture::into_future).collect();
    let taken = soon("all of them", taken.join_all()).await?;
    Ok(taken.into_iter().collect::<dlock::Result<_>>()?)
}

pub(crate) async fn release_all(guards: Vec<Guard>) -> Outcome {
    let released: JoinSet<_> = guards.into_iter().map(Guard::release).collect();
    let released = soon("all releases", released.join_all()).await?;
    Ok(released.into_iter().collect::<dlock::Result<_>>()?)
}

pub(crate) fn names(of: &str) -> Vec<String> {
    (0..MANY).map(|at| format!("{of}-{at}")).collect()
}

async fn warm(node: &Node) -> Outcome<Locker> {
    let locker = connect(node.address(), "").await?;
    take(&locker, "warm").await?.release().await?;
    Ok(locker)
}

async fn k01_many_that_try_for_one_name_at_once_get_it_once(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = warm(&node).await?;
    for round in 0..ROUNDS {
        // While the first is on its way, the others gather.
        let one = (0..MANY).map(|_| format!("one-{round}"));
        let tries = try_all(&locker, iter::once("first".to_owned()).chain(one));
        let taken = soon("all tries", tries.join_all()).await?;
        let taken: Vec<_> = taken.into_iter().collect::<dlock::Result<_>>()?;
        let guards: Vec<_> = taken.into_iter().flatten().collect();
        assert_eq!(guards.len(), 2, "round {round}");
        release_all(guards).await?;
    }
    Ok(())
}

async fn k01_many_names_at_once_are_many_locks_in_few_requests(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = warm(&node).await?;
    let other = connect(node.address(), "").await?;
    let before = node.revision().await?;
    for _ in 0..ROUNDS {
        let guards = take_all(&locker, &names("many")).await?;
        let keys = node.keys("dlock/many-").await?;
        let made: BTreeSet<_> = keys.iter().map(|key| key.create_revision).collect();
        let tokens: BTreeSet<_> = guards.iter().map(|guard| guard.token().get()).collect();
        assert_eq!((keys.len(), made), (MANY, tokens));
        assert!(other.try_acquire("many-7").await?.is_none());
        release_all(guards).await?;
        assert_eq!(node.keys("dlock/many-").await?, []);
    }
    let changes = usize::try_from(node.revision().await? - before)?;
    let alone = 2 * MANY * ROUNDS;
    assert!(changes < alone / 2, "{changes} changes, {alone} alone");
    Ok(())
}

async fn k01_a_name_that_is_freed_and_taken_at_once_has_one_holder(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = warm(&node).await?;
    let all = names("many");
    let mut last = take_all(&locker, &all).await?;
    for _ in 0..ROUNDS {
        let before: Vec<_> = last.iter().map(|guard| guard.token()).collect();
        let (released, next) = tokio::join!(release_all(last), take_all(&locker, &all));
        released?;
        last = next?;
        assert_eq!(node.keys("dlock/many-").await?.len(), MANY);
        let newer = |guard: &Guard| before.iter().all(|token| *token < guard.token());
        assert!(last.iter().all(newer), "a token that is not newer");
    }
    release_all(last).await
}

async fn k09_a_lost_reply_to_many_is_found_by_each(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = connect(proxy.address(), "timeout=1s").await?;
    for round in 0..3 {
        // A new lease: an unknown effect has retired the one before.
        take(&locker, "warm").await?.release().await?;
        let connections = proxy.connections();
        for connection in &connections {
            connection.set(Direction::ToClient, Fault::Hold);
        }
        let all = names(&format!("lost-{round}"));
        let queue_keys = async || {
            let mut keys = node.keys(&format!("dlock/lost-{round}-")).await?;
            // Apart from the tombstones of unknown effects.
            keys.retain(|key| !key.key.contains("%/"));
            Outcome::Ok(keys)
        };
        let lost = async {
            until("all queue keys", async || {
                Ok(queue_keys().await?.len() == MANY)
            })
            .await?;
            let found = queue_keys().await?;
            for connection in &connections {
                connection.end(End::Reset);
            }
            Outcome::Ok(found)
        };
        let (taken, lost) = tokio::join!(take_all(&locker, &all), lost);
        let (taken, lost) = (taken?, lost?);
        assert_eq!(queue_keys().await?, lost, "others were made");
        assert!(taken.iter().all(Guard::is_held));
        release_all(taken).await?;
    }
    locker.shutdown(Duration::from_secs(5)).await?;
    until_clean(&node).await
}

async fn k13_a_lease_that_is_gone_harms_only_its_users(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = warm(&node).await?;
    let shared = node.leases().await?;
    for _ in 0..ROUNDS {
        let long = locker.acquire("long").ttl(LONG).await?;
        let leases = node.leases().await?;
        let own = leases.into_iter().find(|lease| !shared.contains(lease));
        node.revoke(own.ok_or("a lease of its own")?).await?;
        let again = (0..MANY).map(|at| {
            let acquire = locker.acquire(format!("again-{at}"));
            if at % 2 == 0 {
                acquire
            } else {
                acquire.ttl(LONG)
            }
        });
        let again: JoinSet<_> = again.map(IntoFuture::into_future).collect();
        let guards = soon("all of them", again.join_all()).await?;
        let guards: Vec<_> = guards.into_iter().collect::<dlock::Result<_>>()?;
        assert_eq!(guards.len(), MANY);
        release_all(guards).await?;
        drop(long);
    }
    Ok(())
}
