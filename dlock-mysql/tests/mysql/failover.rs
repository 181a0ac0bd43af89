//! A primary and its replica change places (T69), with the servers' own replication.

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_core::Clock;
use dlock_servers::{
    SetClock,
    mysql::{Flavour, Node, Options},
};

use crate::{
    guard::CutOff,
    support::{Outcome, TTL_LONG, cases, open, open_with, soon, take, until, until_granting},
    tokens::grows,
};

cases![
    t69_tokens_grow_while_two_servers_change_places,
    t69_tokens_grow_after_a_crash_of_the_primary,
    t69_a_promoted_replica_waits_for_the_holds_of_before,
    t69_a_former_primary_that_comes_back_is_overtaken,
];

/// How long later grants of the true primary may have smaller tokens than the last of the former one.
const OVERTAKEN_AFTER: Duration = Duration::from_secs(32);

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(10);

/// How far the replica's clock is behind.
const BEHIND: i64 = -3_600;

/// There and back again, without a restart: connections from before are used again.
async fn t69_tokens_grow_while_two_servers_change_places(flavour: Flavour) -> Outcome {
    let nodes = pair(flavour, None).await?;
    let mut lockers = Vec::new();
    let mut last = None;
    for turn in 0..6 {
        let (primary, replica) = (&nodes[turn % 2], &nodes[(turn + 1) % 2]);
        if lockers.len() < 2 {
            lockers.push(open(&primary.url(), TTL_LONG).await?);
        }
        let locker = &lockers[turn % 2];
        for name in ["a", "b"] {
            let guard = take(locker, name).await?;
            grows(&mut last, guard.token());
            guard.release().await?;
        }
        let refused = open(&replica.url(), TTL_LONG).await.err();
        let refused = refused.ok_or("a replica is accepted")?;
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
        let held = take(locker, "a").await?;
        grows(&mut last, held.token());
        primary.query("SET GLOBAL read_only = 1").await?;
        assert!(held.renew().await.is_err());
        assert_eq!(soon("the loss", held.lost()).await?, LostCause::Demoted);
        until_same(primary, replica).await?;
        primary.follow(replica).await?;
        replica.query("SET GLOBAL read_only = 0").await?;
    }
    Ok(())
}

/// The replica's clock does not save the tokens: the row that it has does.
async fn t69_tokens_grow_after_a_crash_of_the_primary(flavour: Flavour) -> Outcome {
    let clock = SetClock::library().is_ok().then(SetClock::new);
    let clock = clock.transpose()?;
    if let Some(clock) = &clock {
        clock.set(BEHIND)?;
    }
    let [mut primary, replica] = pair(flavour, clock).await?;
    let locker = open(&primary.url(), TTL_LONG).await?;
    let held = take(&locker, "a").await?;
    until_same(&primary, &replica).await?;
    primary.kill()?;
    soon("the loss", held.lost()).await?;
    promote(&replica).await?;
    let other = open(&replica.url(), TTL_LONG).await?;
    let next = take(&other, "a").await?;
    assert!(next.token() > held.token());
    Ok(next.release().await?)
}

/// The holders of a primary that has died may not have heard of it. The replica has been up for as long.
async fn t69_a_promoted_replica_waits_for_the_holds_of_before(flavour: Flavour) -> Outcome {
    let [mut primary, replica] = pair(flavour, None).await?;
    until_granting(&primary).await?;
    let cut_off = CutOff::holding(&primary, "ttl=8s").await?;
    until_same(&primary, &replica).await?;
    primary.kill()?;
    promote(&replica).await?;
    let other = open_with(&replica.url(), "ttl=8s").await?;
    let guard = cut_off.followed_by(&other, Duration::from_secs(9)).await?;
    Ok(guard.release().await?)
}

/// The former primary is writable, as it was when it crashed, and a client still reaches it. The token does
/// not cover what that client does until the epoch of the true primary is raised, in half a minute.
async fn t69_a_former_primary_that_comes_back_is_overtaken(flavour: Flavour) -> Outcome {
    let [mut former, replica] = pair(flavour, None).await?;
    until_granting(&former).await?;
    until_same(&former, &replica).await?;
    former.kill()?;
    promote(&replica).await?;
    let late = open(&replica.url(), TTL_LONG).await?;
    take(&late, "x").await?.release().await?;
    former.resume().await?;
    until_granting(&former).await?;
    let stray = open(&former.url(), TTL_LONG).await?;
    let last = take(&stray, "x").await?.token();
    former.kill()?;
    let clock = Clock::boottime();
    let granted = clock.now();
    let (mut tokens, mut before) = (0, None);
    loop {
        // Both a client that was there before and one that comes now.
        let new = open(&replica.url(), TTL_LONG).await?;
        for locker in [&late, &new] {
            let guard = take(locker, "x").await?;
            grows(&mut before, guard.token());
            guard.release().await?;
            tokens += 1;
        }
        new.shutdown(SLACK).await?;
        if before > Some(last) {
            break;
        }
        let took = clock.now().since(granted);
        assert!(
            took < OVERTAKEN_AFTER + SLACK,
            "{last} is ahead for {took:?}"
        );
    }
    // Or nothing was to be overtaken.
    assert!(tokens > 2);
    Ok(())
}

/// Makes a replica grant.
pub(crate) async fn promote(replica: &Node) -> Outcome {
    replica.stop_following().await?;
    replica.query("SET GLOBAL read_only = 0").await?;
    Ok(())
}

/// A primary, and a read-only server that follows it and may have a clock of its own.
pub(crate) async fn pair(flavour: Flavour, clock: Option<SetClock>) -> Outcome<[Node; 2]> {
    let node = async |id, clock| {
        let arguments = vec![format!("--server-id={id}"), "--log-bin=log".to_owned()];
        let node = Node::start(flavour, &Options { arguments, clock }).await?;
        node.query("GRANT REPLICATION SLAVE ON *.* TO app").await?;
        Outcome::Ok(node)
    };
    let nodes = [node(1, None).await?, node(2, clock).await?];
    nodes[1].follow(&nodes[0]).await?;
    nodes[1].query("SET GLOBAL read_only = 1").await?;
    Ok(nodes)
}

/// Waits until the replica has what the primary has.
pub(crate) async fn until_same(primary: &Node, replica: &Node) -> Outcome {
    let all = "SELECT epoch, boot, base, ttl_max FROM locks.dlock_epoch ORDER BY id; SELECT HEX(name) \
               FROM locks.dlock_locks ORDER BY name";
    let expected = primary.query(all).await?;
    until("it has followed", async || {
        // Its tables may not be there yet.
        Ok(replica.query(all).await.is_ok_and(|rows| rows == expected))
    })
    .await
}
