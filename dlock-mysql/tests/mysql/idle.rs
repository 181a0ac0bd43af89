//! Connections that are idle, and that their server ends.

use std::time::Duration;

use dlock_servers::mysql::Flavour;
use dlock_verify::proxy::{Fault, Proxy};

use crate::support::{
    HOLDING_CONNECTION, Outcome, cases, holder, open, sessions, soon, start, take, until, warm,
};

cases![
    idle_connections_are_closed_before_their_server_ends_them,
    a_connection_that_was_idle_for_too_long_is_not_used,
];

/// The server ends a session that is silent for so long.
const TTL: Duration = Duration::from_secs(2);

/// Nothing reads their sockets, so the end of each would be known to the kernel alone.
async fn idle_connections_are_closed_before_their_server_ends_them(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = open(&node.url_at(proxy.address()), TTL).await?;
    warm(&node, &locker).await?;
    let others = proxy.accepted();
    let mut guards = Vec::new();
    for number in 0..20 {
        guards.push(take(&locker, &format!("lock {number}")).await?);
    }
    for guard in guards {
        guard.release().await?;
    }
    let connections = proxy.connections();
    for connection in &connections[others..] {
        soon("an idle connection is closed", connection.until_ended()).await?;
    }
    take(&locker, "a").await?.release().await?;
    Ok(())
}

/// The session is over, and its end does not arrive: behind a line that is cut nothing does.
async fn a_connection_that_was_idle_for_too_long_is_not_used(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = open(&node.url_at(proxy.address()), TTL).await?;
    warm(&node, &locker).await?;
    let held = take(&locker, "a").await?;
    let session = holder(&node).await?;
    held.release().await?;
    let connections = proxy.connections();
    let connection = connections.get(HOLDING_CONNECTION).ok_or("no connection")?;
    connection.set_both(Fault::Hold);
    until("its session is over", async || {
        Ok(!sessions(&node).await?.contains(&session))
    })
    .await?;
    let guard = locker.try_acquire("a").await?.ok_or("not free")?;
    Ok(guard.release().await?)
}
