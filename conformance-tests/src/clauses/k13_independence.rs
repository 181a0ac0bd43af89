//! K13: a stuck or slow name never delays another one; one locker carries many.

use std::sync::Arc;

use dlock_core::LostCause;
use dlock_verify::{ensure, support::Outcome};
use tokio::task::JoinSet;

use crate::case::{Case, CaseContext, GENTLE_HELD_MAX, Profile, StalledRenewals, case};

/// The locks that the suite acquires at once where the backend allows it; the figure of the contract is for
/// benchmarks.
const HELD_MAX: usize = 2_000;

/// The locks beside the stuck one.
const OTHERS: usize = 20;

/// The names that are acquired beside the taken one.
const NAMES: usize = 50;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_stuck_renewal_delays_no_other, Profile::expires).of_size(1, 5),
        case!(a_name_that_is_waited_for_delays_no_other),
        case!(many_are_held_at_once).of_size(2, GENTLE_HELD_MAX + 1),
    ]
}

async fn a_stuck_renewal_delays_no_other(context: &CaseContext) -> Outcome {
    let (stuck, ttl) = (context.name("stuck")?, context.ttl_short());
    let stalled = StalledRenewals {
        only: Some(stuck.clone()),
        ..StalledRenewals::default()
    };
    let locker = context.locker_over(&Arc::new(stalled)).await?;
    let mut others = Vec::new();
    for index in 0..context.times(OTHERS) {
        others.push(
            locker
                .acquire(context.name(&format!("other-{index}"))?)
                .ttl(ttl)
                .await?,
        );
    }
    let guard = locker.acquire(&stuck).ttl(ttl).await?;
    let cause = context
        .within(ttl, "the loss of the stuck one", guard.lost())
        .await?;
    ensure!(
        cause == LostCause::Expired,
        "the stuck one is lost because {cause}"
    );
    tokio::time::sleep(ttl).await;
    for other in others {
        ensure!(
            other.is_held(),
            "{:?} was lost with the stuck one",
            other.name()
        );
        other.release().await?;
    }
    Ok(())
}

async fn a_name_that_is_waited_for_delays_no_other(context: &CaseContext) -> Outcome {
    let (taken, locker) = (context.name("taken")?, context.locker().await?);
    let holder = context.take(&taken, std::time::Duration::ZERO).await?;
    let mut waiting = JoinSet::new();
    for _ in 0..20 {
        waiting.spawn(locker.acquire(&taken).wait_forever().into_future());
    }
    for index in 0..context.times(NAMES) {
        let acquire = locker.acquire(context.name(&format!("other-{index}"))?);
        context
            .soon("another name", acquire)
            .await??
            .release()
            .await?;
    }
    waiting.shutdown().await;
    Ok(holder.release().await?)
}

async fn many_are_held_at_once(context: &CaseContext) -> Outcome {
    let (locker, ttl) = (context.locker().await?, context.ttl_middle());
    let count = context.held_share().min(HELD_MAX);
    let mut guards = Vec::new();
    for index in 0..count {
        guards.push(
            locker
                .acquire(context.name(&format!("held-{index}"))?)
                .ttl(ttl)
                .await?,
        );
    }
    // Each is renewed at least once.
    tokio::time::sleep(ttl).await;
    for guard in &guards {
        ensure!(guard.is_held(), "{:?} of {count} was lost", guard.name());
    }
    for guard in guards.iter().step_by(100) {
        context.expect_taken(guard.name()).await?;
    }
    for guard in guards {
        guard.release().await?;
    }
    Ok(())
}
