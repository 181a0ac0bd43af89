//! A holder at a server that is cut off from the leader (T40). Its reads and pings are answered for seconds after
//! the leader has ended its session.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use dlock::{Guard, Locker, LostCause};
use dlock_core::{BootInstant, Clock, LockName};
use dlock_servers::zk::{Ensemble, Java, Options};
use dlock_verify::proxy::{
    Direction::{ToClient, ToServer},
    Fault, Proxy,
};
use tokio::task::JoinSet;

use crate::support::{Outcome, cases, connect, within};

cases![
    t40_a_partitioned_follower_at_any_time,
    t40_a_partitioned_follower_after_an_acknowledgement,
    t40_a_partitioned_follower_after_a_one_way_stall,
    t40_a_partitioned_follower_after_a_one_way_stall_of_an_idle_client,
];

/// The shortest that is safe with the stock tick.
const SESSION: Duration = Duration::from_secs(6);

/// Sessions that are cut off at once, each at another moment of its life.
const HOLDERS: usize = 6;

/// How often each case cuts: all together make more than 50 runs.
const CUTS: u32 = 3;

/// Between two holders: the phases of their heartbeats are spread.
const APART: Duration = Duration::from_millis(170);

/// How long what the leader says does not arrive before the follower is cut off.
const STALL: Duration = Duration::from_millis(2_500);

/// The same for clients that write nothing during the stall: longer than a proof lasts, and not so long
/// that their sessions end.
const STALL_WHILE_IDLE: Duration = Duration::from_millis(5_400);

/// How long a write is under way: short enough to count.
const UNDER_WAY: Duration = Duration::from_millis(300);

/// A fault of the network.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Everything stops, in the middle of something.
    AtAnyTime,
    /// Everything stops when each session has just written.
    AfterAcknowledgement,
    /// The leader's messages are late. When they arrive, the messages to it stop: writes are acknowledged
    /// though the sessions are not refreshed.
    AfterStall,
    /// The same, and the first writes of the sessions are those that take the locks, just before the end.
    AfterStallWhileIdle,
}

async fn t40_a_partitioned_follower_at_any_time(java: Java) -> Outcome {
    cut_off(&java, Cut::AtAnyTime).await
}

async fn t40_a_partitioned_follower_after_an_acknowledgement(java: Java) -> Outcome {
    cut_off(&java, Cut::AfterAcknowledgement).await
}

async fn t40_a_partitioned_follower_after_a_one_way_stall(java: Java) -> Outcome {
    cut_off(&java, Cut::AfterStall).await
}

async fn t40_a_partitioned_follower_after_a_one_way_stall_of_an_idle_client(java: Java) -> Outcome {
    cut_off(&java, Cut::AfterStallWhileIdle).await
}

async fn cut_off(java: &Java, cut: Cut) -> Outcome {
    let mut margins = Vec::new();
    for round in 0..CUTS {
        // A follower that was cut off needs longer to come back than new servers to start.
        let ensemble = Ensemble::start(java, &Options::default()).await?;
        margins.extend(once(&ensemble, cut, round).await?);
    }
    let (holds, least) = (margins.len(), margins.iter().min());
    // Nothing depends on it.
    let _ = writeln!(
        io::stderr(),
        "T40 {cut:?}: {holds} holds, least margin {least:?}"
    );
    Ok(())
}

/// Cuts once; the times between the end of each hold and the next grant of the same lock.
async fn once(ensemble: &Ensemble, cut: Cut, round: u32) -> Outcome<Vec<Duration>> {
    let (leader, follower) = (ensemble.leader().await?, ensemble.follower().await?);
    let keys = format!("session={}s&ttl=30s&wait=60s", SESSION.as_secs());
    let mut held = Vec::new();
    for index in 0..HOLDERS {
        let holder = connect(ensemble.nodes()[follower].address(), &keys).await?;
        let guard = holder.acquire(format!("lock-{index}")).await?;
        held.push((holder, guard));
        tokio::time::sleep(APART).await;
    }
    let other = connect(ensemble.nodes()[leader].address(), &keys).await?;
    // Long enough that their heartbeats have begun.
    tokio::time::sleep(SESSION / 3 + APART * round).await;
    let link = ensemble.link(follower, leader);
    let held = match cut {
        Cut::AtAnyTime => {
            ensemble.set(follower, Fault::Hold);
            held
        }
        Cut::AfterAcknowledgement => {
            for (_, guard) in &held {
                guard.renew().await?;
            }
            ensemble.set(follower, Fault::Hold);
            held
        }
        Cut::AfterStall => {
            stall(link, async { tokio::time::sleep(STALL).await }).await;
            held
        }
        Cut::AfterStallWhileIdle => {
            let mut idle = Vec::new();
            for (holder, guard) in held {
                idle.push((holder, guard.name().clone()));
                guard.release().await?;
            }
            taken_in_a_stall(link, idle).await?
        }
    };
    let mut runs = JoinSet::new();
    for (holder, guard) in held {
        runs.spawn(run(holder, guard, other.clone()));
    }
    let mut margins = Vec::new();
    while let Some(run) = runs.join_next().await {
        margins.push(run??);
    }
    Ok(margins)
}

/// Delays the leader's messages; when they arrive, no more messages reach the leader.
async fn stall(link: &Proxy, during: impl Future<Output = ()>) {
    link.set(ToClient, Fault::Hold);
    during.await;
    link.set(ToServer, Fault::Hold);
    link.set(ToClient, Fault::None);
}

/// Locks that are requested just before the end of a stall, as far as they are granted. The leader has made their
/// nodes. It may have heard of their sessions for the last time when the stall began.
async fn taken_in_a_stall(
    link: &Proxy,
    idle: Vec<(Locker, LockName)>,
) -> Outcome<Vec<(Locker, Guard)>> {
    // Their heartbeats end.
    tokio::time::sleep(SESSION / 3).await;
    let mut taking = JoinSet::new();
    stall(link, async {
        tokio::time::sleep(STALL_WHILE_IDLE).await;
        for (holder, name) in idle {
            taking.spawn(async move {
                let guard = holder.acquire(&name).wait(SESSION).await;
                guard.map(|guard| (holder, guard))
            });
        }
        tokio::time::sleep(UNDER_WAY).await;
    })
    .await;
    let mut held = Vec::new();
    while let Some(taken) = taking.join_next().await {
        held.extend(taken?.ok());
    }
    Ok(held)
}

/// The time between the end of the hold and the next grant.
async fn run(holder: Locker, guard: Guard, other: Locker) -> Outcome<Duration> {
    let clock = Clock::boottime();
    let lost = async {
        let cause = guard.lost().await;
        (cause, clock.now())
    };
    let granted = async { (other.acquire(guard.name()).await, clock.now()) };
    let bound = other.capabilities().takeover_max + SESSION;
    let both = async { tokio::join!(lost, granted) };
    let ((cause, lost), (next, granted)) = within(bound, "the next grant", both).await?;
    let next = next?;
    assert!(!guard.is_held() && next.is_held());
    assert_eq!(cause, LostCause::Expired, "the follower reports nothing");
    assert!(next.token() > guard.token());
    let margin = margin(lost, granted)?;
    drop((holder, next));
    Ok(margin)
}

fn margin(lost: BootInstant, granted: BootInstant) -> Outcome<Duration> {
    if granted < lost {
        return Err(format!("held twice for {:?}", lost.since(granted)).into());
    }
    Ok(granted.since(lost))
}
