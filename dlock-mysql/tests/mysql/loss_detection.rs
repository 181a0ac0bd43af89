//! How soon the end of a session is detected, also beside other work.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock::{Guard, Locker, LostCause};
use dlock_core::Clock;
use dlock_servers::mysql::{Flavour, Node};
use dlock_verify::proxy::{Fault, Proxy};
use tokio::{task::JoinSet, time::timeout};

use crate::support::{
    Outcome, TTL_LONG, cases, execute, holder, open, root, sessions, soon, start, take, until, warm,
};

cases![
    t65_a_killed_session_is_known_while_the_tables_are_not_answered,
    t65_a_killed_session_is_known_while_others_inspect,
    t65_a_killed_session_is_known_where_no_connection_is_left,
    short_holds_are_not_monitored,
    an_account_that_logs_in_under_another_name_keeps_its_locks,
];

/// How long a hold of a killed session may still call itself held.
const KNOWN_MAX: Duration = Duration::from_millis(200);

/// Held locks are checked each tenth of a second.
const SEVERAL_CHECKS: Duration = Duration::from_secs(1);

/// The machine may be busy once, and not each time.
const ROUNDS: usize = 5;

/// Kills the session of `held`; how long it was held since then.
async fn kill(node: &Node, held: &Guard, session: &str) -> Outcome<Duration> {
    let (clock, lost) = (Clock::boottime(), held.lost());
    // Ready, so that only what dlock does is measured.
    let mut killer = root(node).await?;
    assert!(held.is_held());
    let killed = clock.now();
    execute(&mut killer, &format!("KILL {session}")).await?;
    let cause = soon("the loss", lost).await?;
    assert_eq!(cause, LostCause::SessionEnded);
    Ok(clock.now().since(killed))
}

/// The list of sessions costs the server more than many short holds.
async fn short_holds_are_not_monitored(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    warm(&node, &locker).await?;
    node.query("SET GLOBAL log_output = 'TABLE', GLOBAL general_log = 1")
        .await?;
    let checks = async || -> Outcome<u64> {
        let sql = "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE 'SELECT id FROM \
                   information_schema.processlist%'";
        Ok(node.query(sql).await?.concat().concat().parse()?)
    };
    // A busy machine makes a hold longer once, and not each time.
    until("short holds are not monitored", async || {
        let before = checks().await?;
        let mut holding: JoinSet<Outcome> = ["a", "b", "c", "d"]
            .map(|name| hold_shortly(locker.clone(), name))
            .into_iter()
            .collect();
        while let Some(held) = holding.join_next().await {
            held??;
        }
        Ok(checks().await? == before)
    })
    .await
}

/// Takes and releases `name` for several checks. At any time one of some names is held.
async fn hold_shortly(locker: Locker, name: &'static str) -> Outcome {
    let clock = Clock::boottime();
    let end = clock.now().after(SEVERAL_CHECKS);
    while clock.now() < end {
        take(&locker, name).await?.release().await?;
    }
    Ok(())
}

/// The connection that inspects, answers inspections and makes rows hangs.
async fn t65_a_killed_session_is_known_while_the_tables_are_not_answered(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let proxy = Proxy::start(node.address())?;
        let locker = open(&node.url_at(proxy.address()), TTL_LONG).await?;
        warm(&node, &locker).await?;
        let held = take(&locker, "a").await?;
        let session = holder(&node).await?;
        let tables = proxy.connection(0).await;
        tables.set_both(Fault::Hold);
        let inspecting = locker.clone();
        let inspecting = tokio::spawn(async move { inspecting.inspect("a").await });
        best = best.min(kill(&node, &held, &session).await?);
        inspecting.abort();
        tables.set_both(Fault::None);
        drop(held);
        locker.shutdown(TTL_LONG).await?;
    }
    assert!(best < KNOWN_MAX, "known after {best:?} at best");
    Ok(())
}

async fn t65_a_killed_session_is_known_while_others_inspect(flavour: Flavour) -> Outcome {
    const ASKERS: usize = 8;
    let node = start(flavour).await?;
    let locker = open(&node.url(), TTL_LONG).await?;
    warm(&node, &locker).await?;
    let mut guards = Vec::new();
    let stop = Arc::new(AtomicBool::new(false));
    let mut askers: JoinSet<dlock::Result<usize>> = JoinSet::new();
    for number in 0..ASKERS {
        let name = format!("held {number}");
        guards.push(take(&locker, &name).await?);
        // Its own locker inspects, too.
        let asker = match number {
            0 => locker.clone(),
            _ => open(&node.url(), TTL_LONG).await?,
        };
        let stop = stop.clone();
        askers.spawn(async move {
            let mut answers = 0;
            while !stop.load(Ordering::Relaxed) {
                answers += usize::from(asker.inspect(&*name).await?.is_some());
            }
            Ok(answers)
        });
    }
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let before = sessions(&node).await?;
        let held = take(&locker, "a").await?;
        let now = sessions(&node).await?;
        let session = now.iter().find(|id| !before.contains(id));
        let session = session.ok_or("no session of its own")?;
        best = best.min(kill(&node, &held, session).await?);
    }
    stop.store(true, Ordering::Relaxed);
    while let Some(answers) = askers.join_next().await {
        assert!(answers?? > 0, "no inspection was answered");
    }
    assert!(best < KNOWN_MAX, "known after {best:?} at best");
    Ok(())
}

/// Then each session is probed by itself.
async fn t65_a_killed_session_is_known_where_no_connection_is_left(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.query("ALTER USER app WITH MAX_USER_CONNECTIONS 2")
        .await?;
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let locker = open(&node.url(), TTL_LONG).await?;
        let held = take(&locker, "a").await?;
        let session = holder(&node).await?;
        // A third one, which the server has refused, may be in its list for a moment.
        until("it has no third connection", async || {
            Ok(sessions(&node).await?.len() == 2)
        })
        .await?;
        best = best.min(kill(&node, &held, &session).await?);
        drop(held);
        locker.shutdown(TTL_LONG).await?;
        until("there is room again", async || {
            Ok(sessions(&node).await?.is_empty())
        })
        .await?;
    }
    assert!(best < KNOWN_MAX, "known after {best:?} at best");
    Ok(())
}

/// As an anonymous user or a proxy user does: such an account cannot see its own sessions.
async fn an_account_that_logs_in_under_another_name_keeps_its_locks(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    node.query(
        "CREATE USER ''@'127.0.0.1' IDENTIFIED BY 'hunter2'; GRANT SELECT, INSERT, UPDATE, DELETE ON \
         locks.* TO ''@'127.0.0.1'",
    )
    .await?;
    let url = node.url().replace("//app:", "//other:");
    let locker = open(&url, TTL_LONG).await?;
    let held = take(&locker, "a").await?;
    let ended = timeout(Duration::from_secs(1), held.lost()).await;
    assert!(ended.is_err(), "lost: {ended:?}");
    held.renew().await?;
    let session = holder(&node).await?;
    kill(&node, &held, &session).await?;
    let guard = take(&locker, "a").await?;
    Ok(guard.release().await?)
}
