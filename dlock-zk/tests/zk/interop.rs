//! Other clients in the same queue: Curator's `InterProcessMutex` and kazoo's `Lock`.

use std::process::Stdio;

use dlock::ErrorKind;
use dlock_servers::zk::Java;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};
use zookeeper_client::{Acls, CreateMode};

use crate::support::{
    LONG, Outcome, cases, connect, driver, queue, refused, soon, start, take, until_queue,
};

cases![
    curator_waits_for_us_and_we_for_curator,
    curator_and_we_stand_in_one_queue,
    a_queue_of_kazoo_is_refused,
];

/// The jars that Curator loads, its own among them.
const JARS: [&str; 9] = [
    "curator-recipes.jar",
    "curator-framework.jar",
    "curator-client.jar",
    "zookeeper.jar",
    "zookeeper-jute.jar",
    "guava.jar",
    "slf4j-api.jar",
    "slf4j-nop.jar",
    "metrics-core.jar",
];

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zk/curator/Peer.java");

/// A process with the real Curator.
struct Curator {
    _process: Child,
    says: ChildStdin,
    hears: Lines<BufReader<ChildStdout>>,
}

impl Curator {
    async fn start(address: impl ToString, path: &str) -> Outcome<Self> {
        let java = Java::with(&JARS)?;
        let mut process = Command::new("java")
            .args([
                "-cp",
                java.class_path(),
                PROGRAM,
                &address.to_string(),
                path,
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let says = process.stdin.take().ok_or("no input")?;
        let hears = process.stdout.take().ok_or("no output")?;
        let mut curator = Self {
            _process: process,
            says,
            hears: BufReader::new(hears).lines(),
        };
        curator.expect("ready").await?;
        Ok(curator)
    }

    async fn say(&mut self, line: &str) -> Outcome {
        Ok(self.says.write_all(format!("{line}\n").as_bytes()).await?)
    }

    async fn expect(&mut self, line: &str) -> Outcome {
        let heard = soon(line, self.hears.next_line()).await??;
        assert_eq!(heard.as_deref(), Some(line));
        Ok(())
    }
}

async fn curator_waits_for_us_and_we_for_curator(java: Java) -> Outcome {
    let node = start(&java).await?;
    let mut curator = Curator::start(node.address(), "/dlock/a").await?;
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
    let mut curator = Curator::start(node.address(), "/dlock/a").await?;
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
