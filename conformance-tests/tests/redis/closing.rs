//! The end of a locker (K12).

use std::time::Duration;

use conformance_tests::servers::{Program, redis::Node};

use crate::kit::{Outcome, cases, connect, start, take, until, until_listeners, within};

cases![k12_a_shutdown_ends_connections_to_a_silent_server];

/// How many clients it has besides the test, which comes by the administration socket.
async fn clients(node: &Node) -> Outcome<usize> {
    let all = node.ask(&["CLIENT", "LIST"]).await?.text()?;
    let is_ours = |line: &&str| !line.contains(" flags=U ");
    Ok(all.lines().filter(is_ours).count())
}

async fn k12_a_shutdown_ends_connections_to_a_silent_server(program: Program) -> Outcome {
    const SHUTDOWN: Duration = Duration::from_secs(3);
    let node = start(&program, &[]).await?;
    let holder = connect(node.address(), "").await?;
    let _waited = take(&holder, "waited").await?;
    let others = clients(&node).await?;
    let locker = connect(node.address(), "").await?;
    let mut held = Vec::new();
    for number in 0..10 {
        held.push(take(&locker, &number.to_string()).await?);
    }
    let waiter = tokio::spawn(locker.acquire("waited").into_future());
    until_listeners(&node, "waited", 1).await?;
    assert_eq!(clients(&node).await?, others + 2, "requests and wake-ups");
    node.stop()?;
    let shut_down = within(SHUTDOWN * 2, "it ends", locker.shutdown(SHUTDOWN)).await?;
    assert!(shut_down.is_err(), "nobody has confirmed the releases");
    assert!(within(SHUTDOWN, "the wait ends", waiter).await??.is_err());
    node.cont()?;
    // The guards are still there.
    until("they are closed", async || {
        Ok(clients(&node).await? == others)
    })
    .await?;
    assert!(held.iter().all(|guard| !guard.is_held()));
    Ok(())
}
