//! `etcdctl lock` and dlock in one queue.

use std::{process::Stdio, time::Duration};

use dlock_servers::etcd::{Cluster, Flavour, Node, Options};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

use crate::support::{Outcome, cases, connect, soon, start, take, until};

cases![
    t26_etcdctl_waits_for_us,
    t26_we_wait_for_etcdctl,
    t26_all_wait_in_one_fair_queue,
    t24_a_leader_that_slept_may_end_a_lock_of_another_client,
];

const EMPTY: &str = "prefix=";

/// `etcdctl lock NAME`: it prints its key when it has the lock, and holds it until it is ended.
struct Foreign {
    child: Child,
    lines: tokio::io::Lines<BufReader<tokio::process::ChildStdout>>,
}

impl Foreign {
    fn lock(flavour: Flavour, node: &Node, name: &str) -> Outcome<Self> {
        Self::lock_for(flavour, node, name, Duration::from_secs(60))
    }

    fn lock_for(flavour: Flavour, node: &Node, name: &str, ttl: Duration) -> Outcome<Self> {
        let program = flavour.find_client()?;
        let mut words = program.words().iter();
        let first = words.next().ok_or("no program")?;
        let mut child = Command::new(first)
            .args(words)
            .args(["--endpoints", &node.address().to_string()])
            .args(["lock", "--ttl", &ttl.as_secs().to_string(), name])
            .env("ETCDCTL_API", "3")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let out = child.stdout.take().ok_or("no output")?;
        let lines = BufReader::new(out).lines();
        Ok(Self { child, lines })
    }

    async fn granted(&mut self) -> Outcome<String> {
        let line = soon("etcdctl's grant", self.lines.next_line()).await??;
        line.ok_or_else(|| "etcdctl has ended".into())
    }

    /// As Ctrl-C does: it releases.
    async fn release(mut self) -> Outcome {
        let pid = self.child.id().ok_or("it has ended")?;
        let pid = rustix::process::Pid::from_raw(i32::try_from(pid)?).ok_or("no pid")?;
        rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
        soon("etcdctl's end", self.child.wait()).await??;
        Ok(())
    }
}

async fn until_in_queue(node: &Node, count: usize) -> Outcome {
    until(format!("{count} in the queue"), async || {
        Ok(node.keys("job/").await?.len() == count)
    })
    .await
}

async fn t26_etcdctl_waits_for_us(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), EMPTY).await?;
    let guard = take(&locker, "job").await?;
    let mut foreign = Foreign::lock(flavour, &node, "job")?;
    until_in_queue(&node, 2).await?;
    let early = tokio::time::timeout(Duration::from_millis(300), foreign.lines.next_line()).await;
    assert!(early.is_err(), "etcdctl got what we hold");
    guard.release().await?;
    assert!(foreign.granted().await?.starts_with("job/"));
    assert!(locker.try_acquire("job").await?.is_none());
    foreign.release().await
}

async fn t26_we_wait_for_etcdctl(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = connect(node.address(), EMPTY).await?;
    let mut foreign = Foreign::lock(flavour, &node, "job")?;
    foreign.granted().await?;
    assert!(locker.try_acquire("job").await?.is_none());
    let holder = locker.inspect("job").await?.ok_or("it is free")?;
    assert_eq!(holder.attempt, None, "{holder:?}");
    assert!(holder.remaining.is_some());
    let waiting = tokio::spawn(locker.acquire("job").into_future());
    until_in_queue(&node, 2).await?;
    foreign.release().await?;
    soon("our turn", waiting).await???.release().await?;
    Ok(())
}

async fn t26_all_wait_in_one_fair_queue(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let [first, third] = [
        connect(node.address(), EMPTY).await?,
        connect(node.address(), EMPTY).await?,
    ];
    let guard = take(&first, "job").await?;
    let mut second = Foreign::lock(flavour, &node, "job")?;
    until_in_queue(&node, 2).await?;
    let waiting = tokio::spawn(third.acquire("job").into_future());
    until_in_queue(&node, 3).await?;
    guard.release().await?;
    second.granted().await?;
    assert!(!waiting.is_finished());
    second.release().await?;
    let last = soon("our turn", waiting).await???;
    Ok(last.release().await?)
}

/// `etcd.leader-slept`: a leader that slept for longer than the ttl may have leases revoked. A client that does
/// not move its lock, as dlock does, loses it. That client notices within its ttl, and the token covers it.
async fn t24_a_leader_that_slept_may_end_a_lock_of_another_client(flavour: Flavour) -> Outcome {
    const HOLDERS: usize = 6;
    const TTL: Duration = Duration::from_secs(5);
    let cluster = Cluster::start(&flavour.find()?, &Options::default()).await?;
    let leader = cluster.leader().await?;
    let at = (leader + 1) % Cluster::SIZE;
    let node = cluster.node(at);
    let locker = connect(node.address(), EMPTY).await?;
    let (mut held, mut waiting) = (Vec::new(), Vec::new());
    for number in 0..HOLDERS {
        let name = format!("job{number}");
        let mut foreign = Foreign::lock_for(flavour, node, &name, TTL)?;
        let key = foreign.granted().await?;
        let key = node.keys(&key).await?.pop().ok_or("it has no key")?;
        held.push((foreign, key.create_revision));
        let next = locker.acquire(&*name).wait_forever();
        waiting.push(tokio::spawn(next.into_future()));
    }
    cluster.node(leader).stop()?;
    // What a leader has counted to the end.
    tokio::time::sleep(TTL * 2).await;
    cluster.node(leader).cont()?;
    // It says what it has to say at once.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for ((mut foreign, token), next) in held.into_iter().zip(waiting) {
        if next.is_finished() {
            let ended = tokio::time::timeout(TTL, foreign.child.wait()).await;
            assert!(ended.is_ok(), "it was not notified");
        } else {
            foreign.release().await?;
        }
        let next = soon("the next one", next).await???;
        assert!(next.token().get() > token);
        next.release().await?;
    }
    Ok(())
}
