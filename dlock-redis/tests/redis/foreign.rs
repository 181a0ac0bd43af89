//! Locks of clients that are not dlock's: `SET key value NX PX`, and keys that are no locks.

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_servers::{
    Program,
    redis::{Node, Reply},
};

use crate::support::{
    Outcome, WOKEN, calls, cases, connect, refused, soon, start, take, until, until_clean,
    until_key_listeners, within,
};

cases![
    a_foreign_lock_is_contended_for_us,
    our_lock_is_taken_for_a_foreign_client,
    a_foreign_release_is_noticed_within_a_second,
    a_foreign_lock_without_an_end_can_be_waited_for,
    our_lock_whose_end_was_taken_away_can_be_waited_for,
    a_foreign_holder_is_shown_as_another_client,
    a_foreign_value_of_any_bytes_is_another_client,
    a_foreign_client_that_overwrites_is_reported_to_the_holder,
    a_key_of_another_type_is_unsupported,
];

/// With `prefix=`, the key is the name.
const PLAIN: &str = "prefix=";

/// The value that redis-py writes: the 32 hexadecimal digits of a UUID.
const THEIRS: &str = "d1fd5c6a2b4711efbe32325096b39f47";

/// How redis-py releases.
const RELEASE: &str = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

async fn set(node: &Node, ttl: &str) -> Outcome<Reply> {
    Ok(node.command(&["SET", "a", THEIRS, "NX", "PX", ttl]).await?)
}

async fn a_foreign_lock_is_contended_for_us(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    assert_eq!(set(&node, "60000").await?.text()?, "OK");
    assert!(locker.try_acquire("a").await?.is_none());
    let wait = locker.acquire("a").wait(Duration::from_millis(300));
    assert_eq!(refused(wait.await)?.kind(), ErrorKind::Contended);
    // Nothing was done to it.
    assert_eq!(node.command(&["GET", "a"]).await?.text()?, THEIRS);
    assert_eq!(
        node.command(&["EVAL", RELEASE, "1", "a", THEIRS])
            .await?
            .int()?,
        1
    );
    take(&locker, "a").await?.release().await?;
    until_clean(&node).await
}

async fn our_lock_is_taken_for_a_foreign_client(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    let guard = take(&locker, "a").await?;
    assert_eq!(set(&node, "60000").await?, Reply::Nil);
    assert_eq!(
        node.command(&["EVAL", RELEASE, "1", "a", THEIRS])
            .await?
            .int()?,
        0
    );
    guard.renew().await?;
    guard.release().await?;
    assert_eq!(set(&node, "60000").await?.text()?, "OK");
    Ok(())
}

async fn a_foreign_release_is_noticed_within_a_second(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    set(&node, "60000").await?;
    let waiter = tokio::spawn(locker.acquire("a").into_future());
    until_key_listeners(&node, "a", 1).await?;
    node.command(&["EVAL", RELEASE, "1", "a", THEIRS]).await?;
    let guard = within(Duration::from_secs(3), "the waiter polls", waiter).await???;
    guard.release().await?;
    // One that expires is, too.
    set(&node, "300").await?;
    let guard = within(
        Duration::from_secs(3),
        "the waiter polls",
        locker.acquire("a"),
    )
    .await??;
    guard.release().await?;
    until_clean(&node).await
}

async fn a_foreign_lock_without_an_end_can_be_waited_for(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    node.command(&["SET", "a", "for ever"]).await?;
    let holder = locker.inspect("a").await?.ok_or("no holder")?;
    assert_eq!(holder.remaining, None);
    let waiter = tokio::spawn(locker.acquire("a").into_future());
    until_key_listeners(&node, "a", 1).await?;
    node.command(&["DEL", "a"]).await?;
    within(Duration::from_secs(3), "the waiter polls", waiter)
        .await???
        .release()
        .await?;
    Ok(())
}

/// A lock without an end is a foreign lock: no release is published when an administrator deletes it.
async fn our_lock_whose_end_was_taken_away_can_be_waited_for(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let holder = connect(node.address(), PLAIN).await?;
    let other = connect(node.address(), PLAIN).await?;
    let _held = holder.acquire("a").no_renewal().await?;
    node.command(&["PERSIST", "a"]).await?;
    let before = calls(&node, "evalsha").await?;
    let waiter = tokio::spawn(other.acquire("a").into_future());
    until("it has tried again", async || {
        Ok(calls(&node, "evalsha").await? >= before + 2)
    })
    .await?;
    node.command(&["DEL", "a"]).await?;
    let guard = within(WOKEN, "the waiter polls", waiter).await???;
    guard.release().await?;
    until_clean(&node).await
}

async fn a_foreign_holder_is_shown_as_another_client(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    assert_eq!(locker.inspect("a").await?, None);
    set(&node, "60000").await?;
    let holder = locker.inspect("a").await?.ok_or("no holder")?;
    assert_eq!((holder.attempt, holder.token), (None, None));
    assert!(
        holder
            .remaining
            .is_some_and(|left| left > Duration::from_secs(50))
    );
    node.command(&["DEL", "a"]).await?;
    let guard = locker.acquire("a").note("checkout 77").await?;
    let holder = locker.inspect("a").await?.ok_or("no holder")?;
    assert_eq!(holder.note.as_deref(), Some("checkout 77"));
    assert_eq!(
        (holder.attempt, holder.token),
        (Some(guard.id()), Some(guard.token()))
    );
    assert_eq!(holder.pid, Some(std::process::id()));
    Ok(())
}

async fn a_foreign_value_of_any_bytes_is_another_client(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    // Twenty random bytes, as the first description of the algorithm has it.
    let random = "return redis.call('SET', 'a', '\\255\\0\\n\\254 \\r\\128\\10', 'PX', 60000)";
    node.command(&["EVAL", random, "0"]).await?;
    assert!(locker.try_acquire("a").await?.is_none());
    let holder = locker.inspect("a").await?.ok_or("no holder")?;
    assert_eq!((holder.attempt, holder.token), (None, None));
    Ok(())
}

async fn a_foreign_client_that_overwrites_is_reported_to_the_holder(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    let guard = locker.acquire("a").ttl(Duration::from_secs(3)).await?;
    node.command(&["SET", "a", THEIRS]).await?;
    assert_eq!(
        soon("a renewal finds it", guard.lost()).await?,
        LostCause::Taken
    );
    locker.shutdown(Duration::from_secs(5)).await?;
    assert_eq!(node.command(&["GET", "a"]).await?.text()?, THEIRS);
    Ok(())
}

async fn a_key_of_another_type_is_unsupported(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), PLAIN).await?;
    node.command(&["LPUSH", "a", "x"]).await?;
    for answer in [
        locker.try_acquire("a").await.map(drop),
        locker.acquire("a").await.map(drop),
        locker.inspect("a").await.map(drop),
    ] {
        let error = refused(answer)?;
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("prefix="), "{error}");
    }
    Ok(())
}
