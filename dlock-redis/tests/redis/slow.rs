//! A server that is slow, busy or not ready yet (T16, T17).

use std::time::Duration;

use dlock::{Effect, ErrorKind};
use dlock_servers::{
    Program,
    redis::{Node, Persistence},
};

use crate::support::{
    Outcome, SOON, cases, connect, open, refused, soon, start, start_keeping, take, until,
    until_clean, until_listeners, value, warm_up,
};

cases![
    t16_renewals_survive_a_slow_server,
    t16_a_silent_server_is_answered_for_within_the_timeout,
    t17_a_busy_server_is_definite_and_spares_holders,
    t17_a_wait_and_a_release_outlast_a_busy_server,
    t17_a_loading_server_is_definite,
];

async fn t16_renewals_survive_a_slow_server(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = locker.acquire("a").ttl(Duration::from_secs(3)).await?;
    for _ in 0..5 {
        node.command(&["DEBUG", "SLEEP", "1"]).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(guard.is_held());
    }
    // One that is longer than an answer may take costs connections, not the lock.
    let slow = connect(node.address(), "timeout=300ms").await?;
    let other = slow.acquire("b").ttl(Duration::from_secs(6)).await?;
    for _ in 0..3 {
        node.command(&["DEBUG", "SLEEP", "1"]).await?;
    }
    assert!(guard.is_held() && other.is_held());
    guard.release().await?;
    other.release().await?;
    until_clean(&node).await
}

async fn t16_a_silent_server_is_answered_for_within_the_timeout(program: Program) -> Outcome {
    const CALLS: usize = 20;
    let node = start(&program, &[]).await?;
    let keys = "timeout=500ms&connect_timeout=1s";
    let locker = connect(node.address(), keys).await?;
    let guard = take(&locker, "held").await?;
    node.stop()?;
    // One answer or one connection each, and not one after the other.
    let calls: Vec<_> = (0..CALLS)
        .map(|number| tokio::spawn(locker.try_acquire(number.to_string()).into_future()))
        .collect();
    let all = async {
        for call in calls {
            let error = refused(call.await?)?;
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        }
        Outcome::Ok(())
    };
    // Each: an answer, a connection, and what it may have got undone for 5 s.
    crate::support::within(Duration::from_secs(9), "all are answered", all).await??;
    assert!(guard.is_held());
    node.cont()?;
    guard.renew().await?;
    guard.release().await?;
    locker.shutdown(SOON).await?;
    Ok(())
}

/// Keeps the server busy with a script until `work` has ended.
async fn while_busy<T>(node: &Node, work: impl Future<Output = Outcome<T>>) -> Outcome<T> {
    let busy = node.command(&["EVAL", "while true do end", "0"]);
    let work = async {
        until("it is busy", async || {
            Ok(node
                .command(&["PING"])
                .await
                .is_err_and(|error| error.to_string().contains("BUSY")))
        })
        .await?;
        let done = work.await;
        node.command(&["SCRIPT", "KILL"]).await?;
        done
    };
    let (_, done) = tokio::join!(busy, work);
    done
}

async fn t17_a_busy_server_is_definite_and_spares_holders(program: Program) -> Outcome {
    let node = start(&program, &["lua-time-limit 100"]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = take(&locker, "held").await?;
    warm_up(&locker).await?;
    while_busy(&node, async {
        let error = refused(locker.try_acquire("a").await)?;
        assert_eq!(
            (error.kind(), error.effect()),
            (ErrorKind::Unavailable, Effect::None)
        );
        assert!(error.to_string().contains("busy"), "{error}");
        assert_eq!(refused(guard.renew().await)?.kind(), ErrorKind::Unavailable);
        assert!(guard.is_held());
        let error = refused(open(node.address(), "").await)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("busy"), "{error}");
        Ok(())
    })
    .await?;
    guard.renew().await?;
    guard.release().await?;
    until_clean(&node).await
}

async fn t17_a_wait_and_a_release_outlast_a_busy_server(program: Program) -> Outcome {
    let node = start(&program, &["lua-time-limit 100"]).await?;
    let (locker, other) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let guard = take(&locker, "a").await?;
    let waiter = tokio::spawn(other.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    let new = while_busy(&node, async {
        let released = refused(guard.release().await)?;
        assert_eq!(released.kind(), ErrorKind::Unavailable, "{released}");
        // This one meets nothing but a busy server until that is over.
        let new = tokio::spawn(locker.acquire("b").into_future());
        let wait = locker.acquire("c").wait(Duration::from_millis(300));
        assert_eq!(refused(wait.await)?.kind(), ErrorKind::Unavailable);
        assert!(!waiter.is_finished() && !new.is_finished());
        Ok(new)
    })
    .await?;
    for granted in [waiter, new] {
        soon("it is granted", granted).await???.release().await?;
    }
    until_clean(&node).await
}

async fn t17_a_loading_server_is_definite(program: Program) -> Outcome {
    // It serves its connections after each 1,024 keys.
    let lines = ["key-load-delay 500", "appendfsync always"];
    let mut node = start_keeping(&program, Persistence::AofAlways, &lines).await?;
    let fill = "for i = 1, 8000 do redis.call('SET', i, i) end";
    node.command(&["EVAL", fill, "0"]).await?;
    let address = node.address();
    let locker = connect(address, "").await?;
    let guard = locker.acquire("held").await?;
    let released = locker.acquire("released").await?;
    node.kill()?;
    // The first one still meets the connection that has ended; it is made up for.
    let _ = refused(released.release().await)?;
    let waiter = tokio::spawn(locker.acquire("waited").into_future());
    let tries = async {
        let mut loading = 0;
        while loading < 2 {
            for answer in [
                connect(address, "").await.map(drop),
                locker.try_acquire("a").await.map(drop),
            ] {
                // The port is closed for a moment, and in the end the server is ready.
                let Err(error) = answer else {
                    return Err("it was never loading".into());
                };
                assert_eq!(
                    (error.kind(), error.effect()),
                    (ErrorKind::Unavailable, Effect::None),
                    "{error}"
                );
                loading += u32::from(error.to_string().contains("is starting"));
            }
        }
        Outcome::Ok(())
    };
    let both = async { tokio::join!(node.resume(), tries) };
    let (resumed, tried) = soon("it is loaded", both).await?;
    resumed?;
    tried?;
    // Its data are complete: the lock is still held, and others are granted at once.
    guard.renew().await?;
    take(&locker, "a").await?.release().await?;
    guard.release().await?;
    soon("the wait ends", waiter).await???.release().await?;
    until("what was released is free", async || {
        Ok(value(&node, "released").await?.is_none())
    })
    .await?;
    locker.shutdown(SOON).await?;
    Ok(())
}
