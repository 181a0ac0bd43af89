//! The record of a migration: one key beside the locks.

use std::{fmt::Display, time::Duration};

use dlock::ErrorKind;
use dlock_core::backend::DistributedLock as _;
use dlock_etcd::{EtcdConfig, EtcdLock};
use dlock_servers::etcd::{Flavour, Node};
use dlock_verify::{
    migration_record::{self, is_unknown, of as record},
    proxy::{
        Direction::{ToClient, ToServer},
        End, Fault, Proxy,
    },
};

use crate::support::{Outcome, PYTHON, cases, keys, queue_keys, refused, soon, start, take, until};

cases![
    the_record_changes_only_from_what_is_expected,
    each_client_sees_the_changes_of_the_other,
    each_prefix_has_a_record,
    the_record_is_no_lock,
    t27_lost_reply_of_a_change_of_the_record,
    t27_no_reply_ever_to_a_change_of_the_record,
    t27_a_change_of_the_record_moves_to_the_next_member,
    a_text_of_any_bytes_is_never_expected,
    a_restart_keeps_the_record,
    a_closed_backend_reads_no_record,
];

const KEY: &str = "dlock/%dlock-migration";

async fn connect(address: impl Display) -> dlock::Result<EtcdLock> {
    let config = EtcdConfig::new([address]);
    EtcdLock::connect(config.timeout(Duration::from_millis(700))).await
}

/// The record in the store.
async fn stored(node: &Node) -> Outcome<Option<String>> {
    let found = node.keys(KEY).await?.pop();
    Ok(found.map(|entry| entry.value))
}

async fn the_record_changes_only_from_what_is_expected(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = connect(node.address()).await?;
    migration_record::changes_only_from_what_is_expected(record(&backend)?).await?;
    let left = keys(&node).await?;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!((&*left[0].key, &*left[0].value), (KEY, "b"));
    assert_eq!(left[0].lease, 0, "it stays");
    Ok(())
}

async fn each_client_sees_the_changes_of_the_other(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (one, two) = (
        connect(node.address()).await?,
        connect(node.address()).await?,
    );
    migration_record::no_change_is_lost(record(&one)?, record(&two)?, 50).await
}

async fn each_prefix_has_a_record(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let mut backends = Vec::new();
    for prefix in migration_record::PREFIXES {
        let config = EtcdConfig::new([node.address()]).prefix(prefix);
        backends.push(EtcdLock::connect(config).await?);
    }
    let records: Outcome<Vec<_>> = backends.iter().map(record).collect();
    migration_record::are_records_of_their_own(&records?).await
}

async fn the_record_is_no_lock(flavour: Flavour) -> Outcome {
    let text = migration_record::text();
    let node = start(flavour).await?;
    let backend = connect(node.address()).await?;
    assert!(record(&backend)?.compare_and_set(None, &text).await?);
    // The name of its key, and a name whose queue could have it.
    let locker = crate::support::connect(node.address(), "").await?;
    for name in ["%dlock-migration", "%dlock", "dlock-migration"] {
        take(&locker, name).await?.release().await?;
        assert_eq!(queue_keys(&node, name).await?, []);
    }
    let empty = crate::support::connect(node.address(), "prefix=").await?;
    let python = crate::support::connect(node.address(), PYTHON).await?;
    for locker in [empty, python] {
        let error = refused(locker.try_acquire("%dlock-migration").await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    assert_eq!(record(&backend)?.read().await?, Some(text));
    Ok(())
}

async fn t27_lost_reply_of_a_change_of_the_record(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let backend = connect(proxy.address()).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "0").await?);
    for number in 0..10 {
        let (was, next) = (number.to_string(), (number + 1).to_string());
        let connections = proxy.connections();
        for connection in &connections {
            connection.set(ToClient, Fault::Hold);
        }
        let lost = Box::pin(async {
            until("it is written", async || {
                Ok(stored(&node).await?.as_deref() == Some(&*next))
            })
            .await?;
            for connection in &connections {
                connection.end(End::Reset);
            }
            Outcome::Ok(())
        });
        let both = async { tokio::join!(record.compare_and_set(Some(&was), &next), lost) };
        let (changed, lost) = soon("the reply is lost", both).await?;
        lost?;
        // It was sent again, and found what it had written itself.
        is_unknown(changed)?;
        assert_eq!(record.read().await?, Some(next));
    }
    Ok(())
}

async fn t27_no_reply_ever_to_a_change_of_the_record(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let backend = connect(proxy.address()).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    proxy.set(ToClient, Fault::Hold);
    let change = record.compare_and_set(Some("a"), "b");
    is_unknown(soon("an answer", change).await?)?;
    proxy.set(ToClient, Fault::None);
    until("it is read", async || Ok(record.read().await.is_ok())).await?;
    assert_eq!(record.read().await?.as_deref(), Some("b"));
    Ok(())
}

/// A request that never arrived is no reason for an error.
async fn t27_a_change_of_the_record_moves_to_the_next_member(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let ways = [Proxy::start(node.address())?, Proxy::start(node.address())?];
    let config = EtcdConfig::new(ways.each_ref().map(Proxy::address));
    let backend = EtcdLock::connect(config.timeout(Duration::from_millis(700))).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    ways[0].set(ToServer, Fault::Hold);
    let change = record.compare_and_set(Some("a"), "b");
    assert!(soon("the other way", change).await??);
    assert_eq!(record.read().await?.as_deref(), Some("b"));
    Ok(())
}

async fn a_text_of_any_bytes_is_never_expected(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = connect(node.address()).await?;
    let record = record(&backend)?;
    // The base64 of the key, and of bytes that are no text.
    let put = serde_json::json!({"key": "ZGxvY2svJWRsb2NrLW1pZ3JhdGlvbg==", "value": "/wA="});
    node.call("/v3/kv/put", &put).await?;
    let found = record.read().await?.ok_or("it is not there")?;
    assert!(!record.compare_and_set(Some(&found), "a").await?);
    assert!(!record.compare_and_set(None, "a").await?);
    Ok(())
}

async fn a_restart_keeps_the_record(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let backend = connect(node.address()).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    node.restart().await?;
    until("it is read", async || Ok(record.read().await.is_ok())).await?;
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn a_closed_backend_reads_no_record(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let backend = connect(node.address()).await?;
    backend.close().await?;
    migration_record::is_refused_when_closed(record(&backend)?).await?;
    assert_eq!(stored(&node).await?, None);
    Ok(())
}
