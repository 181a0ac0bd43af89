//! Data that forgot, though the server has been up for long (T14).

use std::time::Duration;

use dlock::{ErrorKind, Locker, LostCause};
use dlock_core::Clock;
use dlock_servers::{
    Program,
    redis::{Node, Persistence},
};

use crate::support::{
    COUNTER, Outcome, acquaint, cases, follow, open, refused, soon, start, start_keeping,
    start_pair, take, until, value, within,
};

cases![
    t14_a_flushed_server_is_guarded_under_a_living_connection,
    t14_a_promoted_replica_that_was_emptied_is_guarded,
    t14_a_wiped_disk_is_guarded,
    t14_a_failover_waits_for_the_guard_of_its_own,
    t14_a_lost_counter_is_guarded,
    t14_a_primary_that_was_a_replica_in_between_is_guarded,
    t14_so_is_one_whose_counter_is_of_another_type,
    t14_a_primary_that_forgets_its_promotion_is_no_other_one,
    t14_a_history_that_begins_in_the_future_is_replaced_once,
    t14_a_shorter_guard_than_anothers_ttl_is_covered_by_the_token,
    t14_a_release_that_a_failover_forgets_lasts_for_the_ttl,
    t14_data_that_are_put_back_are_reported_by_the_next_renewal,
    t14_a_client_without_a_guard_calls_a_restart_a_restart,
];

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(2);

const SHORT: &str = "restart_guard=2s&ttl=2s";

async fn is_guarded(locker: &Locker, by: &str) -> Outcome {
    let error = refused(locker.try_acquire("x").await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains(by), "{error}");
    Ok(())
}

async fn t14_a_flushed_server_is_guarded_under_a_living_connection(program: Program) -> Outcome {
    for flush in ["FLUSHALL", "FLUSHDB"] {
        let node = start(&program, &[]).await?;
        acquaint(&node).await?;
        let (holder, other) = (
            open(node.address(), SHORT).await?,
            open(node.address(), SHORT).await?,
        );
        let clock = Clock::boottime();
        let known = take(&holder, "known").await?;
        let unrenewed = holder.acquire("x").no_renewal().await?;
        let deadline = clock.now().after(unrenewed.remaining());
        crate::support::warm_up(&other).await?;
        node.command(&[flush]).await?;
        is_guarded(&other, "restart_guard=").await?;
        is_guarded(&holder, "restart_guard=").await?;
        let waiter = tokio::spawn(other.acquire("x").into_future());
        // The next renewal finds it gone.
        assert_eq!(soon("it is lost", known.lost()).await?, LostCause::Removed);
        let guard = soon("the guard is over", waiter).await???;
        let early = deadline.since(clock.now());
        assert!(early.is_zero(), "granted {early:?} before the holder's end");
        assert!(guard.token() > unrenewed.token());
        guard.release().await?;
    }
    Ok(())
}

/// Whether it has been up for longer than the guard.
async fn grown_up(node: &Node) -> Outcome {
    until("it is up for long", async || {
        Ok(node.info("uptime_in_seconds").await?.parse::<u64>()? > 4)
    })
    .await
}

/// A primary that dlock knows, and a replica that has its record and is up for longer than the guard. What is
/// granted from now on the replica does not get: it is a primary now.
async fn start_parted(program: &Program) -> Outcome<(Node, Node)> {
    let (primary, replica) = start_pair(program).await?;
    acquaint(&primary).await?;
    grown_up(&replica).await?;
    until("the replica has the record", async || {
        Ok(replica
            .command(&["EXISTS", crate::support::RECORD])
            .await?
            .int()?
            == 1)
    })
    .await?;
    follow(&replica, None).await?;
    Ok((primary, replica))
}

/// The primary restarts empty, its replica copies that, and is promoted.
async fn t14_a_promoted_replica_that_was_emptied_is_guarded(program: Program) -> Outcome {
    let (mut primary, replica) = start_pair(&program).await?;
    acquaint(&primary).await?;
    grown_up(&replica).await?;
    let held = open(primary.address(), SHORT).await?;
    let held = held.acquire("x").no_renewal().await?;
    until("the replica has it", async || {
        Ok(value(&replica, "x").await?.is_some())
    })
    .await?;
    primary.kill()?;
    primary.resume().await?;
    until("the replica is empty", async || {
        Ok(value(&replica, "x").await?.is_none())
    })
    .await?;
    primary.kill()?;
    follow(&replica, None).await?;
    // Also after a failover: the promoted server has no data.
    let other = open(replica.address(), &format!("{SHORT}&failover_guard=0s")).await?;
    if held.is_held() {
        is_guarded(&other, "restart_guard=").await?;
    }
    let guard = soon("the guard is over", other.acquire("x")).await??;
    assert!(!held.is_held(), "two hold it");
    Ok(guard.release().await?)
}

/// `appendfsync always`, and the directory is gone after the crash: a container without a volume.
async fn t14_a_wiped_disk_is_guarded(program: Program) -> Outcome {
    let mut node = start_keeping(&program, Persistence::AofAlways, &[]).await?;
    acquaint(&node).await?;
    let holder = open(node.address(), "").await?;
    let held = take(&holder, "x").await?;
    node.kill()?;
    let data = node.process().directory().join("appendonlydir");
    std::fs::remove_dir_all(&data)?;
    node.resume().await?;
    let other = open(node.address(), "").await?;
    is_guarded(&other, "restart_guard=").await?;
    let wait = other.acquire("x").wait(Duration::from_secs(1)).await;
    assert_eq!(refused(wait)?.kind(), ErrorKind::Unavailable);
    drop(held);
    Ok(())
}

async fn t14_a_failover_waits_for_the_guard_of_its_own(program: Program) -> Outcome {
    let (primary, replica) = start_parted(&program).await?;
    let held = open(primary.address(), SHORT).await?;
    let held = held.acquire("x").no_renewal().await?;
    drop(primary);
    let careful = open(replica.address(), SHORT).await?;
    let bold = open(replica.address(), &format!("{SHORT}&failover_guard=0s")).await?;
    if held.is_held() {
        is_guarded(&careful, "failover_guard=").await?;
    }
    // As the record said.
    take(&bold, "y").await?.release().await?;
    let guard = soon("the guard is over", careful.acquire("x")).await??;
    assert!(!held.is_held(), "two hold it");
    assert!(guard.token() > held.token());
    Ok(guard.release().await?)
}

/// The counter has no ttl: a server that lost it may have lost locks, too.
async fn t14_a_lost_counter_is_guarded(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    acquaint(&node).await?;
    let locker = open(node.address(), SHORT).await?;
    take(&locker, "y").await?.release().await?;
    node.command(&["DEL", COUNTER]).await?;
    is_guarded(&locker, "restart_guard=").await?;
    let guard = soon("the guard is over", locker.acquire("x")).await??;
    Ok(guard.release().await?)
}

/// The primary becomes a replica of one that lacks its last lock, and the primary again, before the other one was
/// used. It has the same run, and its own record. Connections live through it.
async fn t14_a_primary_that_was_a_replica_in_between_is_guarded(program: Program) -> Outcome {
    replica_in_between(&program, async |_| Ok(())).await
}

async fn t14_so_is_one_whose_counter_is_of_another_type(program: Program) -> Outcome {
    let replace_counter = async |node: &Node| {
        node.command(&["DEL", COUNTER]).await?;
        node.command(&["RPUSH", COUNTER, "a"]).await?;
        Ok(())
    };
    replica_in_between(&program, replace_counter).await
}

/// A primary becomes a replica, and is promoted again with data that lack a lock; then it is `changed`.
async fn replica_in_between(
    program: &Program,
    changed: impl AsyncFnOnce(&Node) -> Outcome,
) -> Outcome {
    let (first, second) = start_pair(program).await?;
    acquaint(&first).await?;
    let (holder, living) = (
        open(first.address(), SHORT).await?,
        open(first.address(), SHORT).await?,
    );
    crate::support::warm_up(&living).await?;
    until("the other one has the record", async || {
        Ok(second
            .command(&["EXISTS", crate::support::RECORD])
            .await?
            .int()?
            == 1)
    })
    .await?;
    // What is granted from now on it does not get.
    follow(&second, None).await?;
    let held = holder.acquire("x").no_renewal().await?;
    second
        .command(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"])
        .await?;
    follow(&first, Some(&second)).await?;
    until("it has the data of the other one", async || {
        Ok(value(&first, "x").await?.is_none())
    })
    .await?;
    follow(&first, None).await?;
    changed(&first).await?;
    // Before a new client writes down that the server took over.
    if held.is_held() {
        is_guarded(&living, "_guard=").await?;
    }
    let new = open(first.address(), SHORT).await?;
    if held.is_held() {
        is_guarded(&new, "_guard=").await?;
    }
    let guard = soon("the guard is over", living.acquire("x")).await??;
    assert!(!held.is_held(), "two hold it");
    assert!(guard.token() > held.token());
    Ok(guard.release().await?)
}

/// Without a replica for `repl-backlog-ttl`, an hour unless it is set, a server forgets that it was promoted.
async fn t14_a_primary_that_forgets_its_promotion_is_no_other_one(program: Program) -> Outcome {
    let (primary, replica) = start_parted(&program).await?;
    drop(primary);
    let bold = format!("{SHORT}&failover_guard=0s");
    let living = open(replica.address(), &bold).await?;
    crate::support::warm_up(&living).await?;
    let record = async || {
        replica
            .command(&["GET", crate::support::RECORD])
            .await?
            .text()
    };
    let before = record().await?;
    replica
        .command(&["CONFIG", "SET", "repl-backlog-ttl", "1"])
        .await?;
    until("it forgets", async || {
        Ok(replica.info("second_repl_offset").await? == "-1")
    })
    .await?;
    for locker in [living, open(replica.address(), &bold).await?] {
        crate::support::warm_up(&locker).await?;
    }
    assert_eq!(record().await?, before);
    Ok(())
}

/// The server's clock was ahead when it began, and was set back since.
async fn t14_a_history_that_begins_in_the_future_is_replaced_once(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    acquaint(&node).await?;
    let record = async || node.command(&["GET", crate::support::RECORD]).await?.text();
    let mut words: Vec<_> = record().await?.split(' ').map(str::to_owned).collect();
    words[2] = "2500000000000000".to_owned();
    let ahead = words.join(" ");
    node.command(&["SET", crate::support::RECORD, &ahead])
        .await?;
    let locker = open(node.address(), SHORT).await?;
    is_guarded(&locker, "restart_guard=").await?;
    let begun = record().await?;
    assert_ne!(begun, ahead);
    // Another one waits for the same end.
    let other = open(node.address(), SHORT).await?;
    let guard = soon("the guard is over", other.acquire("x")).await??;
    assert_eq!(record().await?, begun);
    Ok(guard.release().await?)
}

/// The exception `redis.guards-differ`.
async fn t14_a_shorter_guard_than_anothers_ttl_is_covered_by_the_token(
    program: Program,
) -> Outcome {
    let node = start(&program, &[]).await?;
    acquaint(&node).await?;
    let holder = open(node.address(), "ttl=30s&restart_guard=30s").await?;
    let held = holder.acquire("x").no_renewal().await?;
    node.command(&["FLUSHALL"]).await?;
    let other = open(node.address(), SHORT).await?;
    let guard = soon("the shorter guard is over", other.acquire("x")).await??;
    assert!(held.is_held());
    assert!(guard.token() > held.token());
    // The next renewal reports it.
    assert!(held.renew().await.is_err());
    assert_eq!(
        soon("the holder is notified", held.lost()).await?,
        LostCause::Taken
    );
    Ok(guard.release().await?)
}

/// The exception `redis.failover-release`.
async fn t14_a_release_that_a_failover_forgets_lasts_for_the_ttl(program: Program) -> Outcome {
    let ttl = Duration::from_secs(4);
    let bold = "restart_guard=0s&ttl=4s";
    let (primary, replica) = start_pair(&program).await?;
    let holder = open(primary.address(), bold).await?;
    let held = take(&holder, "x").await?;
    until("the replica has it", async || {
        Ok(value(&replica, "x").await?.is_some())
    })
    .await?;
    follow(&replica, None).await?;
    held.release().await?;
    drop(primary);
    let other = open(replica.address(), bold).await?;
    assert!(other.try_acquire("x").await?.is_none());
    let most = ttl + other.capabilities().takeover_max;
    let guard = within(most, "its ttl is over", other.acquire("x")).await??;
    Ok(guard.release().await?)
}

/// The exception `redis.put-back`: data of the same run of the server, which lack the last locks.
async fn t14_data_that_are_put_back_are_reported_by_the_next_renewal(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    acquaint(&node).await?;
    node.command(&["SWAPDB", "0", "1"]).await?;
    acquaint(&node).await?;
    let ttl = Duration::from_secs(6);
    let keys = "restart_guard=6s&ttl=6s";
    let (holder, other) = (
        open(node.address(), keys).await?,
        open(node.address(), keys).await?,
    );
    let held = take(&holder, "x").await?;
    node.command(&["SWAPDB", "0", "1"]).await?;
    let next = take(&other, "x").await?;
    assert!(next.token() > held.token());
    let cause = within(ttl / 3 + SLACK, "the holder is notified", held.lost()).await?;
    assert_eq!(cause, LostCause::Taken);
    Ok(next.release().await?)
}

/// A server that has been up for less than the guard was restarted, for other clients, too: they read that word.
async fn t14_a_client_without_a_guard_calls_a_restart_a_restart(program: Program) -> Outcome {
    let (primary, replica) = start_pair(&program).await?;
    acquaint(&primary).await?;
    let record = async || {
        let get = ["GET", crate::support::RECORD];
        replica.command(&get).await?.text()
    };
    until("the replica has the record", async || {
        Ok(record().await.is_ok())
    })
    .await?;
    follow(&replica, None).await?;
    let bold = open(replica.address(), "restart_guard=0s").await?;
    crate::support::warm_up(&bold).await?;
    let record = record().await?;
    let former = primary.info("run_id").await?;
    let words: Vec<_> = record.split(' ').collect();
    assert_eq!(words[3..], ["restart", &former], "{record}");
    Ok(())
}
