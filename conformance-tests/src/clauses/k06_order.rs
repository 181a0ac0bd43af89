//! K6, the order of waiters: a release wakes the next waiter; where the store promises it, in order of
//! arrival.

use std::{future::poll_fn, task::Poll, time::Duration};

use tokio::task::JoinSet;

use dlock_verify::{ensure, support::Outcome};

use crate::case::{Case, CaseContext, Profile, case};

/// Enough for a waiter to reach the store; no event reports it.
const QUEUE_GAP: Duration = Duration::from_millis(200);

/// How often the lock is handed over.
const HAND_OVERS: usize = 11;

/// The median hand-over is shorter where waiters are woken.
///
/// It is far less than the second of the fallback poll, and far more than a busy machine takes.
const HAND_OVER_MAX: Duration = Duration::from_millis(200);

/// A hand-over takes so many exchanges with the server at most.
const HAND_OVER_EXCHANGES: u32 = 8;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_release_lets_the_next_one_in),
        case!(a_release_wakes_the_next_one, Profile::woken),
        case!(who_came_first_is_served_first, Profile::fifo).of_size(6, 6),
        case!(tasks_of_one_client_take_turns),
    ]
}

async fn a_release_lets_the_next_one_in(context: &CaseContext) -> Outcome {
    hand_over(context, 1).await.map(drop)
}

async fn a_release_wakes_the_next_one(context: &CaseContext) -> Outcome {
    let HandOvers {
        mut times,
        mut releases,
    } = hand_over(context, context.times(HAND_OVERS)).await?;
    times.sort_unstable();
    releases.sort_unstable();
    let (median, release) = (times[times.len() / 2], releases[releases.len() / 2]);
    // The server may be far away.
    let most = HAND_OVER_MAX + release * HAND_OVER_EXCHANGES;
    ensure!(
        median < most,
        "the median of {times:?} is {median:?}, and that of a release {release:?}: woken by polling?"
    );
    Ok(())
}

/// How long each hand-over took.
#[derive(Default)]
struct HandOvers {
    /// From the request of the release to the grant of the waiter.
    times: Vec<Duration>,
    /// To the answer of the release: about one exchange with the server.
    releases: Vec<Duration>,
}

/// Hands a lock over to a waiter, `times` times.
async fn hand_over(context: &CaseContext, times: usize) -> Outcome<HandOvers> {
    let (name, mut took) = (context.name("next")?, HandOvers::default());
    let lockers = [context.locker().await?, context.locker().await?];
    let mut guard = lockers[0].acquire(&name).await?;
    for turn in 1..=times {
        let acquire = lockers[turn % 2].acquire(&name).wait_forever();
        let clock = context.clock.clone();
        let waiting = tokio::spawn(async move { acquire.await.map(|guard| (guard, clock.now())) });
        tokio::time::sleep(QUEUE_GAP).await;
        let released = context.clock.now();
        guard.release().await?;
        took.releases.push(context.clock.now().since(released));
        let (next, granted) = context.soon("the next one's turn", waiting).await???;
        took.times.push(granted.since(released));
        guard = next;
    }
    guard.release().await?;
    Ok(took)
}

async fn who_came_first_is_served_first(context: &CaseContext) -> Outcome {
    let name = context.name("queue")?;
    let guard = context.locker().await?.acquire(&name).await?;
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    let mut waiting = JoinSet::new();
    for place in 0..5 {
        let (acquire, served) = (
            context.locker().await?.acquire(&name).wait_forever(),
            served.clone(),
        );
        waiting.spawn(async move {
            let guard = acquire.await?;
            // The others are granted after the release only, so no lock is needed for the order.
            let _ = served.send(place);
            guard.release().await
        });
        tokio::time::sleep(QUEUE_GAP).await;
    }
    drop(served);
    guard.release().await?;
    let mut seen = Vec::new();
    while let Some(place) = context.soon("the turn of each", order.recv()).await? {
        seen.push(place);
    }
    while let Some(done) = waiting.join_next().await {
        done??;
    }
    ensure!(seen == [0, 1, 2, 3, 4], "served in the order {seen:?}");
    Ok(())
}

/// Within one process the order is exact for every store.
async fn tasks_of_one_client_take_turns(context: &CaseContext) -> Outcome {
    let (name, locker) = (context.name("turns")?, context.locker().await?);
    let guard = locker.acquire(&name).await?;
    let mut waiting = Vec::new();
    for _ in 0..context.times(20) {
        let mut acquire = locker.acquire(&name).wait_forever().into_future();
        // Polled once, it is in the queue behind the earlier waiters.
        let poll = poll_fn(|cx| Poll::Ready(acquire.as_mut().poll(cx))).await;
        ensure!(poll.is_pending(), "granted while another guard holds");
        waiting.push(acquire);
    }
    guard.release().await?;
    for acquire in waiting {
        // Out of order, the lock would go to a waiter that is not polled yet, and this one waits.
        context.soon("its turn", acquire).await??.release().await?;
    }
    Ok(())
}
