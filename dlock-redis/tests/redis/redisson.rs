//! `format=redisson`: how a lock is kept, without a client of Java. `java.rs` has the real one.

use std::{future::IntoFuture, time::Duration};

use dlock::{ErrorKind, Guard, LostCause};
use dlock_servers::{
    Program,
    redis::{Node, Reply},
};

use crate::{
    cluster::{self, cluster},
    support::{
        Outcome, WOKEN, calls, cases, connect, connect_as_user, locks, refused, soon, start, take,
        until, within,
    },
};

cases![
    a_lock_is_a_hash_as_redissons,
    locks_of_one_command_are_hashes_too,
    the_latch_of_an_unlock_of_redisson_is_left_alone,
    a_waiter_is_woken_on_the_channel_of_redisson,
    a_lock_of_redisson_is_another_clients,
    a_lock_of_redisson_without_an_end_can_be_waited_for,
    a_second_field_is_reported_to_the_holder,
    a_release_spares_the_field_of_a_successor,
    a_hash_and_a_string_are_never_taken_for_each_other,
    redissons_format_and_another_are_refused_on_one_prefix,
    a_name_that_is_a_key_of_ours_is_refused_beside_redisson,
    a_lock_without_an_end_is_not_left,
    a_cluster_has_locks_of_redisson,
    a_name_that_redisson_cannot_unlock_in_a_cluster_is_refused,
];

/// The default prefix of the format is empty.
pub(crate) const REDISSON: &str = "format=redisson";

/// The field of a thread of Redisson.
pub(crate) const THEIRS: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";

/// The end of a foreign lock, in milliseconds.
const MINUTE: &str = "60000";

/// The channel of the releases of `name`.
pub(crate) fn channel(name: &str) -> String {
    match name.contains('{') {
        true => format!("redisson_lock__channel:{name}"),
        false => format!("redisson_lock__channel:{{{name}}}"),
    }
}

/// Waits for `count` clients that listen for the release of `name`.
pub(crate) async fn until_listeners(node: &Node, name: &str, count: i64) -> Outcome {
    until(format!("{count} listen"), async || {
        let reply = node.command(&["PUBSUB", "NUMSUB", &channel(name)]).await?;
        Ok(reply.array()?.pop().ok_or("no count")?.int()? == count)
    })
    .await
}

/// Waits until no lock and no subscription is left (K12).
pub(crate) async fn until_clean(node: &Node) -> Outcome {
    until("nothing is left", async || {
        let channels = node
            .command(&["PUBSUB", "CHANNELS", "redisson*"])
            .await?
            .array()?;
        Ok(locks(node).await?.is_empty() && channels.is_empty())
    })
    .await
}

/// The fields of a hash and their values, in turn.
pub(crate) async fn fields(node: &Node, key: &str) -> Outcome<Vec<String>> {
    let found = node.command(&["HGETALL", key]).await?.array()?;
    let found = found.into_iter().map(Reply::text);
    Ok(found.collect::<Result<_, _>>()?)
}

pub(crate) fn is_of(fields: &[String], guard: &Guard) -> bool {
    let begin = format!("{} {} ", guard.id(), guard.token());
    matches!(fields, [field, count] if field.starts_with(&begin) && count == "1")
}

pub(crate) async fn set_theirs(node: &Node, name: &str) -> Outcome {
    node.command(&["HSET", name, THEIRS, "1"]).await?;
    node.command(&["PEXPIRE", name, MINUTE]).await?;
    Ok(())
}

async fn a_lock_is_a_hash_as_redissons(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut last = 0;
    for name in ["seat/14C", "{user:7}cart", "50%", "a}b{", "redisson"] {
        let held = locker.acquire(name).note("checkout 77").await?;
        assert!(is_of(&fields(&node, name).await?, &held), "{name}");
        let left = node.command(&["PTTL", name]).await?.int()?;
        assert!(left > 100_000, "{left}");
        assert!(held.token().get() > last);
        last = held.token().get();
        let counter = node.command(&["GET", "{all}fence"]).await?.text()?;
        assert_eq!(counter, last.to_string());
        let holder = locker.inspect(name).await?.ok_or("no holder")?;
        assert_eq!(
            (holder.attempt, holder.token),
            (Some(held.id()), Some(held.token()))
        );
        assert_eq!(holder.note.as_deref(), Some("checkout 77"));
        assert!(holder.remaining.is_some() && holder.warning.is_none());
        node.command(&["PEXPIRE", name, "20000"]).await?;
        held.renew().await?;
        let left = node.command(&["PTTL", name]).await?.int()?;
        assert!(left > 100_000, "{left}: it was renewed");
        assert!(locker.try_acquire(name).await?.is_none());
        held.release().await?;
        assert_eq!(fields(&node, name).await?, [""; 0]);
    }
    let record = node.command(&["GET", "{all}record"]).await?.text()?;
    assert!(record.starts_with("1-redisson "), "{record}");
    until_clean(&node).await
}

/// An unlock that Redisson repeats finds the answer of the first one there, also if another client has the lock now.
async fn the_latch_of_an_unlock_of_redisson_is_left_alone(program: Program) -> Outcome {
    const LATCH: &str = "redisson_unlock_latch:{a}:0b1f6a5c";
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    node.command(&["SET", LATCH, "1", "PX", MINUTE]).await?;
    let held = take(&locker, "a").await?;
    assert!(is_of(&fields(&node, "a").await?, &held));
    held.renew().await?;
    held.release().await?;
    let latch = node.command(&["GET", LATCH]).await?.text()?;
    let left = node.command(&["PTTL", LATCH]).await?.int()?;
    assert!(latch == "1" && left > 0, "{latch} for {left} ms");
    node.command(&["DEL", LATCH]).await?;
    until_clean(&node).await
}

/// Many tasks share commands.
async fn locks_of_one_command_are_hashes_too(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    set_theirs(&node, "n7").await?;
    let names: Vec<String> = (0..30).map(|number| format!("n{number}")).collect();
    let tries = names.iter().map(|name| {
        let (locker, name) = (locker.clone(), name.clone());
        tokio::spawn(async move { locker.try_acquire(&name).await })
    });
    let mut held = Vec::new();
    for (name, tried) in names.iter().zip(tries.collect::<Vec<_>>()) {
        match tried.await?? {
            Some(guard) => {
                assert!(is_of(&fields(&node, name).await?, &guard), "{name}");
                held.push(guard);
            }
            None => assert_eq!(name, "n7"),
        }
    }
    assert_eq!(held.len(), names.len() - 1);
    let releases = held.into_iter().map(|guard| tokio::spawn(guard.release()));
    for released in releases.collect::<Vec<_>>() {
        released.await??;
    }
    assert_eq!(locks(&node).await?, ["n7"]);
    assert_eq!(fields(&node, "n7").await?, [THEIRS, "1"]);
    Ok(())
}

async fn a_waiter_is_woken_on_the_channel_of_redisson(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let (holder, other) = (
        connect(node.address(), REDISSON).await?,
        connect(node.address(), REDISSON).await?,
    );
    for name in ["a", "{b}c", "50%", "}d{"] {
        let held = take(&holder, name).await?;
        let waiter = tokio::spawn(other.acquire(name).into_future());
        until_listeners(&node, name, 1).await?;
        // It sleeps for the ttl of a holder of dlock, which is long.
        held.release().await?;
        let guard = within(WOKEN, "it is woken", waiter).await???;
        guard.release().await?;
    }
    until_clean(&node).await
}

async fn a_lock_of_redisson_is_another_clients(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    set_theirs(&node, "a").await?;
    assert!(locker.try_acquire("a").await?.is_none());
    let holder = locker.inspect("a").await?.ok_or("no holder")?;
    assert_eq!((holder.attempt, holder.token), (None, None));
    assert_eq!(holder.note.as_deref(), Some(THEIRS));
    assert!(
        holder
            .remaining
            .is_some_and(|left| left > Duration::from_secs(50))
    );
    let waiter = tokio::spawn(locker.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    node.command(&["DEL", "a"]).await?;
    node.command(&["PUBLISH", &channel("a"), "0"]).await?;
    within(WOKEN, "it is woken", waiter)
        .await???
        .release()
        .await?;
    until_clean(&node).await
}

async fn a_lock_of_redisson_without_an_end_can_be_waited_for(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    node.command(&["HSET", "a", THEIRS, "1"]).await?;
    assert!(locker.try_acquire("a").await?.is_none());
    let holder = locker.inspect("a").await?.ok_or("no holder")?;
    assert_eq!(holder.remaining, None);
    let waiter = tokio::spawn(locker.acquire("a").into_future());
    until_listeners(&node, "a", 1).await?;
    assert_eq!(node.command(&["PTTL", "a"]).await?.int()?, -1);
    // Nothing is published: the waiter polls.
    node.command(&["DEL", "a"]).await?;
    within(WOKEN, "it polls", waiter).await???.release().await?;
    until_clean(&node).await
}

/// Redisson's lock for reading and writing takes a hash without its field `mode` for free.
async fn a_second_field_is_reported_to_the_holder(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let held = locker.acquire("a").ttl(Duration::from_secs(3)).await?;
    node.command(&["HSET", "a", "mode", "write", THEIRS, "1"])
        .await?;
    node.command(&["PEXPIRE", "a", MINUTE]).await?;
    let cause = soon("a renewal finds it", held.lost()).await?;
    assert_eq!(cause, LostCause::Taken);
    drop(held);
    // To inspect and to try it is another client's.
    let holder = locker.inspect("a").await?.ok_or("no holder")?;
    assert_eq!((holder.attempt, holder.note), (None, None));
    assert!(locker.try_acquire("a").await?.is_none());
    locker.shutdown(Duration::from_secs(5)).await?;
    let left = fields(&node, "a").await?;
    assert!(left.iter().any(|field| field == THEIRS), "{left:?}");
    Ok(())
}

async fn a_release_spares_the_field_of_a_successor(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let held = take(&locker, "a").await?;
    node.command(&["DEL", "a"]).await?;
    set_theirs(&node, "a").await?;
    held.release().await?;
    assert_eq!(fields(&node, "a").await?, [THEIRS, "1"]);
    let held = take(&locker, "b").await?;
    node.command(&["DEL", "b"]).await?;
    set_theirs(&node, "b").await?;
    let error = refused(held.renew().await)?;
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    assert_eq!(fields(&node, "b").await?, [THEIRS, "1"]);
    Ok(())
}

/// A name of the one is the key of the other, by the prefix.
async fn a_hash_and_a_string_are_never_taken_for_each_other(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let strings = connect(node.address(), "").await?;
    let hashes = connect(node.address(), REDISSON).await?;
    for (holder, name, other, as_other) in [
        (&strings, "a", &hashes, "dlock:a"),
        (&hashes, "dlock:b", &strings, "b"),
    ] {
        let held = take(holder, name).await?;
        for answer in [
            other.try_acquire(as_other).await.map(drop),
            other.acquire(as_other).await.map(drop),
            other.inspect(as_other).await.map(drop),
        ] {
            let error = refused(answer)?;
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        }
        held.renew().await?;
        held.release().await?;
        take(other, as_other).await?.release().await?;
    }
    Ok(())
}

async fn redissons_format_and_another_are_refused_on_one_prefix(program: Program) -> Outcome {
    for other in ["escaped", "plain"] {
        for (first, second) in [(other, "redisson"), ("redisson", other)] {
            let node = start(&program, &[]).await?;
            let url = |format: &str| format!("format={format}&prefix=shop:");
            let locker = connect(node.address(), &url(first)).await?;
            let held = take(&locker, "a").await?;
            let error = refused(connect(node.address(), &url(second)).await)?;
            assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
            assert!(error.to_string().contains("format=redisson"), "{error}");
            held.renew().await?;
            let again = connect(node.address(), &url(first)).await?;
            assert!(again.try_acquire("a").await?.is_none());
        }
    }
    Ok(())
}

async fn a_name_that_is_a_key_of_ours_is_refused_beside_redisson(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let token = take(&locker, "a").await?.token().to_string();
    for name in ["{all}fence", "{all}record", "{all}migration", "{DLH}record"] {
        let error = refused(locker.try_acquire(name).await)?;
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.to_string().contains("{all}fence"), "{error}");
    }
    let counter = node.command(&["GET", "{all}fence"]).await?.text()?;
    assert_eq!(counter, token);
    Ok(())
}

/// A hash is made before it gets its end. A user who may not set one leaves no lock.
async fn a_lock_without_an_end_is_not_left(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    drop(connect_as_user(&node, &["-pexpire"]).await?);
    let url = format!(
        "redis://shop:secret@{}?restart_guard=0s&{REDISSON}",
        node.address()
    );
    let locker = dlock::connect(url.as_str()).await?;
    let error = refused(locker.try_acquire("a").await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert_eq!(locks(&node).await?, [""; 0]);
    Ok(())
}

/// Waits for a client that listens in the slot of `name`.
pub(crate) async fn until_shard_listener(node: &Node, name: &str) -> Outcome {
    until("it listens", async || {
        let reply = node
            .command(&["PUBSUB", "SHARDNUMSUB", &channel(name)])
            .await?;
        Ok(reply.array()?.pop().ok_or("no count")?.int()? == 1)
    })
    .await
}

async fn a_cluster_has_locks_of_redisson(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let (holder, other) = (
        cluster::connect(&cluster, REDISSON).await?,
        cluster::connect(&cluster, REDISSON).await?,
    );
    for name in ["a", "{b}c", "50%", "seat/14C"] {
        let node = &cluster.nodes()[cluster.owner_of(name).await?];
        let held = take(&holder, name).await?;
        assert!(is_of(&fields(node, name).await?, &held), "{name}");
        let waiter = tokio::spawn(other.acquire(name).into_future());
        until_shard_listener(node, name).await?;
        held.renew().await?;
        let token = held.token();
        let published = calls(node, "spublish").await.unwrap_or_default();
        held.release().await?;
        let guard = within(WOKEN, "it is woken", waiter).await???;
        assert!(guard.token() > token);
        guard.release().await?;
        assert_eq!(calls(node, "spublish").await?, published + 2, "{name}");
    }
    Ok(())
}

async fn a_name_that_redisson_cannot_unlock_in_a_cluster_is_refused(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let locker = cluster::connect(&cluster, REDISSON).await?;
    for name in ["a{", "a}b", "{}a"] {
        for answer in [
            locker.try_acquire(name).await.map(drop),
            locker.acquire(name).await.map(drop),
            locker.inspect(name).await.map(drop),
        ] {
            let error = refused(answer)?;
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
            assert!(error.to_string().contains("hash tag"), "{error}");
        }
    }
    Ok(())
}
