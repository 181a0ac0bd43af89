//! The record of a migration: one key beside the locks.

use std::{fmt::Display, time::Duration};

use dlock::{Effect, ErrorKind};
use dlock_core::backend::DistributedLock as _;
use dlock_redis::{RedisConfig, RedisLock};
use dlock_servers::{Program, redis::Persistence};
use dlock_verify::{
    migration_record::{self, is_unknown, of as record},
    proxy::{
        Direction::{ToClient, ToServer},
        Fault, Proxy,
    },
};

use crate::{
    cluster::cluster,
    support::{
        Outcome, cases, connect_as_user, follow, refused, soon, start, start_keeping, start_pair,
        until_clean,
    },
};

cases![
    the_record_changes_only_from_what_is_expected,
    each_client_sees_the_changes_of_the_other,
    each_prefix_has_a_record,
    the_record_is_no_lock,
    a_change_whose_reply_is_lost_is_unknown,
    a_change_that_is_lost_is_not_made_later,
    a_key_of_another_type_is_reported,
    a_text_of_any_bytes_is_never_expected,
    a_user_of_locks_may_change_the_record,
    a_replica_does_not_read_the_record,
    a_change_without_enough_replicas_is_unknown,
    a_restart_keeps_the_record,
    one_master_of_a_cluster_has_the_record,
    a_closed_backend_reads_no_record,
];

const KEY: &str = "dlock:{all}migration";

fn config(address: impl Display) -> RedisConfig {
    RedisConfig::new(address).restart_guard(Duration::ZERO)
}

async fn connect(address: impl Display) -> dlock::Result<RedisLock> {
    RedisLock::connect(config(address)).await
}

async fn the_record_changes_only_from_what_is_expected(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let backend = connect(node.address()).await?;
    let record = record(&backend)?;
    migration_record::changes_only_from_what_is_expected(record).await?;
    // After a flush the script is sent in full.
    node.command(&["SCRIPT", "FLUSH"]).await?;
    assert!(record.compare_and_set(Some("b"), "c").await?);
    assert_eq!(node.command(&["GET", KEY]).await?.text()?, "c");
    assert_eq!(node.command(&["PTTL", KEY]).await?.int()?, -1, "it ends");
    Ok(())
}

async fn each_client_sees_the_changes_of_the_other(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let (one, two) = (
        connect(node.address()).await?,
        connect(node.address()).await?,
    );
    migration_record::no_change_is_lost(record(&one)?, record(&two)?, 100).await
}

async fn each_prefix_has_a_record(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let mut backends = Vec::new();
    for prefix in migration_record::PREFIXES {
        backends.push(RedisLock::connect(config(node.address()).prefix(prefix)).await?);
    }
    let records: Outcome<Vec<_>> = backends.iter().map(record).collect();
    migration_record::are_records_of_their_own(&records?).await
}

async fn the_record_is_no_lock(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let backend = connect(node.address()).await?;
    let text = migration_record::text();
    assert!(record(&backend)?.compare_and_set(None, &text).await?);
    until_clean(&node).await?;
    // The name of its key is another lock, or refused.
    let locker = crate::support::connect(node.address(), "").await?;
    let guard = locker.acquire("{all}migration").await?;
    guard.release().await?;
    let plain = crate::support::connect(node.address(), "prefix=&format=plain").await?;
    for name in [KEY, "{all}migration"] {
        let error = refused(plain.try_acquire(name).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("{all}migration"), "{error}");
    }
    assert_eq!(record(&backend)?.read().await?, Some(text));
    Ok(())
}

async fn a_change_whose_reply_is_lost_is_unknown(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let backend = connect(proxy.address()).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "0").await?);
    for number in 0..20 {
        let (was, next) = (number.to_string(), (number + 1).to_string());
        let last = proxy.connections().pop().ok_or("no connection")?;
        last.set(ToClient, Fault::CutInstead);
        let change = record.compare_and_set(Some(&was), &next);
        is_unknown(soon("an answer", change).await?)?;
        soon("the reply is lost", last.until_ended()).await?;
        // On another connection.
        assert_eq!(record.read().await?, Some(next));
    }
    // A read is repeated.
    let last = proxy.connections().pop().ok_or("no connection")?;
    last.set(ToClient, Fault::CutInstead);
    assert_eq!(record.read().await?.as_deref(), Some("20"));
    soon("the reply is lost", last.until_ended()).await?;
    Ok(())
}

/// The request hangs, and its connection ends before the next request is sent.
async fn a_change_that_is_lost_is_not_made_later(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let config = config(proxy.address()).timeout(Duration::from_millis(500));
    let backend = RedisLock::connect(config).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    let last = proxy.connections().pop().ok_or("no connection")?;
    last.set(ToServer, Fault::Hold);
    let change = record.compare_and_set(Some("a"), "b");
    is_unknown(soon("an answer", change).await?)?;
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    last.set(ToServer, Fault::None);
    soon("its connection ends", last.until_ended()).await?;
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn a_key_of_another_type_is_reported(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let backend = connect(node.address()).await?;
    let record = record(&backend)?;
    node.command(&["LPUSH", KEY, "x"]).await?;
    for answer in [
        record.read().await.map(drop),
        record.compare_and_set(None, "a").await.map(drop),
        record.compare_and_set(Some("x"), "a").await.map(drop),
    ] {
        let error = refused(answer)?;
        let found = (error.kind(), error.effect());
        assert_eq!(found, (ErrorKind::Unsupported, Effect::None), "{error}");
        assert!(error.to_string().contains(KEY), "{error}");
    }
    assert_eq!(node.command(&["LLEN", KEY]).await?.int()?, 1);
    Ok(())
}

async fn a_text_of_any_bytes_is_never_expected(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let backend = connect(node.address()).await?;
    let record = record(&backend)?;
    let bytes = "return redis.call('SET', KEYS[1], '\\255\\0\\n')";
    node.command(&["EVAL", bytes, "1", KEY]).await?;
    let found = record.read().await?.ok_or("it is not there")?;
    assert!(!record.compare_and_set(Some(&found), "a").await?);
    assert!(!record.compare_and_set(None, "a").await?);
    Ok(())
}

/// The rights are those for locks, see the README.
async fn a_user_of_locks_may_change_the_record(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    // Of no name but `a`.
    let keys = ["resetkeys", "~dlock:a", "~dlock:{*", "resetchannels"];
    let commands =
        "-@all +hello +info +client|id +time +eval +evalsha +get +set +append +pttl +pexpire +del";
    let commands: Vec<_> = commands.split(' ').collect();
    connect_as_user(&node, &[&keys[..], &commands].concat()).await?;
    let config = config(node.address()).login("shop", "secret");
    let backend = RedisLock::connect(config).await?;
    assert!(record(&backend)?.compare_and_set(None, "a").await?);
    assert_eq!(record(&backend)?.read().await?.as_deref(), Some("a"));
    // Without a right it is denied.
    node.command(&["ACL", "SETUSER", "shop", "-set"]).await?;
    let error = refused(record(&backend)?.compare_and_set(Some("a"), "b").await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert_eq!(record(&backend)?.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn a_replica_does_not_read_the_record(program: Program) -> Outcome {
    let (primary, server) = (start(&program, &[]).await?, start(&program, &[]).await?);
    let backend = connect(server.address()).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    follow(&server, Some(&primary)).await?;
    for answer in [
        record.read().await.map(drop),
        record.compare_and_set(Some("b"), "c").await.map(drop),
    ] {
        let error = refused(answer)?;
        let found = (error.kind(), error.effect());
        assert_eq!(found, (ErrorKind::Unavailable, Effect::None), "{error}");
        assert!(
            error.to_string().contains("the primary's address"),
            "{error}"
        );
    }
    Ok(())
}

async fn a_change_without_enough_replicas_is_unknown(program: Program) -> Outcome {
    let (primary, _replica) = start_pair(&program).await?;
    let with = async |acks| {
        let config = config(primary.address()).min_acks(acks);
        RedisLock::connect(config.timeout(Duration::from_secs(2))).await
    };
    let (one, two) = (with(1).await?, with(2).await?);
    assert!(record(&one)?.compare_and_set(None, "a").await?);
    // Only a change waits.
    assert!(!record(&two)?.compare_and_set(None, "b").await?);
    let error = refused(record(&two)?.compare_and_set(Some("a"), "b").await)?;
    let found = (error.kind(), error.effect());
    assert_eq!(found, (ErrorKind::Unavailable, Effect::Unknown), "{error}");
    assert!(error.to_string().contains("of min_acks=2"), "{error}");
    assert_eq!(record(&two)?.read().await?.as_deref(), Some("b"));
    Ok(())
}

async fn a_restart_keeps_the_record(program: Program) -> Outcome {
    let mut node = start_keeping(&program, Persistence::AofAlways, &[]).await?;
    let backend = connect(node.address()).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    node.kill()?;
    node.resume().await?;
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn one_master_of_a_cluster_has_the_record(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let connect = async || {
        let config = RedisConfig::cluster(cluster.addresses());
        RedisLock::connect(config.restart_guard(Duration::ZERO)).await
    };
    let (one, two) = (connect().await?, connect().await?);
    assert!(record(&one)?.compare_and_set(None, "a").await?);
    assert!(!record(&two)?.compare_and_set(None, "b").await?);
    assert!(record(&two)?.compare_and_set(Some("a"), "b").await?);
    assert_eq!(record(&one)?.read().await?.as_deref(), Some("b"));
    let home = &cluster.nodes()[cluster.owner_of(KEY).await?];
    assert_eq!(home.command(&["GET", KEY]).await?.text()?, "b");
    // Its master is another one now.
    cluster.fail_over(KEY).await?;
    assert_eq!(record(&one)?.read().await?.as_deref(), Some("b"));
    assert!(record(&one)?.compare_and_set(Some("b"), "c").await?);
    assert_eq!(record(&two)?.read().await?.as_deref(), Some("c"));
    Ok(())
}

async fn a_closed_backend_reads_no_record(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let backend = connect(node.address()).await?;
    backend.close().await?;
    migration_record::is_refused_when_closed(record(&backend)?).await?;
    assert_eq!(node.command(&["EXISTS", KEY]).await?.int()?, 0);
    Ok(())
}
