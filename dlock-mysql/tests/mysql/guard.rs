//! A server that was started or promoted waits for the holders of before.

use std::time::Duration;

use dlock::{ErrorKind, Guard, Locker, LostCause};
use dlock_core::{BootInstant, Clock};
use dlock_servers::mysql::{Flavour, Node, Options};
use dlock_verify::{proxy::Proxy, support::refused};

use crate::support::{Outcome, cases, cut_off, open_with, soon, start, take, until, within};

cases![
    a_restart_grants_nothing_before_the_holds_of_before_are_over,
    so_does_one_whose_tokens_are_committed,
    a_longer_ttl_in_the_code_is_waited_for_too,
    a_program_with_a_shorter_ttl_waits_for_the_longest,
    a_database_that_never_saw_a_lock_waits_for_nothing,
    what_is_waited_for_is_said_at_once,
    a_guard_that_is_over_is_over_for_all,
    the_guard_can_be_turned_off,
    a_program_that_turns_the_guard_off_ends_it_for_all,
    a_longer_ttl_than_the_guard_is_refused_before_the_request,
    a_long_ttl_is_remembered_while_it_is_in_use_and_forgotten_then,
    grants_and_renewals_write_nothing,
    a_row_that_was_lost_is_not_waited_for,
];

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(10);

/// A holder that is cut off from its server, and does not know.
pub(crate) struct CutOff {
    pub(crate) held: Guard,
    /// Until when it calls itself a holder.
    pub(crate) deadline: BootInstant,
    _locker: Locker,
    _proxy: Proxy,
}

impl CutOff {
    pub(crate) async fn holding(node: &Node, keys: &str) -> Outcome<Self> {
        let proxy = Proxy::start(node.address())?;
        let locker = open_with(&node.url_at(proxy.address()), keys).await?;
        Self::by(locker, proxy, None).await
    }

    async fn by(locker: Locker, proxy: Proxy, ttl: Option<Duration>) -> Outcome<Self> {
        let acquire = locker.acquire("x");
        let acquire = match ttl {
            Some(ttl) => acquire.ttl(ttl),
            None => acquire,
        };
        let held = soon("it is granted", acquire).await??;
        cut_off(&proxy);
        Ok(Self {
            deadline: Clock::boottime().now().after(held.remaining()),
            held,
            _locker: locker,
            _proxy: proxy,
        })
    }

    /// Takes its lock by `other` as soon as that is granted: not before it has heard that it is over, and not
    /// long after.
    pub(crate) async fn followed_by(&self, other: &Locker, max: Duration) -> Outcome<Guard> {
        let clock = Clock::boottime();
        let began = clock.now();
        let guard = within(max + SLACK, "the guard is over", async {
            other.acquire("x").wait(max + SLACK).await
        })
        .await??;
        let early = self.deadline.since(clock.now());
        assert!(early.is_zero(), "granted {early:?} before the holder's end");
        assert!(!self.held.is_held());
        assert!(guard.token() > self.held.token());
        let took = clock.now().since(began);
        assert!(took < max + SLACK, "granted after {took:?}");
        Ok(guard)
    }

    /// Lets `other` have its lock. The holder is notified when its time is over, and the token covers that.
    pub(crate) async fn overtaken_by(&self, other: &Locker) -> Outcome {
        let guard = soon("it is granted", other.acquire("x")).await??;
        assert!(guard.token() > self.held.token());
        let left = self.deadline.since(Clock::boottime().now());
        let cause = within(left + SLACK, "the loss", self.held.lost()).await?;
        assert_eq!(cause, LostCause::Expired);
        Ok(guard.release().await?)
    }
}

async fn a_restart_grants_nothing_before_the_holds_of_before_are_over(flavour: Flavour) -> Outcome {
    is_waited_for(flavour, "ttl=8s", "ttl=8s").await
}

async fn so_does_one_whose_tokens_are_committed(flavour: Flavour) -> Outcome {
    let keys = "ttl=8s&token=committed";
    is_waited_for(flavour, keys, keys).await
}

async fn a_program_with_a_shorter_ttl_waits_for_the_longest(flavour: Flavour) -> Outcome {
    is_waited_for(flavour, "ttl=8s", "ttl=1s&restart_guard=1s").await
}

async fn is_waited_for(flavour: Flavour, keys: &str, others: &str) -> Outcome {
    let mut node = start(flavour).await?;
    let cut_off = CutOff::holding(&node, keys).await?;
    node.kill()?;
    node.resume().await?;
    let other = open_with(&node.url(), others).await?;
    let guard = cut_off.followed_by(&other, Duration::from_secs(9)).await?;
    Ok(guard.release().await?)
}

async fn a_longer_ttl_in_the_code_is_waited_for_too(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let locker = open_with(&node.url_at(proxy.address()), "ttl=1s").await?;
    take(&locker, "x").await?.release().await?;
    let ttl = Duration::from_secs(8);
    let cut_off = CutOff::by(locker, proxy, Some(ttl)).await?;
    node.restart().await?;
    let other = open_with(&node.url(), "ttl=1s").await?;
    let guard = cut_off.followed_by(&other, ttl).await?;
    Ok(guard.release().await?)
}

async fn a_database_that_never_saw_a_lock_waits_for_nothing(flavour: Flavour) -> Outcome {
    let mut node = Node::start(flavour, &Options::default()).await?;
    for _ in 0..2 {
        let locker = open_with(&node.url(), "ttl=60s").await?;
        assert!(locker.inspect("x").await?.is_none());
        node.restart().await?;
    }
    let locker = open_with(&node.url(), "ttl=60s").await?;
    soon("at once", locker.acquire("x"))
        .await??
        .release()
        .await?;
    Ok(())
}

async fn what_is_waited_for_is_said_at_once(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let keys = "ttl=40s";
    let locker = open_with(&node.url(), keys).await?;
    let held = take(&locker, "x").await?;
    node.restart().await?;
    soon("the loss", held.lost()).await?;
    until("its first two seconds are over", async || {
        let error = refused(locker.try_acquire("x").await)?;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        Ok(error.to_string().contains("restart_guard="))
    })
    .await?;
    let error = refused(locker.acquire("x").wait(Duration::from_secs(1)).await)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("restart_guard="), "{error}");
    Ok(())
}

/// Also for a program that has just been started and tries only.
async fn a_guard_that_is_over_is_over_for_all(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let locker = open_with(&node.url(), "ttl=4s").await?;
    take(&locker, "x").await?.release().await?;
    node.restart().await?;
    until("a new program is granted", async || {
        let new = open_with(&node.url(), "ttl=4s").await?;
        let tried = new.try_acquire("x").await;
        Ok(tried.is_ok_and(|guard| guard.is_some()))
    })
    .await?;
    for _ in 0..3 {
        let new = open_with(&node.url(), "ttl=30s").await?;
        let guard = new.try_acquire("y").await?.ok_or("taken")?;
        guard.release().await?;
    }
    Ok(())
}

async fn the_guard_can_be_turned_off(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let locker = open_with(&node.url(), "ttl=1h&restart_guard=0s").await?;
    let held = take(&locker, "x").await?;
    node.restart().await?;
    soon("the loss", held.lost()).await?;
    soon("at once", locker.acquire("x"))
        .await??
        .release()
        .await?;
    Ok(())
}

/// The exception `mysql.unguarded`.
async fn a_program_that_turns_the_guard_off_ends_it_for_all(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let cut_off = CutOff::holding(&node, "ttl=15s").await?;
    node.kill()?;
    node.resume().await?;
    let careless = open_with(&node.url(), "ttl=1s&restart_guard=0s").await?;
    take(&careless, "another").await?.release().await?;
    let other = open_with(&node.url(), "ttl=15s").await?;
    cut_off.overtaken_by(&other).await
}

async fn a_longer_ttl_than_the_guard_is_refused_before_the_request(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let url = node.url();
    let wrong = refused(open_with(&url, "ttl=60s&restart_guard=30s").await)?;
    assert_eq!(wrong.kind(), ErrorKind::InvalidConfig, "{wrong}");
    let locker = open_with(&url, "ttl=2s").await?;
    node.kill()?;
    let long = Duration::from_secs(31);
    let error = refused(locker.acquire("x").ttl(long).await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.to_string().contains("restart_guard=30s"), "{error}");
    Ok(())
}

/// How long a period of a ttl of two seconds lasts at least, twice.
const TWO_PERIODS: Duration = Duration::from_secs(16);

async fn a_long_ttl_is_remembered_while_it_is_in_use_and_forgotten_then(
    flavour: Flavour,
) -> Outcome {
    let node = start(flavour).await?;
    let (holder, other) = (
        open_with(&node.url(), "ttl=2s").await?,
        open_with(&node.url(), "ttl=1s").await?,
    );
    let held = take(&holder, "x").await?;
    let longest = async || -> Outcome<u64> {
        take(&other, "y").await?.release().await?;
        let select = "SELECT GREATEST(ttl_max, ttl_max_before) FROM locks.dlock_epoch WHERE id = 1";
        Ok(node.query(select).await?[0][0].parse()?)
    };
    let clock = Clock::boottime();
    let end = clock.now().after(TWO_PERIODS * 3 / 2);
    while clock.now() < end {
        assert_eq!(longest().await?, 2);
    }
    let periods = "SELECT period FROM locks.dlock_epoch WHERE id = 1";
    let periods: u64 = node.query(periods).await?[0][0].parse()?;
    assert!(periods > 1, "only {periods} periods have ended");
    assert!(held.is_held());
    held.release().await?;
    within(TWO_PERIODS * 3 / 2 + SLACK, "it is forgotten", async {
        while longest().await? != 1 {}
        Outcome::Ok(())
    })
    .await?
}

async fn grants_and_renewals_write_nothing(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let locker = open_with(&node.url(), "ttl=2s").await?;
    let held = take(&locker, "held").await?;
    take(&locker, "x").await?.release().await?;
    let written = async || -> Outcome<u32> {
        let show = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_update', 'Com_insert', \
                    'Com_delete')";
        let mut sum = 0;
        for row in node.query(show).await? {
            sum += row[1].parse::<u32>()?;
        }
        Ok(sum)
    };
    let before = written().await?;
    for _ in 0..200 {
        take(&locker, "x").await?.release().await?;
        held.renew().await?;
    }
    // The epoch is raised now and then.
    let more = written().await? - before;
    assert!(more < 4, "{more} writes");
    Ok(())
}

/// The exception `mysql.lost-row`.
async fn a_row_that_was_lost_is_not_waited_for(flavour: Flavour) -> Outcome {
    let mut node = start(flavour).await?;
    let cut_off = CutOff::holding(&node, "ttl=30s").await?;
    node.query("DELETE FROM locks.dlock_epoch").await?;
    node.restart().await?;
    let other = open_with(&node.url(), "ttl=30s").await?;
    cut_off.overtaken_by(&other).await
}
