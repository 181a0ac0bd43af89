//! Ends: of lockers, of processes.

use std::time::Duration;

use dlock_servers::etcd::Flavour;

use crate::support::{Outcome, cases, connect, queue_keys, soon, start, take, until_clean};

cases![
    k12_a_shutdown_leaves_nothing,
    k10_a_name_is_not_part_of_a_longer_one,
];

async fn k12_a_shutdown_leaves_nothing(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    let own = locker.acquire("b").no_renewal().await?;
    let other = locker.acquire("c").ttl(Duration::from_secs(60)).await?;
    assert_eq!(node.leases().await?.len(), 3);
    soon("the end", locker.shutdown(Duration::from_secs(5))).await??;
    for guard in [&guard, &own, &other] {
        assert!(!guard.is_held());
    }
    until_clean(&node).await
}

async fn k10_a_name_is_not_part_of_a_longer_one(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "").await?;
    let mut guards = Vec::new();
    // The longer ones first: a key of theirs would be the first of the queue.
    for name in ["a0", "a.", "/a", "a/", "a%", "a%2Fb", "a/b/c", "a/b", "a"] {
        assert_eq!(locker.inspect(name).await?, None, "{name} has a holder");
        guards.push(take(&locker, name).await?);
    }
    assert_eq!(queue_keys(&node, "a").await?.len(), 1);
    for guard in guards {
        guard.release().await?;
    }
    Ok(())
}
