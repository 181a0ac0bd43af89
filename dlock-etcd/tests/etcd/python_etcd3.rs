//! The real `Lock` of python-etcd3 on the same locks, with `format=python-etcd3`, in both directions:
//! `docs/mixed-fleets.md` is made from these.

use std::time::Duration;

use dlock_servers::clients::Client;
use dlock_verify::support::if_client_available;
use libtest_mimic::Trial;

use crate::{
    foreign_client::{Foreign, LONG, TTL},
    support::{Flavour, Outcome, PYTHON, cases, connect, poll_times, soon, start, take},
};

cases![
    python_etcd3_waits_for_dlock,
    dlock_waits_for_python_etcd3,
    python_etcd3_and_dlock_share_all_names,
    python_etcd3_after_the_loss_of_dlock_keeps_its_lock,
];

pub(crate) fn trials_with_clients(flavour: Flavour) -> Vec<Trial> {
    let client = PYTHON_ETCD3.client;
    if_client_available(client.name(), client.find(), trials(flavour))
}

const PYTHON_ETCD3: Foreign = Foreign {
    client: Client::PythonEtcd3,
    settings: PYTHON,
};

async fn python_etcd3_waits_for_dlock(flavour: Flavour) -> Outcome {
    // It has no queue that shows its waiters.
    PYTHON_ETCD3
        .waits_for_dlock(flavour, async |_| Ok(()))
        .await
}

async fn dlock_waits_for_python_etcd3(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), PYTHON).await?;
    let mut peer = PYTHON_ETCD3.start(&node, LONG).await?;
    peer.request("acquire job", "acquired").await?;
    assert!(locker.try_acquire("job").await?.is_none());
    let holder = locker.inspect("job").await?.ok_or("it is free")?;
    assert_eq!(holder.attempt, None, "{holder:?}");
    assert!(holder.remaining.is_some());
    let mut waiter = Box::pin(locker.acquire("job").into_future());
    assert!(poll_times(waiter.as_mut(), 3).await.is_none());
    peer.request("release job", "released").await?;
    let guard = soon("its turn", waiter).await??;
    assert!(Some(guard.token()) > holder.token, "tokens grow");
    peer.request("try job", "taken").await?;
    guard.release().await?;
    // And for one that dies.
    let mut mortal = PYTHON_ETCD3.start(&node, TTL).await?;
    mortal.request("acquire job", "acquired").await?;
    mortal.kill().await?;
    let guard = soon("its turn", locker.acquire("job").into_future()).await??;
    Ok(guard.release().await?)
}

async fn python_etcd3_and_dlock_share_all_names(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), PYTHON).await?;
    let mut peer = PYTHON_ETCD3.start(&node, LONG).await?;
    for name in ["seat/14C", "50%", "a%2Fb", "seat"] {
        let held = take(&locker, name).await?;
        peer.request(&format!("try {name}"), "taken").await?;
        held.release().await?;
        peer.request(&format!("acquire {name}"), "acquired").await?;
        assert!(locker.try_acquire(name).await?.is_none(), "{name}");
    }
    Ok(())
}

/// A lock that dlock has lost: its release and its end do not end the lock of another client.
async fn python_etcd3_after_the_loss_of_dlock_keeps_its_lock(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), PYTHON).await?;
    let mut peer = PYTHON_ETCD3.start(&node, LONG).await?;
    let held = take(&locker, "job").await?;
    node.delete("/locks/job").await?;
    peer.request("acquire job", "acquired").await?;
    soon("the loss", held.lost()).await?;
    drop(held);
    locker.shutdown(Duration::from_secs(5)).await?;
    peer.request("holds job", "yes").await?;
    Ok(peer.request("release job", "released").await?)
}
