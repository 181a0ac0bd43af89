//! Names of which one is not available, requested together with others: it is refused, and they are not
//! (K13).

use std::time::Duration;

use dlock::{ErrorKind, Guard, Locker, LostCause};
use dlock_servers::{Program, redis::Node};
use futures_util::future::join_all;

use crate::support::{
    Outcome, WOKEN, calls, cases, connect, connect_as_user, locks, refused, soon, start, take,
    until, until_clean, until_listeners, until_marked, value, warm_up, within,
};

cases![
    releases_of_many_are_few_deletions,
    k04_a_release_of_many_compares_each,
    k13_a_name_of_another_type_harms_only_itself,
    k13_a_forbidden_name_harms_only_itself,
    k13_a_forbidden_read_harms_only_contended_attempts,
    k13_a_hold_that_becomes_forbidden_harms_no_other,
];

/// The number of requests for them: the batches differ each time.
const ROUNDS: u32 = 30;

/// Other names beside each that cannot be had.
const OTHERS: usize = 10;

/// The locks of a task that releases all at once.
const MANY: usize = 100;

/// Takes `bad` and others at the same time, over and over: what became of `bad`.
async fn beside_others(node: &Node, locker: &Locker, bad: &str) -> Outcome<ErrorKind> {
    warm_up(locker).await?;
    let (before, found) = (calls(node, "evalsha").await?, locks(node).await?);
    let mut kind = None;
    for _ in 0..ROUNDS {
        let names = (0..=OTHERS).map(|number| match number {
            3 => bad.to_owned(),
            number => format!("ok-{number}"),
        });
        let taken: Vec<_> = names
            .map(|name| {
                (
                    name.clone(),
                    tokio::spawn(locker.try_acquire(name).into_future()),
                )
            })
            .collect();
        let mut held = Vec::new();
        for (name, taken) in taken {
            let taken = taken.await?;
            if name == bad {
                kind = Some(refused(taken)?.kind());
            } else {
                let guard = taken.map_err(|error| format!("{name} beside {bad}: {error}"))?;
                held.push(guard.ok_or_else(|| format!("{name} beside {bad} is taken"))?);
            }
        }
        release(held).await?;
    }
    // One for each take and each release, if none had left together.
    let alone = u64::from(ROUNDS) * (2 * OTHERS as u64 + 1);
    let sent = calls(node, "evalsha").await? - before;
    assert!(sent < alone * 4 / 5, "{sent} of {alone}: each went alone");
    assert_eq!(locks(node).await?, found, "something was left");
    kind.ok_or_else(|| "it was never requested".into())
}

async fn release(held: Vec<Guard>) -> Outcome {
    let releases: Vec<_> = held
        .into_iter()
        .map(|guard| tokio::spawn(guard.release()))
        .collect();
    for released in releases {
        released.await??;
    }
    Ok(())
}

/// Locks that can be released in few requests.
async fn hold_many(locker: &Locker, count: usize) -> Outcome<Vec<Guard>> {
    warm_up(locker).await?;
    let mut held = Vec::new();
    for number in 0..count {
        held.push(take(locker, &format!("ok-{number}")).await?);
    }
    Ok(held)
}

async fn releases_of_many_are_few_deletions(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    let held = hold_many(&locker, MANY).await?;
    // A server counts a command from its first call on.
    node.command(&["DEL", "dlock:none"]).await?;
    let before = calls(&node, "del").await?;
    // In one task: as each is half of what is in flight, the batches grow without a reply.
    let releases = held.into_iter().map(Guard::release);
    for released in join_all(releases).await {
        released?;
    }
    let deletions = calls(&node, "del").await? - before;
    assert!(deletions < MANY as u64 / 3, "{deletions}");
    until_clean(&node).await
}

/// A successor's lock stays, a waiter is notified, and a lock that is gone is no error. A user who may not read several
/// keys at once has each read alone.
async fn k04_a_release_of_many_compares_each(program: Program) -> Outcome {
    for rules in [&[][..], &["-mget"]] {
        let node = start(&program, &[]).await?;
        let locker = connect_as_user(&node, rules).await?;
        let other = connect(node.address(), "").await?;
        let held = hold_many(&locker, 3 * OTHERS).await?;
        node.command(&["SET", "dlock:ok-20", "theirs"]).await?;
        release(held).await?;
        assert_eq!(value(&node, "ok-20").await?.as_deref(), Some("theirs"));
        node.command(&["DEL", "dlock:ok-20"]).await?;
        until_clean(&node).await?;

        let held = hold_many(&locker, 3 * OTHERS).await?;
        node.command(&["DEL", "dlock:ok-21"]).await?;
        let waiter = tokio::spawn(other.acquire("ok-22").into_future());
        until_marked(&node, "ok-22").await?;
        until_listeners(&node, "ok-22", 1).await?;
        release(held).await?;
        let woken = within(WOKEN, "it is woken", waiter).await???;
        woken.release().await?;
        until_clean(&node).await?;
    }
    Ok(())
}

async fn k13_a_name_of_another_type_harms_only_itself(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect(node.address(), "").await?;
    node.command(&["LPUSH", "dlock:key", "x"]).await?;
    let kind = beside_others(&node, &locker, "key").await?;
    assert_eq!(kind, ErrorKind::Unsupported);
    Ok(())
}

/// The server refuses the request of all of them for it.
async fn k13_a_forbidden_name_harms_only_itself(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let rules = ["resetkeys", "~dlock:ok-*", "~dlock:{all}*", "~*warm*"];
    let locker = connect_as_user(&node, &rules).await?;
    let kind = beside_others(&node, &locker, "forbidden").await?;
    assert_eq!(kind, ErrorKind::Denied);
    Ok(())
}

/// The script has granted other names when it comes to one of which it may not see the ttl.
async fn k13_a_forbidden_read_harms_only_contended_attempts(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect_as_user(&node, &["-pttl"]).await?;
    let other = connect(node.address(), "").await?;
    let _held = take(&other, "busy").await?;
    let kind = beside_others(&node, &locker, "busy").await?;
    assert_eq!(kind, ErrorKind::Denied);
    Ok(())
}

async fn k13_a_hold_that_becomes_forbidden_harms_no_other(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let locker = connect_as_user(&node, &[]).await?;
    let ttl = Duration::from_secs(4);
    let gone = locker.acquire("gone").ttl(ttl).await?;
    let mut held = Vec::new();
    for number in 0..OTHERS {
        held.push(locker.acquire(format!("ok-{number}")).ttl(ttl).await?);
    }
    let rules = ["resetkeys", "~dlock:ok-*", "~dlock:{all}*"];
    node.command(&[&["ACL", "SETUSER", "shop"][..], &rules].concat())
        .await?;
    // No notice of its end: its deadline decides.
    let cause = soon("it is lost", gone.lost()).await?;
    assert_eq!(cause, LostCause::Expired);
    assert!(held.iter().all(Guard::is_held));
    release(held).await?;
    until("its ttl is over", async || {
        Ok(locks(&node).await?.is_empty())
    })
    .await
}
