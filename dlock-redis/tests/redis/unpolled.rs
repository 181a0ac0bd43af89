//! Acquires that are begun and then not polled for long, as in a `select!` whose other branch takes its
//! time (K13).

use std::{pin::pin, time::Duration};

use dlock_servers::Program;
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    End, Fault, Proxy,
};

use crate::support::{
    Outcome, WOKEN, cases, connect, poll_times, start, take, until_clean, until_listeners, within,
};

cases![
    k13_an_acquire_unpolled_while_it_connects_delays_no_other,
    k13_an_acquire_unpolled_while_it_subscribes_delays_no_other,
];

/// The number of polls: more than an acquire has that connects and subscribes.
const POLLS: u32 = 16;

/// A wait for a lock that stays taken has fewer polls than that, and then sleeps.
const SLEEPS: Duration = Duration::from_millis(200);

/// The delay of messages through the proxy, so that each phase has polls of its own.
const DELAY: Duration = Duration::from_millis(2);

async fn k13_an_acquire_unpolled_while_it_connects_delays_no_other(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "").await?;
    delay(&proxy);
    let held = take(&locker, "held").await?;
    let mut connected = 0;
    for polls in 1..POLLS {
        proxy.end(End::Cut);
        for connection in proxy.connections() {
            connection.until_ended().await;
        }
        let before = proxy.accepted();
        let mut unpolled = pin!(locker.acquire("unpolled").into_future());
        let ended = poll_times(unpolled.as_mut(), polls).await;
        connected += proxy.accepted() - before;
        let others = async {
            held.renew().await?;
            take(&locker, "third").await?.release().await?;
            let waited = take(&holder, "waited").await?;
            let waiter = tokio::spawn(locker.acquire("waited").into_future());
            until_listeners(&node, "waited", 1).await?;
            waited.release().await?;
            waiter.await??.release().await?;
            Outcome::Ok(())
        };
        within(WOKEN, format!("after {polls} polls"), others).await??;
        if let Some(granted) = ended {
            granted?.release().await?;
        } else {
            unpolled.await?.release().await?;
        }
    }
    assert!(connected > 0, "it never connected");
    held.release().await?;
    until_clean(&node).await
}

fn delay(proxy: &Proxy) {
    for direction in [ToServer, ToClient] {
        proxy.set(direction, Fault::Delay(DELAY));
    }
}

async fn k13_an_acquire_unpolled_while_it_subscribes_delays_no_other(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(node.address(), "").await?;
    delay(&proxy);
    let taken = take(&holder, "taken").await?;
    for polls in 1..POLLS {
        let locker = connect(proxy.address(), "").await?;
        let held = take(&locker, "held").await?;
        let mut unpolled = Box::pin(locker.acquire("taken").into_future());
        let ended = tokio::time::timeout(SLEEPS, poll_times(unpolled.as_mut(), polls)).await;
        assert!(!matches!(ended, Ok(Some(_))), "it is taken");
        let others = async {
            held.renew().await?;
            let waited = take(&holder, "waited").await?;
            let waiter = tokio::spawn(locker.acquire("waited").into_future());
            until_listeners(&node, "waited", 1).await?;
            waited.release().await?;
            waiter.await??.release().await?;
            held.release().await?;
            Outcome::Ok(())
        };
        within(WOKEN, format!("after {polls} polls"), others).await??;
        drop(unpolled);
        within(WOKEN, "it ends", locker.shutdown(WOKEN)).await??;
    }
    taken.release().await?;
    until_clean(&node).await
}
