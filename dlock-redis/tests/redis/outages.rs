//! A server that goes away during a wait (K6).

use std::time::Duration;

use dlock::{Effect, ErrorKind};
use dlock_servers::{
    Program,
    redis::{Node, Persistence},
};
use dlock_verify::proxy::{End, Fault, Proxy};

use crate::support::{
    Outcome, SOON, cases, connect, refused, soon, start, start_keeping, take, until_clean,
    until_listeners, within,
};

cases![
    k06_a_wait_outlives_a_restart,
    k06_a_wait_outlives_a_restart_that_forgets,
    k06_a_wait_ends_unavailable_when_the_server_is_down,
    k06_a_wait_ends_unavailable_when_the_server_is_silent,
    k06_a_try_is_unavailable_while_the_server_is_down,
    a_later_failure_names_the_server_and_has_no_hint_at_the_url,
];

/// The URL has worked before, so its scheme is right.
async fn a_later_failure_names_the_server_and_has_no_hint_at_the_url(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let keys = "timeout=200ms&connect_timeout=200ms";
    let locker = connect(proxy.address(), keys).await?;
    let held = take(&locker, "held").await?;
    proxy.set_both(Fault::Hold);
    proxy.end(End::Reset);
    let errors = [
        refused(soon("an answer", held.renew()).await?)?,
        refused(soon("an answer", locker.try_acquire("a")).await?)?,
        refused(soon("an answer", held.release()).await?)?,
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert_eq!(error.address(), Some(&*proxy.address().to_string()));
        assert!(!error.to_string().contains("rediss"), "{error}");
    }
    Ok(())
}

async fn k06_a_wait_outlives_a_restart(program: Program) -> Outcome {
    let mut node = start_keeping(&program, Persistence::AofAlways, &[]).await?;
    let (holder, waiter) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    for _ in 0..3 {
        let held = take(&holder, "a").await?;
        let wait = tokio::spawn(waiter.acquire("a").into_future());
        until_listeners(&node, "a", 1).await?;
        node.restart().await?;
        until_listeners(&node, "a", 1).await?;
        assert!(!wait.is_finished(), "the lock is still held");
        held.release().await?;
        let guard = within(Duration::from_secs(5), "it is woken", wait).await???;
        guard.release().await?;
    }
    until_clean(&node).await
}

async fn k06_a_wait_outlives_a_restart_that_forgets(program: Program) -> Outcome {
    let mut node = start(&program, &[]).await?;
    let (holder, waiter) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let held = take(&holder, "a").await?;
    let wait = tokio::spawn(waiter.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    node.kill()?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!wait.is_finished());
    node.resume().await?;
    let guard = soon("it tries again", wait).await???;
    assert!(guard.token() > held.token());
    guard.release().await?;
    until_clean(&node).await
}

async fn waiting(node: &Node, keys: &str, wait: Duration) -> Outcome<[dlock::Locker; 2]> {
    let holder = connect(node.address(), keys).await?;
    let waiter = connect(node.address(), keys).await?;
    let held = take(&holder, "a").await?;
    // While the server is there, it ends as contended.
    let error = refused(waiter.acquire("a").wait(wait / 2).await)?;
    assert_eq!(error.kind(), ErrorKind::Contended);
    std::mem::forget(held);
    Ok([holder, waiter])
}

async fn k06_a_wait_ends_unavailable_when_the_server_is_down(program: Program) -> Outcome {
    let wait = Duration::from_secs(1);
    let mut node = start(&program, &[]).await?;
    let [_holder, waiter] = waiting(&node, "", wait).await?;
    let acquire = tokio::spawn(waiter.acquire("a").wait(wait).into_future());
    until_listeners(&node, "a", 1).await?;
    node.kill()?;
    let error = refused(within(2 * wait, "the wait ends", acquire).await??)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    Ok(())
}

async fn k06_a_wait_ends_unavailable_when_the_server_is_silent(program: Program) -> Outcome {
    let wait = Duration::from_secs(3);
    let node = start(&program, &[]).await?;
    let [_holder, waiter] = waiting(&node, "timeout=1s&connect_timeout=1s", wait).await?;
    node.stop()?;
    let acquire = waiter.acquire("a").wait(wait);
    let error = refused(within(2 * wait, "the wait ends", acquire).await?)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    node.cont()?;
    waiter.shutdown(SOON).await?;
    Ok(())
}

async fn k06_a_try_is_unavailable_while_the_server_is_down(program: Program) -> Outcome {
    let mut node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let guard = take(&locker, "held").await?;
    node.kill()?;
    // The first one still meets the connection that has ended.
    let _ = refused(locker.try_acquire("a").await)?;
    for _ in 0..3 {
        let error = refused(locker.try_acquire("a").await)?;
        assert_eq!(
            (error.kind(), error.effect()),
            (ErrorKind::Unavailable, Effect::None)
        );
        assert!(error.to_string().contains("connection refused"), "{error}");
        assert_eq!(refused(guard.renew().await)?.kind(), ErrorKind::Unavailable);
        assert!(guard.is_held());
    }
    node.resume().await?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}
