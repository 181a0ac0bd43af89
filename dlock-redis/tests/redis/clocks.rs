//! The server's clock is set (T13): forward it ends locks early, back it must not repeat tokens.
//!
//! Its clock is libfaketime's; without that library these cases are ignored. The newest servers end under
//! it, as their allocator reads the time before it is ready, so only the stable one is tested.

use std::time::Duration;

use dlock::{ErrorKind, LostCause};
use dlock_servers::{Program, SetClock, redis::Node};

use crate::support::{
    Outcome, acquaint, cases, connect, open, refused, soon, start, take, until, until_clean, within,
};

cases![
    t13_a_clock_that_is_set_forward_is_reported_at_the_next_renewal,
    t13_tokens_grow_while_the_clock_is_set_back,
    t14_the_guard_does_not_go_by_an_uptime_that_follows_the_clock,
    t13_a_clock_that_is_set_back_is_reported_to_waiters_and_by_inspect,
    t13_a_clock_that_is_set_back_keeps_a_dead_holders_lock_no_longer_than_the_step,
];

/// A server and its clock.
struct Fake {
    node: Node,
    clock: SetClock,
}

impl Fake {
    async fn start(program: &Program) -> Outcome<Self> {
        let clock = SetClock::new()?;
        let program = program.clone().under(&clock)?;
        let node = start(&program, &[]).await?;
        Ok(Self { node, clock })
    }

    /// Sets the clock to this many seconds off the true time.
    async fn set(&self, seconds: i64) -> Outcome {
        let before = self.time().await?;
        self.clock.set(seconds)?;
        let moved = async || Ok((self.time().await? - before).abs() > 60);
        until("the clock is set", moved).await
    }

    /// The time of the server's clock, in seconds.
    async fn time(&self) -> Outcome<i64> {
        let parts = self.node.command(&["TIME"]).await?.array()?;
        let seconds = parts.into_iter().next().ok_or("no time")?;
        Ok(seconds.text()?.parse()?)
    }
}

async fn t13_a_clock_that_is_set_forward_is_reported_at_the_next_renewal(
    program: Program,
) -> Outcome {
    let fake = Fake::start(&program).await?;
    let locker = connect(fake.node.address(), "").await?;
    let other = connect(fake.node.address(), "").await?;
    let held = locker.acquire("a").ttl(Duration::from_secs(6)).await?;
    fake.set(3_600).await?;
    assert_eq!(
        soon("a renewal finds it gone", held.lost()).await?,
        LostCause::Removed
    );
    let next = take(&other, "a").await?;
    assert!(next.token() > held.token());
    next.renew().await?;
    next.release().await?;
    until_clean(&fake.node).await
}

async fn t13_tokens_grow_while_the_clock_is_set_back(program: Program) -> Outcome {
    let fake = Fake::start(&program).await?;
    let locker = connect(fake.node.address(), "").await?;
    // A client that was given no token: it knows of none but by the counter.
    let other = connect(fake.node.address(), "").await?;
    let held = take(&locker, "a").await?;
    fake.set(-3_600).await?;
    // The key ends later by the server's clock; the holder's own deadline is not moved by that.
    held.renew().await?;
    let token = held.token();
    held.release().await?;
    let next = take(&other, "a").await?;
    assert!(next.token() > token, "the counter goes on where it was");
    next.release().await?;
    until_clean(&fake.node).await
}

/// A machine comes up with a clock that is behind, and is set right after the server was started. The server then
/// reports that it has been up for an hour.
async fn t14_the_guard_does_not_go_by_an_uptime_that_follows_the_clock(
    program: Program,
) -> Outcome {
    let mut fake = Fake::start(&program).await?;
    acquaint(&fake.node).await?;
    let locker = open(fake.node.address(), "ttl=60s").await?;
    let held = take(&locker, "a").await?;
    fake.node.kill()?;
    fake.clock.set(-3_600)?;
    fake.node.resume().await?;
    fake.set(0).await?;
    let up = fake.node.info("uptime_in_seconds").await?;
    assert!(up.parse::<u64>()? > 3_000, "{up}");
    let other = open(fake.node.address(), "ttl=60s").await?;
    let error = refused(other.acquire("a").wait(Duration::from_secs(1)).await)?;
    assert!(error.to_string().contains("restart_guard="), "{error}");
    assert!(held.is_held());
    Ok(())
}
/// Leaves the lock of a holder that is dead by now.
async fn leave_dead(fake: &Fake, ttl: Duration) -> Outcome {
    let value = "0123456789abcdef0123456789abcdef 7 1 1@gone";
    let ttl = ttl.as_millis().to_string();
    let set = ["SET", "dlock:a", value, "PX", &ttl];
    fake.node.command(&set).await?;
    Ok(())
}

async fn t13_a_clock_that_is_set_back_is_reported_to_waiters_and_by_inspect(
    program: Program,
) -> Outcome {
    let fake = Fake::start(&program).await?;
    let locker = connect(fake.node.address(), "").await?;
    leave_dead(&fake, Duration::from_secs(60)).await?;
    let holder = locker.inspect("a").await?.ok_or("it is held")?;
    assert_eq!(holder.warning, None);
    let wait = || locker.acquire("a").wait(Duration::from_millis(300));
    let error = refused(wait().await)?;
    assert!(!error.to_string().contains("clock"), "{error}");
    fake.set(-3_600).await?;
    let warning = "later than any known ttl allows (120 s): was the server's clock set back?";
    let holder = locker.inspect("a").await?.ok_or("it is held")?;
    assert!(holder.warning.is_some_and(|found| found.contains(warning)));
    // A waiter, a try, and a waiter behind another one of its locker.
    let (first, second) = tokio::join!(wait().into_future(), wait().into_future());
    let tried = locker.acquire("a").wait(Duration::ZERO).await;
    for result in [first, second, tried] {
        let error = refused(result)?;
        assert_eq!(error.kind(), ErrorKind::Contended);
        assert!(error.to_string().contains(warning), "{error}");
    }
    Ok(())
}

async fn t13_a_clock_that_is_set_back_keeps_a_dead_holders_lock_no_longer_than_the_step(
    program: Program,
) -> Outcome {
    const STEP: Duration = Duration::from_secs(5);
    // How late a server sees that its clock is set.
    const SEEN: Duration = Duration::from_secs(1);
    let fake = Fake::start(&program).await?;
    let locker = connect(fake.node.address(), "").await?;
    let ttl = Duration::from_secs(4);
    leave_dead(&fake, ttl).await?;
    fake.clock.set(-i64::try_from(STEP.as_secs())?)?;
    let late = async || {
        let left = fake.node.command(&["PTTL", "dlock:a"]).await?.int()?;
        Ok(Duration::from_millis(u64::try_from(left)?) > ttl)
    };
    until("the clock is set", late).await?;
    let most = ttl + STEP + SEEN + locker.capabilities().takeover_max;
    let guard = within(most, "it is taken over", locker.acquire("a")).await??;
    guard.release().await?;
    until_clean(&fake.node).await
}
