//! The end of a locker (K12).

use std::time::Duration;

use dlock_servers::Program;
use dlock_verify::proxy::Proxy;

use crate::support::{Outcome, cases, connect, soon, start, take, until_listeners, within};

cases![k12_a_shutdown_ends_connections_to_a_silent_server];

async fn k12_a_shutdown_ends_connections_to_a_silent_server(program: Program) -> Outcome {
    const SHUTDOWN: Duration = Duration::from_secs(3);
    let node = start(&program, &[]).await?;
    let proxy = Proxy::start(node.address())?;
    let holder = connect(node.address(), "").await?;
    let locker = connect(proxy.address(), "").await?;
    let _waited = take(&holder, "waited").await?;
    let mut held = Vec::new();
    for number in 0..10 {
        held.push(take(&locker, &number.to_string()).await?);
    }
    let waiter = tokio::spawn(locker.acquire("waited").into_future());
    until_listeners(&node, "waited", 1).await?;
    node.stop()?;
    let shut_down = within(SHUTDOWN * 2, "it ends", locker.shutdown(SHUTDOWN)).await?;
    assert!(shut_down.is_err(), "the releases are not confirmed");
    assert!(soon("the wait ends", waiter).await??.is_err());
    node.cont()?;
    // Those for requests and for wake-ups, and those that were begun in the meantime and succeed now.
    let connections = proxy.connections();
    assert!(connections.len() >= 2);
    for (number, connection) in connections.iter().enumerate() {
        soon(format!("number {number} ends"), connection.until_ended()).await?;
    }
    // The guards are still there.
    assert!(held.iter().all(|guard| !guard.is_held()));
    Ok(())
}
