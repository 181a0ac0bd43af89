//! A network that neither delivers nor says so, under a held lock (K8).

use std::time::Duration;

use dlock::{ErrorKind, Locker};
use dlock_servers::Program;
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    End, Fault, Proxy,
};

use crate::support::{
    Outcome, SOON, cases, connect, refused, soon, start, take, taken_over, until_clean, value,
};

cases![
    k08_a_black_hole_while_held_is_lost_at_the_deadline,
    k08_requests_that_vanish_are_lost_at_the_deadline,
    k08_replies_that_vanish_are_lost_at_the_deadline,
    k08_a_half_open_connection_is_replaced_before_the_deadline,
    k08_a_short_partition_loses_nothing,
];

const TTL: Duration = Duration::from_secs(2);

/// The time by which a timer may be late on a busy machine. `is_held` needs none, and is never late.
const LATE: Duration = Duration::from_millis(500);

/// Cuts a holder off: another client gets the lock, and no late request of the holder has an effect.
async fn cut_off(program: &Program, directions: &[dlock_verify::proxy::Direction]) -> Outcome {
    let node = start(program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let keys = "timeout=500ms&connect_timeout=500ms";
    let (holder, other) = (
        connect(proxy.address(), keys).await?,
        connect(node.address(), "").await?,
    );
    let held = holder.acquire("a").ttl(TTL).await?;
    for direction in directions {
        proxy.set(*direction, Fault::Hold);
    }
    let guard = taken_over(&held, &other, TTL, LATE).await?;
    for direction in [ToServer, ToClient] {
        proxy.set(direction, Fault::None);
    }
    assert_eq!(refused(held.release().await)?.kind(), ErrorKind::Lost);
    // All that was on its way has come by the time at which the holder's last request is answered.
    soon("it comes to its end", holder.shutdown(SOON)).await??;
    guard.renew().await?;
    guard.release().await?;
    until_clean(&node).await
}

async fn k08_a_black_hole_while_held_is_lost_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToServer, ToClient]).await
}

async fn k08_requests_that_vanish_are_lost_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToServer]).await
}

/// The server renews on and on, and the holder does not know: it is not granted twice, but later.
async fn k08_replies_that_vanish_are_lost_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToClient]).await
}

async fn k08_a_half_open_connection_is_replaced_before_the_deadline(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(proxy.address(), "timeout=500ms").await?;
    let held = holder.acquire("a").ttl(2 * TTL).await?;
    for _ in 0..3 {
        let line = proxy.connections().pop().ok_or("no connection")?;
        line.end(End::Server);
        let next = proxy.accepted();
        soon("it connects again", proxy.connection(next)).await?;
        assert!(held.is_held());
        held.renew().await?;
    }
    held.release().await?;
    until_clean(&node).await
}

async fn k08_a_short_partition_loses_nothing(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder: Locker = connect(proxy.address(), "timeout=500ms").await?;
    let held = holder.acquire("a").ttl(3 * TTL).await?;
    let also = take(&holder, "b").await?;
    for direction in [ToServer, ToClient] {
        proxy.set(direction, Fault::Hold);
    }
    tokio::time::sleep(TTL).await;
    for direction in [ToServer, ToClient] {
        proxy.set(direction, Fault::None);
    }
    let lost = tokio::time::timeout(3 * TTL, held.lost()).await;
    assert!(lost.is_err(), "{lost:?}");
    assert!(held.is_held() && also.is_held());
    let found = value(&node, "a").await?.unwrap_or_default();
    assert!(found.starts_with(&held.id().to_string()));
    held.release().await?;
    also.release().await?;
    until_clean(&node).await
}
