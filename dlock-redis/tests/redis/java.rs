//! The real Redisson on the same locks, with `format=redisson`: `docs/mixed-fleets.md` is made from these.

use std::{future::IntoFuture as _, time::Duration};

use dlock::{ErrorKind, Locker, LostCause, layers::migrate};
use dlock_core::{
    Clock,
    config::{BackendUrl, Config},
};
use dlock_servers::{
    Program,
    clients::{Client, Peer},
    redis::Node,
};
use dlock_verify::support::{hold_and_die, if_client_available};
use libtest_mimic::Trial;

use crate::{
    cluster::{self, cluster},
    redisson::{REDISSON, channel, fields, until_clean, until_listeners, until_shard_listener},
    support::{Flavour, Outcome, calls, connect, refused, soon, start, take, until, within},
};

mod cases {
    use super::{
        a_dead_holder_is_waited_for_by_each, a_migration_excludes_redisson_until_its_switch,
        a_release_frees_no_lock_of_the_other,
        a_waiter_of_dlock_that_gives_up_leaves_redissons_lock, a_watchdog_keeps_the_lock,
        dlock_and_redisson_exclude_each_other, dlock_and_redisson_share_names_with_braces,
        dlock_and_redisson_wait_for_each_other_in_a_cluster, dlock_and_redisson_wake_each_other,
        dlock_is_woken_by_a_lock_of_redisson_without_an_end,
        redisson_after_a_loss_of_data_is_reported_by_the_next_renewal,
    };

    crate::support::cases![
        dlock_and_redisson_exclude_each_other,
        dlock_and_redisson_wake_each_other,
        dlock_and_redisson_share_names_with_braces,
        dlock_and_redisson_wait_for_each_other_in_a_cluster,
        dlock_is_woken_by_a_lock_of_redisson_without_an_end,
        a_dead_holder_is_waited_for_by_each,
        a_watchdog_keeps_the_lock,
        a_release_frees_no_lock_of_the_other,
        a_waiter_of_dlock_that_gives_up_leaves_redissons_lock,
        a_migration_excludes_redisson_until_its_switch,
        redisson_after_a_loss_of_data_is_reported_by_the_next_renewal,
    ];
}

pub(crate) fn trials(flavour: Flavour) -> Vec<Trial> {
    let client = Client::Redisson;
    if_client_available(client.name(), client.find(), cases::trials(flavour))
}

/// A ttl that no case lives to see the end of.
const LONG: Duration = Duration::from_secs(120);

/// The ttl of a holder that dies. Redisson's watchdog renews three times as often.
const SHORT: Duration = Duration::from_secs(3);

/// A waiter of dlock polls a lock of another client every second: a hand-over in so short a time came by a message.
const FAR_LESS_THAN_A_POLL: Duration = Duration::from_millis(500);

/// The hand-overs whose mean counts: a single one may meet a busy machine.
const ROUNDS: u32 = 10;

async fn java(node: &Node, ttl: Duration) -> Outcome<Peer> {
    Ok(Client::Redisson.start(node.address(), ttl, &[]).await?)
}

async fn dlock_and_redisson_exclude_each_other(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut java = java(&node, LONG).await?;
    let mut last = 0;
    for _ in 0..5 {
        let held = take(&locker, "job").await?;
        assert!(held.token().get() > last, "over a hold of Redisson");
        last = held.token().get();
        java.request("try job", "taken").await?;
        held.renew().await?;
        held.release().await?;
        java.request("try job", "acquired").await?;
        assert!(locker.try_acquire("job").await?.is_none());
        let holder = locker.inspect("job").await?.ok_or("no holder")?;
        assert_eq!((holder.attempt, holder.token), (None, None));
        let field = fields(&node, "job").await?.swap_remove(0);
        assert!(field.contains(':') && holder.note == Some(field));
        assert!(holder.remaining.is_some_and(|left| left > LONG / 2));
        java.request("release job", "released").await?;
    }
    until_clean(&node).await
}

async fn dlock_and_redisson_wake_each_other(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut java = java(&node, LONG).await?;
    let clock = Clock::boottime();
    let (mut of_dlock, mut of_java) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..ROUNDS {
        java.request("acquire job", "acquired").await?;
        let waiter = tokio::spawn(locker.acquire("job").into_future());
        until_listeners(&node, "job", 1).await?;
        let before = clock.now();
        java.request("release job", "released").await?;
        let held = within(LONG / 4, "dlock is woken", waiter).await???;
        of_dlock += clock.now().since(before);
        // Redisson would wait for the ttl, which is long.
        java.say("acquire job").await?;
        until_listeners(&node, "job", 1).await?;
        let before = clock.now();
        held.release().await?;
        java.expect("acquired").await?;
        of_java += clock.now().since(before);
        java.request("release job", "released").await?;
    }
    let (of_dlock, of_java) = (of_dlock / ROUNDS, of_java / ROUNDS);
    assert!(of_dlock < FAR_LESS_THAN_A_POLL, "{of_dlock:?}");
    assert!(of_java < FAR_LESS_THAN_A_POLL, "{of_java:?}");
    drop(java);
    until_clean(&node).await
}

async fn dlock_and_redisson_share_names_with_braces(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut java = java(&node, LONG).await?;
    for name in ["{user:7}cart", "50%", "a}b{", "seat 14/C é"] {
        let held = take(&locker, name).await?;
        java.request(&format!("try {name}"), "taken").await?;
        java.say(&format!("acquire {name}")).await?;
        until_listeners(&node, name, 1).await?;
        held.release().await?;
        java.expect("acquired").await?;
        assert!(locker.try_acquire(name).await?.is_none(), "{name}");
        java.request(&format!("release {name}"), "released").await?;
        take(&locker, name).await?.release().await?;
    }
    Ok(())
}

async fn dlock_and_redisson_wait_for_each_other_in_a_cluster(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let locker = cluster::connect(&cluster, REDISSON).await?;
    let address = cluster.nodes()[0].address();
    let mut java = Client::Redisson.start(address, LONG, &["cluster"]).await?;
    for name in ["a", "{b}c", "50%", "job"] {
        let node = &cluster.nodes()[cluster.owner_of(name).await?];
        let held = take(&locker, name).await?;
        java.request(&format!("try {name}"), "taken").await?;
        java.say(&format!("acquire {name}")).await?;
        until_shard_listener(node, name).await?;
        let last = held.token();
        held.release().await?;
        java.expect("acquired").await?;
        let waiter = tokio::spawn(locker.acquire(name).into_future());
        // Redisson's waiter may be leaving.
        until("dlock listens", async || {
            let reply = node
                .command(&["PUBSUB", "SHARDNUMSUB", &channel(name)])
                .await?;
            Ok(reply.array()?.pop().ok_or("no count")?.int()? >= 1)
        })
        .await?;
        java.request(&format!("release {name}"), "released").await?;
        let guard = within(LONG / 4, "dlock is woken", waiter).await???;
        assert!(guard.token() > last);
        guard.release().await?;
    }
    Ok(())
}

async fn dlock_is_woken_by_a_lock_of_redisson_without_an_end(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut java = java(&node, LONG).await?;
    java.request("acquire job", "acquired").await?;
    node.command(&["PERSIST", "job"]).await?;
    let holder = locker.inspect("job").await?.ok_or("no holder")?;
    assert_eq!((holder.attempt, holder.remaining), (None, None));
    let waiter = tokio::spawn(locker.acquire("job").into_future());
    until_listeners(&node, "job", 1).await?;
    java.request("release job", "released").await?;
    let guard = within(SHORT, "dlock is woken", waiter).await???;
    Ok(guard.release().await?)
}

async fn a_dead_holder_is_waited_for_by_each(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut mortal = java(&node, SHORT).await?;
    mortal.request("acquire job", "acquired").await?;
    let waiter = tokio::spawn(locker.acquire("job").into_future());
    until_listeners(&node, "job", 1).await?;
    mortal.kill().await?;
    let bound = SHORT + locker.capabilities().takeover_max + SHORT;
    let guard = within(bound, "its ttl is over", waiter).await???;
    guard.release().await?;
    // And for dlock.
    let ttl = SHORT.as_secs();
    let url = format!(
        "redis://{}?{REDISSON}&restart_guard=0s&ttl={ttl}s",
        node.address()
    );
    let mut java = java(&node, LONG).await?;
    hold_and_die(
        async move { Ok(dlock::connect(url.as_str()).await?) },
        "job",
    )
    .await?;
    java.request("try job", "taken").await?;
    java.request("acquire job", "acquired").await?;
    Ok(java.request("release job", "released").await?)
}

async fn a_watchdog_keeps_the_lock(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut java = java(&node, SHORT).await?;
    java.request("acquire job", "acquired").await?;
    let waiter = tokio::spawn(locker.acquire("job").into_future());
    // So many renewals are more than two ttls.
    let before = calls(&node, "pexpire").await?;
    until("its watchdog renews", async || {
        Ok(calls(&node, "pexpire").await? >= before + 7)
    })
    .await?;
    assert!(!waiter.is_finished(), "dlock took a lock that is held");
    java.request("holds job", "yes").await?;
    java.request("release job", "released").await?;
    let guard = within(SHORT, "dlock is woken", waiter).await???;
    Ok(guard.release().await?)
}

/// Each holder has lost its lock before, as its key was deleted.
async fn a_release_frees_no_lock_of_the_other(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut java = java(&node, LONG).await?;
    let held = take(&locker, "job").await?;
    node.command(&["DEL", "job"]).await?;
    java.request("acquire job", "acquired").await?;
    let error = refused(held.renew().await)?;
    assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
    let _ = held.release().await;
    java.request("holds job", "yes").await?;
    // The other way round.
    node.command(&["DEL", "job"]).await?;
    let held = take(&locker, "job").await?;
    java.request("release job", "not released").await?;
    java.request("holds job", "no").await?;
    held.renew().await?;
    Ok(held.release().await?)
}

async fn a_waiter_of_dlock_that_gives_up_leaves_redissons_lock(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker: Locker = connect(node.address(), REDISSON).await?;
    let mut java = java(&node, LONG).await?;
    java.request("acquire job", "acquired").await?;
    for _ in 0..3 {
        let wait = locker.acquire("job").wait(Duration::from_millis(200));
        assert_eq!(refused(wait.await)?.kind(), ErrorKind::Contended);
        let waiter = tokio::spawn(locker.acquire("job").into_future());
        until_listeners(&node, "job", 1).await?;
        waiter.abort();
        until_listeners(&node, "job", 0).await?;
    }
    java.request("holds job", "yes").await?;
    java.request("release job", "released").await?;
    until_clean(&node).await
}

/// From Redisson's locks to dlock's own format on the same server, under another prefix.
async fn a_migration_excludes_redisson_until_its_switch(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let server = format!("redis://{}?restart_guard=0s", node.address());
    let old = format!("{server}&prefix=&{REDISSON}");
    let new = format!("{server}&token_base=9007199254740992");
    let both = BackendUrl::parse("migrate:")?
        .with_param("from", &old)
        .with_param("to", &new)
        .expose();
    let config = Config::from_url(&both)?;
    let steps = migrate::open_steps(&dlock::registry(), &config).await?;
    steps.start().await?;
    let before = dlock::connect(old.as_str()).await?;
    let locker = dlock::connect(both.as_str()).await?;
    let mut java = java(&node, LONG).await?;
    let first = take(&before, "job").await?;
    let last = first.token();
    first.release().await?;
    let held = take(&locker, "job").await?;
    assert!(held.token() > last);
    java.request("try job", "taken").await?;
    java.say("acquire job").await?;
    until_listeners(&node, "job", 1).await?;
    held.release().await?;
    java.expect("acquired").await?;
    assert!(locker.try_acquire("job").await?.is_none());
    java.request("release job", "released").await?;
    let last = take(&locker, "job").await?;
    let token = last.token();
    last.release().await?;
    steps.switch().await?;
    // No program is left on Redisson's locks alone, and dlock refuses a new one.
    let error = refused(dlock::connect(old.as_str()).await)?;
    assert!(error.to_string().contains("have moved"), "{error}");
    let after = dlock::connect(new.as_str()).await?;
    let held = take(&after, "job").await?;
    assert!(held.token() > token);
    assert!(locker.try_acquire("job").await?.is_none());
    Ok(held.release().await?)
}

/// Redisson does not know the record of the server's history (`redis.redisson`).
async fn redisson_after_a_loss_of_data_is_reported_by_the_next_renewal(
    program: Program,
) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), REDISSON).await?;
    let mut java = java(&node, LONG).await?;
    let held = locker.acquire("job").ttl(LONG).await?;
    node.command(&["FLUSHALL"]).await?;
    java.request("acquire job", "acquired").await?;
    assert!(
        held.renew().await.is_err(),
        "the entry belongs to another one"
    );
    let cause = soon("the loss is reported", held.lost()).await?;
    assert_eq!(cause, LostCause::Taken);
    drop(held);
    locker.shutdown(Duration::from_secs(5)).await?;
    Ok(java.request("holds job", "yes").await?)
}
