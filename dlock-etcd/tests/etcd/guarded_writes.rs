//! Writes to etcd with the condition that the lock is held.

use std::net::SocketAddr;

use dlock::ErrorKind;
use dlock_etcd::TxnCondition;
use dlock_servers::etcd::Flavour;
use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};

use crate::support::{Outcome, cases, connect, refused, soon, start, take};

cases![
    t35_a_write_happens_only_while_the_lock_is_held,
    t35_a_base_of_tokens_changes_nothing,
    t35_the_guard_of_another_backend_is_refused,
];

async fn write(address: SocketAddr, held: TxnCondition) -> Outcome<bool> {
    let mut client = Client::connect([address.to_string()], None).await?;
    let is_held = Compare::create_revision(held.key, CompareOp::Equal, held.create_revision);
    let put = TxnOp::put("written", "under the lock", None);
    let txn = Txn::new().when([is_held]).and_then([put]);
    Ok(client.txn(txn).await?.succeeded())
}

async fn t35_a_write_happens_only_while_the_lock_is_held(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "").await?;
    let guard = take(&locker, "a").await?;
    let held = TxnCondition::of(&guard)?;
    assert_eq!(u64::try_from(held.create_revision)?, guard.token().get());
    assert!(write(node.address(), held.clone()).await?);
    node.delete(&held.key).await?;
    assert!(!write(node.address(), held.clone()).await?);
    soon("the loss", guard.lost()).await?;
    let error = refused(TxnCondition::of(&guard))?;
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    let next = take(&locker, "a").await?;
    assert!(!write(node.address(), held).await?);
    let held = TxnCondition::of(&next)?;
    assert!(write(node.address(), held.clone()).await?);
    next.release().await?;
    assert!(!write(node.address(), held).await?);
    Ok(())
}

async fn t35_a_base_of_tokens_changes_nothing(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), "token_base=1000000000000").await?;
    let guard = take(&locker, "a").await?;
    assert!(guard.token().get() > 1_000_000_000_000);
    assert!(write(node.address(), TxnCondition::of(&guard)?).await?);
    Ok(guard.release().await?)
}

async fn t35_the_guard_of_another_backend_is_refused(_: Flavour) -> Outcome {
    let locker = dlock::connect("memory:").await?;
    let guard = take(&locker, "a").await?;
    let error = refused(TxnCondition::of(&guard))?;
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    Ok(guard.release().await?)
}
