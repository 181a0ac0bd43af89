//! Real clients of other projects on the same locks, in both directions: `docs/mixed-fleets.md` is made from these.
//! Curator's are in `interop.rs`.

use std::time::Duration;

use dlock::{ErrorKind, Locker, LostCause};
use dlock_servers::{
    clients::Client,
    zk::{Java, Node},
};
use dlock_verify::support::{hold_and_die, if_client_available};
use libtest_mimic::Trial;
use zookeeper_client::{Acls, CreateMode};

use crate::support::{
    Flavour, LONG, Outcome, SESSION, SHORT, cases, connect, driver, queue, refused, soon, start,
    take, until_queue, within,
};

/// The cases with the real kazoo.
mod with_kazoo {
    use super::{
        a_kazoo_that_comes_second_is_reported_to_the_holder_at_once, cases,
        dlock_and_kazoo_wait_for_each_other_with_its_format,
        kazoo_with_extra_lock_patterns_waits_for_dlock,
    };

    cases![
        a_kazoo_that_comes_second_is_reported_to_the_holder_at_once,
        kazoo_with_extra_lock_patterns_waits_for_dlock,
        dlock_and_kazoo_wait_for_each_other_with_its_format,
    ];
}

cases![
    names_with_slashes_are_refused_where_other_clients_are,
    two_formats_in_one_directory_are_refused,
    a_node_of_curator_in_a_queue_of_kazoo_is_refused,
    a_queue_of_our_own_is_no_loss,
    a_foreign_node_in_a_queue_without_a_watch_is_a_loss,
];

pub(crate) fn trials_with_clients(flavour: Flavour) -> Vec<Trial> {
    let kazoo = Client::Kazoo;
    let trials = with_kazoo::trials(flavour);
    if_client_available(kazoo.name(), kazoo.find(), trials)
}

/// A directory for locks of kazoo's format.
const KAZOO: &str = "prefix=kazoo&format=kazoo";

/// On a busy machine; a first renewal is due after 10 s.
const REPORTED: Duration = Duration::from_secs(3);

/// The ttl of clients that do not die.
const SESSION_LONG: Duration = Duration::from_secs(30);

async fn connect_as_kazoo(node: &Node) -> Outcome<Locker> {
    Ok(connect(node.address(), &format!("{LONG}&{KAZOO}")).await?)
}

async fn a_kazoo_that_comes_second_is_reported_to_the_holder_at_once(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let mut kazoo = Client::Kazoo
        .start(node.address(), SESSION_LONG, &[])
        .await?;
    // Long after the grant, and at once after it. No renewal is due so soon.
    for pause in [Duration::from_millis(500), Duration::ZERO] {
        let held = take(&locker, "a").await?;
        tokio::time::sleep(pause).await;
        kazoo.request("acquire /dlock/a", "acquired").await?;
        let lost = within(REPORTED, "the loss", held.lost()).await?;
        assert_eq!(lost, LostCause::Taken);
        let error = refused(locker.try_acquire("a").await)?;
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("format=kazoo"), "{error}");
        kazoo.request("release /dlock/a", "released").await?;
    }
    take(&locker, "a").await?.release().await?;
    Ok(())
}

/// No two hold the lock, but dlock does not know that kazoo waits.
async fn kazoo_with_extra_lock_patterns_waits_for_dlock(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let patterns = ["-lock-"];
    let mut kazoo = Client::Kazoo
        .start(node.address(), SESSION_LONG, &patterns)
        .await?;
    // A node of dlock's that no locker watches.
    let driver = driver(node.address()).await?;
    take(&locker, "a").await?.release().await?;
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let ours = "/dlock/a/_c_4f000000-0000-0000-0000-0000000000a1-lock-";
    let (_, sequence) = driver.create(ours, b"", &options).await?;
    kazoo.request("try /dlock/a", "taken").await?;
    driver.delete(&format!("{ours}{sequence}"), None).await?;
    let held = take(&locker, "a").await?;
    kazoo.say("acquire /dlock/a").await?;
    assert_eq!(soon("the loss", held.lost()).await?, LostCause::Taken);
    kazoo.expect("acquired").await?;
    assert!(!held.is_held());
    Ok(())
}

async fn dlock_and_kazoo_wait_for_each_other_with_its_format(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect_as_kazoo(&node).await?;
    let driver = driver(node.address()).await?;
    let path = "/kazoo/job";
    let length = async |length: usize| {
        dlock_verify::support::until("the queue", async || {
            Ok(driver.list_children(path).await?.len() == length)
        })
        .await
    };
    let mut kazoo = Client::Kazoo
        .start(node.address(), SESSION_LONG, &[])
        .await?;
    let (acquire, free) = (format!("acquire {path}"), format!("release {path}"));
    let attempt = format!("try {path}");
    let held = take(&locker, "job").await?;
    held.renew().await?;
    kazoo.request(&attempt, "taken").await?;
    kazoo.say(&acquire).await?;
    length(2).await?;
    // One queue: dlock's second attempt comes after kazoo.
    let waiting = tokio::spawn(locker.acquire("job").into_future());
    held.renew().await?;
    held.release().await?;
    kazoo.expect("acquired").await?;
    let holder = locker.inspect("job").await?.ok_or("no holder")?;
    assert_eq!(
        (holder.attempt, holder.pid),
        (None, None),
        "not one of ours"
    );
    length(2).await?;
    assert!(locker.try_acquire("job").await?.is_none());
    kazoo.request(&free, "released").await?;
    let guard = soon("our turn", waiting).await???;
    guard.renew().await?;
    kazoo.request(&attempt, "taken").await?;
    guard.release().await?;
    // A kazoo that dies.
    let mut mortal = Client::Kazoo.start(node.address(), SESSION, &[]).await?;
    mortal.request(&acquire, "acquired").await?;
    let waiting = tokio::spawn(locker.acquire("job").into_future());
    length(2).await?;
    mortal.kill().await?;
    soon("our turn", waiting).await???.release().await?;
    // A dlock that dies.
    let url = format!("zk://{}?{SHORT}&{KAZOO}", node.address());
    hold_and_die(
        async move { Ok(dlock::connect(url.as_str()).await?) },
        "job",
    )
    .await?;
    kazoo.request(&acquire, "acquired").await?;
    Ok(())
}

/// dlock escapes slashes and percent signs, and other clients do not: such a name would be two locks.
async fn names_with_slashes_are_refused_where_other_clients_are(java: Java) -> Outcome {
    let node = start(&java).await?;
    for keys in ["prefix=", KAZOO] {
        let locker = connect(node.address(), &format!("{LONG}&{keys}")).await?;
        for name in ["seat/14C", "50%"] {
            for error in [
                refused(locker.acquire(name).await)?,
                refused(locker.try_acquire(name).await)?,
                refused(locker.inspect(name).await)?,
            ] {
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
                assert!(error.to_string().contains("/ or %"), "{error}");
            }
        }
        take(&locker, "seat").await?.release().await?;
    }
    Ok(())
}

async fn two_formats_in_one_directory_are_refused(java: Java) -> Outcome {
    let node = start(&java).await?;
    for (first, second) in [("curator", "kazoo"), ("kazoo", "curator")] {
        let keys = |format: &str| format!("{LONG}&prefix={first}&format={format}");
        let locker = connect(node.address(), &keys(first)).await?;
        let held = take(&locker, "a").await?;
        let error = refused(connect(node.address(), &keys(second)).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
        assert!(error.to_string().contains("format=kazoo"), "{error}");
        assert!(error.to_string().contains("the default format"), "{error}");
        let again = connect(node.address(), &keys(first)).await?;
        assert!(again.try_acquire("a").await?.is_none());
        held.release().await?;
    }
    let error = refused(connect(node.address(), "format=zk").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("curator and kazoo"), "{error}");
    Ok(())
}

async fn a_node_of_curator_in_a_queue_of_kazoo_is_refused(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect_as_kazoo(&node).await?;
    let driver = driver(node.address()).await?;
    let held = take(&locker, "a").await?;
    held.renew().await?;
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let curator = "/kazoo/a/_c_4f000000-0000-0000-0000-0000000000a1-lock-";
    driver.create(curator, b"host", &options).await?;
    assert_eq!(soon("the loss", held.lost()).await?, LostCause::Taken);
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("Curator"), "{error}");
    Ok(())
}

async fn a_queue_of_our_own_is_no_loss(java: Java) -> Outcome {
    const WAITERS: usize = 20;
    let node = start(&java).await?;
    let driver = driver(node.address()).await?;
    let held = take(&connect(node.address(), LONG).await?, "a").await?;
    held.renew().await?;
    for _ in 0..3 {
        let mut waiting = Vec::new();
        for _ in 0..WAITERS {
            let other = connect(node.address(), LONG).await?;
            waiting.push(tokio::spawn(other.acquire("a").into_future()));
        }
        until_queue(&driver, "a", WAITERS + 1).await?;
        for waiter in waiting {
            waiter.abort();
        }
        until_queue(&driver, "a", 1).await?;
        held.renew().await?;
    }
    // The watch has outlasted them.
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    driver.create("/dlock/a/x__lock__", b"", &options).await?;
    assert_eq!(soon("the loss", held.lost()).await?, LostCause::Taken);
    Ok(())
}

/// `zk.many-held`: there are more held locks than watches.
async fn a_foreign_node_in_a_queue_without_a_watch_is_a_loss(java: Java) -> Outcome {
    /// Directories and nodes of so many need more bytes than a session may watch.
    const LOCKS: usize = 400;
    let node = start(&java).await?;
    let locker = connect(node.address(), SHORT).await?;
    let mut held = Vec::new();
    for number in 0..LOCKS {
        let guard = take(&locker, &format!("{number:0>200}")).await?;
        guard.renew().await?;
        held.push(guard);
    }
    let driver = driver(node.address()).await?;
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let last = held.last().ok_or("no lock")?;
    let foreign = format!("/dlock/{}/x__lock__", last.name());
    let watched = node.command("wchp").await?;
    let directory = format!("/dlock/{}\n", last.name());
    assert!(!watched.contains(&directory), "it is watched");
    driver.create(&foreign, b"", &options).await?;
    assert_eq!(soon("the loss", last.lost()).await?, LostCause::Taken);
    assert_eq!(held.iter().filter(|guard| !guard.is_held()).count(), 1);
    assert!(!queue(&driver, last.name().as_str()).await?.is_empty());
    Ok(())
}
