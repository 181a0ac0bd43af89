//! Writes to etcd that happen only under the lock (T35).

use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
};

use conformance_tests::servers::etcd::Flavour;
use dlock::{Locker, LockerBuilder, config::Registry};
use dlock_core::DistributedLock;
use dlock_etcd::{EtcdConfig, EtcdLock, TxnGuard};
use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};

use crate::kit::{Outcome, cases, connect, soon, start, take};

cases![
    t35_a_write_happens_only_while_the_lock_is_held,
    t35_a_base_of_tokens_changes_nothing,
    t35_the_guard_of_another_connection_is_refused,
];

async fn open(address: SocketAddr) -> Outcome<Arc<EtcdLock>> {
    let slot = Arc::new(OnceLock::new());
    let kept = slot.clone();
    let registry = Registry::new().register("etcd", move |settings| {
        let (config, kept) = (EtcdConfig::from_settings(settings, false)?, kept.clone());
        Ok(Box::pin(async move {
            let backend = Arc::new(EtcdLock::connect(config).await?);
            let _ = kept.set(backend.clone());
            Ok(backend as Arc<dyn DistributedLock>)
        }))
    });
    let url = format!("etcd://{address}");
    registry.open(&dlock::Config::from_url(&url)?).await?;
    let backend = slot.get().cloned();
    backend.ok_or_else(|| "not opened".into())
}

async fn write(address: SocketAddr, held: TxnGuard) -> Outcome<bool> {
    let mut client = Client::connect([address.to_string()], None).await?;
    let is_held = Compare::create_revision(held.key, CompareOp::Equal, held.create_revision);
    let put = TxnOp::put("written", "under the lock", None);
    let txn = Txn::new().when([is_held]).and_then([put]);
    Ok(client.txn(txn).await?.succeeded())
}

fn builder(backend: &Arc<EtcdLock>) -> LockerBuilder {
    Locker::builder(backend.clone())
}

async fn t35_a_write_happens_only_while_the_lock_is_held(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = open(node.address()).await?;
    let locker = builder(&backend).build()?;
    let guard = take(&locker, "a").await?;
    let held = backend.txn_guard(&guard)?;
    assert_eq!(u64::try_from(held.create_revision)?, guard.token().get());
    assert!(write(node.address(), held.clone()).await?);
    node.delete(&held.key).await?;
    assert!(!write(node.address(), held.clone()).await?);
    soon("the loss", guard.lost()).await?;
    assert!(backend.txn_guard(&guard).is_err());
    let next = take(&locker, "a").await?;
    assert!(!write(node.address(), held).await?);
    assert!(write(node.address(), backend.txn_guard(&next)?).await?);
    Ok(next.release().await?)
}

async fn t35_a_base_of_tokens_changes_nothing(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = open(node.address()).await?;
    let locker = builder(&backend).token_base(1 << 40).build()?;
    let guard = take(&locker, "a").await?;
    assert!(guard.token().get() > 1 << 40);
    assert!(write(node.address(), backend.txn_guard(&guard)?).await?);
    Ok(guard.release().await?)
}

async fn t35_the_guard_of_another_connection_is_refused(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = open(node.address()).await?;
    let other = connect(node.address(), "").await?;
    let guard = take(&other, "a").await?;
    let error = backend.txn_guard(&guard).err().ok_or("accepted")?;
    assert_eq!(error.kind(), dlock::ErrorKind::InvalidInput, "{error}");
    Ok(guard.release().await?)
}
