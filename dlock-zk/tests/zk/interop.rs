//! Other clients in the same queue: Curator's `InterProcessMutex` and kazoo's `Lock`.

use std::time::Duration;

use dlock::ErrorKind;
use dlock_servers::{clients::Peer, zk::Java};
use dlock_verify::support::hold_and_die;
use zookeeper_client::{Acls, CreateMode};

use crate::support::{
    LONG, Outcome, SESSION, SHORT, cases, connect, driver, queue, refused, soon, start, take,
    until_queue,
};

cases![
    curator_waits_for_us_and_we_for_curator,
    curator_and_we_stand_in_one_queue,
    curator_and_we_wait_for_the_end_of_the_dead,
    a_queue_of_kazoo_is_refused,
];

/// The time-out of the session of a client that does not die.
const SESSION_LONG: Duration = Duration::from_secs(30);

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zk/curator/Peer.java");

/// A process with the real Curator, whose session has this time-out.
async fn start_curator(address: impl ToString, path: &str, session: Duration) -> Outcome<Peer> {
    let java = Java::with_curator()?;
    let words = [
        "java",
        "-cp",
        java.class_path(),
        PROGRAM,
        &address.to_string(),
        path,
        &session.as_millis().to_string(),
    ];
    Ok(Peer::start(words.map(Into::into)).await?)
}

async fn curator_waits_for_us_and_we_for_curator(java: Java) -> Outcome {
    let node = start(&java).await?;
    let mut curator = start_curator(node.address(), "/dlock/a", SESSION_LONG).await?;
    let locker = connect(node.address(), LONG).await?;
    let mut last = 0;
    for _ in 0..5 {
        curator.say("acquire").await?;
        curator.expect("acquired").await?;
        assert!(locker.try_acquire("a").await?.is_none());
        let holder = locker.inspect("a").await?.ok_or("it has no holder")?;
        let theirs = holder.token.ok_or("no token")?;
        assert_eq!(
            (holder.attempt, holder.pid),
            (None, None),
            "not one of ours"
        );
        let waiting = tokio::spawn(locker.acquire("a").into_future());
        curator.say("release").await?;
        curator.expect("released").await?;
        let guard = soon("our turn", waiting).await???;
        assert!(guard.token() > theirs && theirs.get() > last);
        last = guard.token().get();
        curator.say("try").await?;
        curator.expect("taken").await?;
        guard.release().await?;
    }
    Ok(())
}

async fn curator_and_we_stand_in_one_queue(java: Java) -> Outcome {
    let node = start(&java).await?;
    let mut curator = start_curator(node.address(), "/dlock/a", SESSION_LONG).await?;
    let (first, third) = (
        connect(node.address(), LONG).await?,
        connect(node.address(), LONG).await?,
    );
    let driver = driver(node.address()).await?;
    for _ in 0..5 {
        let guard = take(&first, "a").await?;
        curator.say("acquire").await?;
        until_queue(&driver, "a", 2).await?;
        let waiting = tokio::spawn(third.acquire("a").into_future());
        until_queue(&driver, "a", 3).await?;
        guard.release().await?;
        curator.expect("acquired").await?;
        until_queue(&driver, "a", 2).await?;
        assert!(!waiting.is_finished(), "it came after Curator");
        curator.say("release").await?;
        curator.expect("released").await?;
        soon("our turn", waiting).await???.release().await?;
    }
    Ok(())
}

async fn curator_and_we_wait_for_the_end_of_the_dead(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    let mut mortal = start_curator(node.address(), "/dlock/a", SESSION).await?;
    mortal.request("acquire", "acquired").await?;
    let waiting = tokio::spawn(locker.acquire("a").into_future());
    until_queue(&driver, "a", 2).await?;
    mortal.kill().await?;
    soon("our turn", waiting).await???.release().await?;
    let url = format!("zk://{}?{SHORT}", node.address());
    hold_and_die(async move { Ok(dlock::connect(url.as_str()).await?) }, "a").await?;
    let mut curator = start_curator(node.address(), "/dlock/a", SESSION_LONG).await?;
    Ok(curator.request("acquire", "acquired").await?)
}

async fn a_queue_of_kazoo_is_refused(java: Java) -> Outcome {
    let node = start(&java).await?;
    let locker = connect(node.address(), LONG).await?;
    let driver = driver(node.address()).await?;
    take(&locker, "a").await?.release().await?;
    let options = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
    let kazoo = "/dlock/a/4f00000000000000000000000000a1ff__lock__";
    driver.create(kazoo, b"host", &options).await?;
    let tried = refused(locker.try_acquire("a").await)?;
    let waited = refused(soon("a refusal", locker.acquire("a")).await?)?;
    let inspected = refused(locker.inspect("a").await)?;
    for error in [tried, waited, inspected] {
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("kazoo"), "{error}");
    }
    assert_eq!(
        queue(&driver, "a").await?.len(),
        1,
        "nothing of ours is left"
    );
    Ok(())
}
