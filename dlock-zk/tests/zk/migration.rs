//! The record of a migration: one node beside the locks.

use std::{fmt::Display, time::Duration};

use dlock::{Effect, ErrorKind};
use dlock_core::backend::DistributedLock as _;
use dlock_servers::zk::{Ensemble, Java};
use dlock_verify::{
    migration_record::{self, is_unknown, of as record},
    proxy::{Direction::ToClient, Fault, Proxy},
};
use dlock_zk::{ZkConfig, ZkLock};
use zookeeper_client::{Acls, CreateMode};

use crate::support::{
    LONG, Outcome, TICK, cases, connect, driver, quick, refused, soon, start, until,
};

cases![
    the_record_changes_only_from_what_is_expected,
    each_client_sees_the_changes_of_the_other,
    each_prefix_has_a_record,
    the_record_is_in_the_chroot_without_a_prefix,
    a_change_whose_reply_is_lost_is_unknown,
    no_reply_ever_to_a_change_of_the_record,
    a_server_that_is_behind_does_not_read_the_record_of_before,
    a_leader_that_was_replaced_does_not_read_the_record_of_before,
    a_record_of_another_login_is_refused,
    a_text_of_any_bytes_is_never_expected,
    a_restart_keeps_the_record,
    a_closed_backend_reads_no_record,
];

const NODE: &str = "/dlock/%migration";

fn config(address: impl Display) -> ZkConfig {
    let config = ZkConfig::new([address]).tick(TICK);
    config.session(Duration::from_secs(60))
}

async fn open(address: impl Display) -> dlock::Result<ZkLock> {
    ZkLock::connect(config(address)).await
}

async fn the_record_changes_only_from_what_is_expected(java: Java) -> Outcome {
    let node = start(&java).await?;
    let backend = open(node.address()).await?;
    migration_record::changes_only_from_what_is_expected(record(&backend)?).await?;
    let (data, stat) = driver(node.address()).await?.get_data(NODE).await?;
    assert_eq!((&*data, stat.ephemeral_owner), (&b"b"[..], 0), "it stays");
    Ok(())
}

async fn each_client_sees_the_changes_of_the_other(java: Java) -> Outcome {
    let ensemble = Ensemble::start(&java, &quick()).await?;
    let [one, two, ..] = ensemble.nodes() else {
        return Err("no ensemble".into());
    };
    let (one, two) = (open(one.address()).await?, open(two.address()).await?);
    migration_record::no_change_is_lost(record(&one)?, record(&two)?, 50).await
}

async fn each_prefix_has_a_record(java: Java) -> Outcome {
    let node = start(&java).await?;
    let mut backends = Vec::new();
    for prefix in migration_record::PREFIXES {
        backends.push(ZkLock::connect(config(node.address()).prefix(prefix)).await?);
    }
    let records: Outcome<Vec<_>> = backends.iter().map(record).collect();
    migration_record::are_records_of_their_own(&records?).await
}

async fn the_record_is_in_the_chroot_without_a_prefix(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
    driver.create("/team", b"", &persistent).await?;
    let backend = ZkLock::connect(config(node.address()).chroot("team").prefix("")).await?;
    assert!(record(&backend)?.compare_and_set(None, "a").await?);
    assert_eq!(driver.get_data("/team/%migration").await?.0, b"a");
    Ok(())
}

/// The server has executed it, and finds its own node when it is sent again.
async fn a_change_whose_reply_is_lost_is_unknown(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    let proxy = Proxy::start(node.address())?;
    let backend = open(proxy.address()).await?;
    let record = record(&backend)?;
    for _ in 0..10 {
        let last = proxy.connections().pop().ok_or("no connection")?;
        last.set(ToClient, Fault::CutInstead);
        is_unknown(soon("an answer", record.compare_and_set(None, "a")).await?)?;
        soon("the reply is lost", last.until_ended()).await?;
        until("it is read", async || Ok(record.read().await.is_ok())).await?;
        assert_eq!(record.read().await?.as_deref(), Some("a"));
        assert!(!record.compare_and_set(None, "a").await?);
        driver.delete(NODE, None).await?;
        assert_eq!(record.read().await?, None);
    }
    Ok(())
}

async fn no_reply_ever_to_a_change_of_the_record(java: Java) -> Outcome {
    let node = start(&java).await?;
    let proxy = Proxy::start(node.address())?;
    let config = config(proxy.address()).timeout(Duration::from_millis(700));
    let backend = ZkLock::connect(config).await?;
    let record = record(&backend)?;
    proxy.set(ToClient, Fault::Hold);
    is_unknown(soon("an answer", record.compare_and_set(None, "a")).await?)?;
    proxy.set(ToClient, Fault::None);
    until("it is read", async || Ok(record.read().await.is_ok())).await?;
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn a_server_that_is_behind_does_not_read_the_record_of_before(java: Java) -> Outcome {
    let ensemble = Ensemble::start(&java, &quick()).await?;
    let (leader, behind) = (ensemble.leader().await?, ensemble.follower().await?);
    let ahead = open(ensemble.nodes()[leader].address()).await?;
    let other = open(ensemble.nodes()[behind].address()).await?;
    let late = Fault::Delay(Duration::from_millis(300));
    ensemble.link(behind, leader).set(ToClient, late);
    assert!(record(&ahead)?.compare_and_set(None, "a").await?);
    assert_eq!(record(&other)?.read().await?.as_deref(), Some("a"));
    assert!(record(&ahead)?.compare_and_set(Some("a"), "b").await?);
    assert_eq!(record(&other)?.read().await?.as_deref(), Some("b"));
    assert!(record(&ahead)?.compare_and_set(Some("b"), "c").await?);
    assert!(record(&other)?.compare_and_set(Some("c"), "d").await?);
    Ok(())
}

/// Such a leader answers a `sync`, too, until it notices.
async fn a_leader_that_was_replaced_does_not_read_the_record_of_before(java: Java) -> Outcome {
    let ensemble = Ensemble::start(&java, &quick()).await?;
    let former = ensemble.leader().await?;
    let slept = &ensemble.nodes()[former];
    let nodes = ensemble.nodes().iter().enumerate();
    let others = nodes.filter(|(index, _)| *index != former);
    let others: Vec<_> = others.map(|(_, node)| node).collect();
    let backend = open(slept.address()).await?;
    let record_of_before = record(&backend)?;
    assert!(record_of_before.compare_and_set(None, "a").await?);
    slept.stop()?;
    let mut elected = None;
    until("another one leads", async || {
        for node in &others {
            if node.mode().await.is_ok_and(|mode| mode == "leader") {
                elected = Some(node.address());
            }
        }
        Ok(elected.is_some())
    })
    .await?;
    // The third server may not have joined it yet.
    let other = open(elected.ok_or("none leads")?).await?;
    assert!(record(&other)?.compare_and_set(Some("a"), "b").await?);
    let reading = async {
        // Sent when it goes on.
        slept.cont()?;
        Outcome::Ok(())
    };
    let both = async { tokio::join!(record_of_before.read(), reading) };
    let (found, gone_on) = soon("an answer", both).await?;
    gone_on?;
    if let Ok(found) = found {
        assert_eq!(found.as_deref(), Some("b"));
    }
    Ok(())
}

async fn a_record_of_another_login_is_refused(java: Java) -> Outcome {
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
    driver.create("/dlock", b"", &persistent).await?;
    let login = config(node.address()).login("me", "right");
    let owner = ZkLock::connect(login).await?;
    assert!(record(&owner)?.compare_and_set(None, "a").await?);
    let other = open(node.address()).await?;
    for answer in [
        record(&other)?.read().await.map(drop),
        record(&other)?
            .compare_and_set(Some("a"), "b")
            .await
            .map(drop),
        connect(node.address(), LONG).await.map(drop),
    ] {
        let error = refused(answer)?;
        let found = (error.kind(), error.effect());
        assert_eq!(found, (ErrorKind::Denied, Effect::None), "{error}");
        assert!(error.to_string().contains(NODE), "{error}");
    }
    assert!(!record(&other)?.compare_and_set(None, "b").await?);
    assert_eq!(record(&owner)?.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn a_text_of_any_bytes_is_never_expected(java: Java) -> Outcome {
    let node = start(&java).await?;
    let backend = open(node.address()).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    let driver = driver(node.address()).await?;
    driver.set_data(NODE, &[0xfc, 0], None).await?;
    let found = record.read().await?.ok_or("it is not there")?;
    assert!(!record.compare_and_set(Some(&found), "a").await?);
    assert!(!record.compare_and_set(None, "a").await?);
    Ok(())
}

async fn a_restart_keeps_the_record(java: Java) -> Outcome {
    let mut node = start(&java).await?;
    let backend = open(node.address()).await?;
    let record = record(&backend)?;
    assert!(record.compare_and_set(None, "a").await?);
    node.restart().await?;
    until("it is read", async || Ok(record.read().await.is_ok())).await?;
    assert_eq!(record.read().await?.as_deref(), Some("a"));
    Ok(())
}

async fn a_closed_backend_reads_no_record(java: Java) -> Outcome {
    let node = start(&java).await?;
    let backend = open(node.address()).await?;
    backend.close().await?;
    migration_record::is_refused_when_closed(record(&backend)?).await
}
