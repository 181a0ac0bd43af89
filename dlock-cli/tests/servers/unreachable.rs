//! A store that is down when `dlock run` starts: waiting for the lock begins with waiting for the store.

use dlock_servers::{
    etcd, mysql,
    redis::{self, Login},
    zk,
};
use dlock_verify::{
    ensure,
    support::{Outcome, if_available},
};
use libtest_mimic::Trial;

use crate::{
    server::Server,
    support::{Run, trial},
};

/// The words of a wait for the store.
const CONNECTING: &str = "connecting is tried for up to ";

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = of::<redis::Node>();
    trials.extend(of::<etcd::Node>());
    trials.extend(of::<mysql::Node>());
    trials.extend(of::<zk::Node>());
    let password = trial("redis::a_wrong_password_ends_at_once", wrong_password);
    trials.extend(if_available(
        redis::Node::NAME,
        <redis::Node as Server>::find(),
        vec![password],
    ));
    trials
}

fn of<S: Server>() -> Vec<Trial> {
    let name = |what: &str| format!("{}::{what}", S::NAME);
    let trials = vec![
        trial(name("a_store_that_comes_later_is_waited_for"), comes::<S>),
        trial(name("a_try_ends_at_once"), a_try::<S>),
        trial(
            name("a_wait_that_no_server_answers_ends_with_69"),
            is_over::<S>,
        ),
    ];
    if_available(S::NAME, S::find(), trials)
}

async fn comes<S: Server>() -> Outcome {
    let mut server = S::start().await?;
    let url = server.url();
    let waiting = format!("{url}&connect_wait=10m");
    for (url, args) in [
        (&url, &["--forever"][..]),
        (&url, &["--wait", "10m"]),
        (&waiting, &[]),
    ] {
        server.kill()?;
        let mut run = Run::start(url, args)?;
        let why = run.waits().await?;
        ensure!(why.contains(CONNECTING), "{why}");
        server.resume().await?;
        let ended = run.end().await?;
        ended.entered()?;
        // MySQL goes on to say that it has just been started.
        ensure!(ended.waits(CONNECTING) == 1, "{args:?}: {ended:?}");
    }
    Ok(())
}

/// Also if the URL says to wait.
async fn a_try<S: Server>() -> Outcome {
    let mut server = S::start().await?;
    server.kill()?;
    let url = server.url();
    for (url, args) in [
        (format!("{url}&connect_wait=10m"), &["--try"][..]),
        (url, &[]),
    ] {
        let ended = Run::start(&url, args)?.end().await?;
        ended.refused(69, "cannot connect")?;
        ensure!(ended.waits("") == 0, "{args:?}: {ended:?}");
    }
    Ok(())
}

async fn is_over<S: Server>() -> Outcome {
    let mut server = S::start().await?;
    server.kill()?;
    let ended = Run::start(&server.url(), &["--wait", "3s"])?.end().await?;
    ended.refused(69, "cannot connect")?;
    ensure!(ended.waits(CONNECTING) == 1, "{ended:?}");
    Ok(())
}

async fn wrong_password() -> Outcome {
    let options = redis::Options {
        login: Login::Password("right".to_owned()),
        ..redis::Options::default()
    };
    let program = redis::Flavour::RedisStable.find()?;
    let node = redis::Node::start(&program, &options).await?;
    let url = format!("redis://:wrong@{}?restart_guard=0s", node.address());
    for args in [&["--forever"][..], &["--wait", "10m"]] {
        let ended = Run::start(&url, args)?.end().await?;
        ended.refused(64, "cannot connect")?;
        ensure!(ended.waits("") == 0, "{args:?}: {ended:?}");
    }
    Ok(())
}
