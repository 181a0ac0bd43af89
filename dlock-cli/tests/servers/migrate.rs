//! `dlock migrate` to real servers: one whose locks are in use, and one that fails during the switch.

use std::{
    process::{Output, Stdio},
    time::Duration,
};

use dlock_servers::{
    etcd, mysql,
    redis::{self, Cluster, Flavour, Options},
    zk,
};
use dlock_verify::{
    ensure,
    support::{Outcome, if_available, soon},
};
use libtest_mimic::Trial;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::sleep,
};

use crate::{server::Server, support::trial};

/// Above the tokens of files.
const BASE: &str = "token_base=9007199254740992";

/// The switch waits for longer than this.
const IN_BETWEEN: Duration = Duration::from_secs(5);

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = of::<redis::Node>();
    trials.extend(of::<etcd::Node>());
    trials.extend(of::<mysql::Node>());
    trials.extend(of::<zk::Node>());
    trials.extend(if_available(
        redis::Node::NAME,
        <redis::Node as Server>::find(),
        vec![
            trial("redis_cluster::a_new_store_in_use", cluster_in_use),
            trial("redis::a_new_store_whose_locks_cannot_be_listed", denied),
            trial("redis::a_new_store_that_is_new_to_dlock", guarded),
        ],
    ));
    trials.extend(if_available(
        etcd::Node::NAME,
        <etcd::Node as Server>::find(),
        vec![trial(
            "etcd::a_new_store_that_fails_during_the_switch",
            fails,
        )],
    ));
    trials
}

fn of<S: Server>() -> Vec<Trial> {
    let name = |case: &str| format!("{}::{case}", S::NAME);
    let trials = vec![
        trial(name("a_new_store_in_use"), in_use::<S>),
        trial(name("holders_in_the_old_store_alone"), old_alone::<S>),
    ];
    if_available(S::NAME, S::find(), trials)
}

/// A holder in the old store is listed, unless it has the lock in both.
async fn old_alone<S: Server>() -> Outcome {
    let server = S::start().await?;
    let folder = TempDir::new()?;
    let (old, new) = (
        server.url(),
        format!("file:{}?{BASE}", folder.path().display()),
    );
    let begun = step(&["start", &old, &new]).output().await?;
    ensure!(begun.status.success(), "{}", said(&begun));
    let both = [("OLD", &*old), ("NEW", &*new)];
    let on_both = hold_as("both", "migrate:?from=env:OLD&to=env:NEW", &both).await?;
    let on_old = hold_as("seat {14}/50%", &old, &[]).await?;
    let status = step(&["status", &old, &new]).output().await?;
    let out = String::from_utf8_lossy(&status.stdout);
    let pid = on_old.id().unwrap_or_default();
    let alone = format!("held in the old store alone: \"seat {{14}}/50%\" by {pid}@");
    ensure!(out.contains(&alone) && !out.contains("\"both\""), "{out}");
    drop((on_both, on_old));
    Ok(())
}

async fn in_use<S: Server>() -> Outcome {
    let server = S::start().await?;
    refuses_locks(&server.url()).await
}

async fn cluster_in_use() -> Outcome {
    let cluster = Cluster::start(&Flavour::RedisStable.find()?, &Options::default()).await?;
    let nodes = cluster.addresses();
    let first = nodes.first().ok_or("no node")?;
    // One node knows the others.
    refuses_locks(&format!("redis-cluster://{first}?restart_guard=0s")).await
}

/// Without the right to list keys a move begins, with a warning.
async fn denied() -> Outcome {
    let server = <redis::Node as Server>::start().await?;
    let rights = [
        "ACL", "SETUSER", "app", "on", ">pw", "~dlock:*", "&*", "+@all", "-scan",
    ];
    server.command(&rights).await?;
    let folder = TempDir::new()?;
    let old = format!("file:{}", folder.path().display());
    let address = server.address();
    let new = format!("redis://app:pw@{address}?restart_guard=0s&{BASE}");
    let begun = step(&["start", &old, &new]).output().await?;
    let err = said(&begun);
    ensure!(begun.status.success(), "{err}");
    ensure!(
        err.contains("cannot be listed") && err.contains("\"dlock migrate cancel\" undoes"),
        "{err}"
    );
    ensure!(!err.contains("app:pw"), "{err}");
    Ok(())
}

/// A check in the time of the guard says so.
async fn guarded() -> Outcome {
    let server = <redis::Node as Server>::start().await?;
    let folder = TempDir::new()?;
    let old = format!("file:{}", folder.path().display());
    let new = format!("redis://{}?{BASE}", server.address());
    let begun = step(&["start", &old, &new]).output().await?;
    ensure!(begun.status.success(), "{}", said(&begun));
    let checked = step(&["check", &old, &new]).output().await?;
    let err = said(&checked);
    ensure!(checked.status.code() == Some(69), "{checked:?}");
    ensure!(
        err.contains("the new store does not grant: ") && err.contains("restart_guard"),
        "{err}"
    );
    Ok(())
}

/// A new store with this URL is refused while one of its locks is held, and no longer.
async fn refuses_locks(url: &str) -> Outcome {
    let old = TempDir::new()?;
    let (old, new) = (
        format!("file:{}", old.path().display()),
        format!("{url}&{BASE}"),
    );
    let mut holder = hold(url).await?;
    let refused = step(&["start", &old, &new]).output().await?;
    ensure!(refused.status.code() == Some(64), "{refused:?}");
    let err = said(&refused);
    ensure!(
        err.contains("are held or waited for") && err.contains("are OLD and NEW swapped?"),
        "{err}"
    );
    let status = step(&["status", &old, &new]).output().await?;
    let out = String::from_utf8_lossy(&status.stdout);
    ensure!(
        out.contains("no migration; next: dlock migrate plan"),
        "{out}"
    );
    drop(holder.stdin.take());
    soon("the end of the holder", holder.wait()).await??;
    let begun = step(&["start", &old, &new]).output().await?;
    let err = said(&begun);
    ensure!(begun.status.success(), "{err}");
    // It was not left out.
    ensure!(!err.contains("cannot be listed"), "{err}");
    Ok(())
}

/// A program that holds `report` until its stdin ends.
async fn hold(url: &str) -> Outcome<Child> {
    hold_as("report", url, &[]).await
}

/// As [`hold`], with a name and an environment.
async fn hold_as(name: &str, url: &str, environment: &[(&str, &str)]) -> Outcome<Child> {
    let words = ["run", name, "--url", url, "--", "sh", "-c"];
    let mut holder = dlock(&words)
        .envs(environment.iter().copied())
        .arg("echo held; read -r line")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = holder.stdout.take().ok_or("no stdout")?;
    let mut lines = BufReader::new(stdout).lines();
    let line = soon("the lock", lines.next_line()).await??;
    ensure!(line.as_deref() == Some("held"), "{line:?}");
    Ok(holder)
}

async fn fails() -> Outcome {
    let mut server = <etcd::Node as Server>::start().await?;
    let folder = TempDir::new()?;
    let old = format!("file:{}", folder.path().display());
    let new = format!("{}&{BASE}", Server::url(&server));
    let begun = step(&["start", &old, &new]).output().await?;
    ensure!(begun.status.success(), "{}", said(&begun));
    let switch = step(&["switch", &old, &new, "--no-others"])
        .stderr(Stdio::piped())
        .spawn()?;
    sleep(IN_BETWEEN).await;
    server.kill()?;
    let failed = switch.wait_with_output().await?;
    let again = step(&["switch", &old, &new, "--no-others"])
        .output()
        .await?;
    for output in [failed, again] {
        let err = said(&output);
        ensure!(output.status.code() == Some(69), "{output:?}");
        ensure!(
            err.contains("the old store is closed")
                && err.contains("an empty server at its address"),
            "{err}"
        );
    }
    let status = step(&["status", &old, &new]).output().await?;
    let out = String::from_utf8_lossy(&status.stdout);
    ensure!(status.status.success(), "{status:?}");
    ensure!(
        out.contains("old  closed") && out.contains("new  not known: "),
        "{out}"
    );
    server.resume().await?;
    let cancelled = step(&["cancel", &old, &new]).output().await?;
    ensure!(cancelled.status.success(), "{}", said(&cancelled));
    drop(hold(&old).await?);
    Ok(())
}

/// `dlock migrate STEP…`.
fn step(words: &[&str]) -> Command {
    let mut command = dlock(&["migrate"]);
    command.args(words);
    command
}

/// `dlock …`, without settings from outside.
pub(super) fn dlock(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dlock"));
    command
        .args(words)
        .env_remove("DLOCK_URL")
        .env_remove("DLOCK_CONFIG")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
