//! Releases by the server's own command, where it has one that deletes a key if it has a value.

use dlock_servers::{Program, redis::Node};

use crate::support::{
    Outcome, calls, cases, connect, connect_as_user, soon, start, take, until_clean,
    until_listeners, until_marked, value,
};

cases![
    a_lone_release_is_one_native_command,
    k06_a_lock_that_others_want_is_released_by_the_script,
    k04_a_native_release_spares_a_successor,
    a_user_who_may_not_use_it_releases_by_the_script,
];

const NATIVE: &str = "delifeq";

/// How often the server executed it, and how often it refused it.
async fn native(node: &Node) -> Outcome<(u64, u64)> {
    let line = node.info(&format!("cmdstat_{NATIVE}")).await?;
    let field = |name: &str| -> Outcome<u64> {
        let mut fields = line.split(',').filter_map(|field| field.split_once('='));
        let found = fields
            .find(|(key, _)| *key == name)
            .ok_or("no such field")?;
        Ok(found.1.parse()?)
    };
    Ok((field("calls")?, field("rejected_calls")?))
}

async fn a_lone_release_is_one_native_command(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let held = take(&locker, "a").await?;
    let scripts = calls(&node, "eval").await?;
    held.release().await?;
    assert_eq!(native(&node).await?, (1, 0));
    assert_eq!(calls(&node, "eval").await?, scripts, "no script");
    until_clean(&node).await
}

async fn k06_a_lock_that_others_want_is_released_by_the_script(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let (holder, other) = (
        connect(node.address(), "").await?,
        connect(node.address(), "").await?,
    );
    let held = take(&holder, "a").await?;
    let waiter = tokio::spawn(other.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    until_marked(&node, "a").await?;
    held.release().await?;
    let guard = soon("it is notified", waiter).await???;
    assert_eq!(native(&node).await?, (1, 0), "the value was marked");
    guard.release().await?;
    assert_eq!(native(&node).await?, (1, 0), "others may wait for it, too");
    until_clean(&node).await
}

async fn k04_a_native_release_spares_a_successor(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let held = take(&locker, "a").await?;
    let successor = "another client's value";
    node.command(&["SET", "dlock:a", successor]).await?;
    held.release().await?;
    assert_eq!(value(&node, "a").await?.as_deref(), Some(successor));
    assert_eq!(native(&node).await?, (1, 0));
    Ok(())
}

async fn a_user_who_may_not_use_it_releases_by_the_script(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect_as_user(&node, &["-delifeq"]).await?;
    for _ in 0..3 {
        take(&locker, "a").await?.release().await?;
    }
    assert_eq!(native(&node).await?, (0, 1), "it is tried once");
    until_clean(&node).await
}
