//! Waiters whose host vanished stay in the queue of the server (T63), which does not check whether they
//! live.

use std::time::Duration;

use dlock_core::Clock;
use dlock_servers::mysql::Flavour;
use dlock_verify::proxy::{Fault, Proxy};
use tokio::time::timeout;

use crate::support::{
    HOLDING_CONNECTION, Outcome, TTL_LONG, UNTIL_PREPARED, cases, cut_off, holder, open, queued,
    soon, start, take,
};

cases![
    t63_waiters_whose_host_vanished_do_not_get_the_row_for_a_ttl,
    t64_a_grant_that_is_not_confirmed_goes_to_the_next_one,
    a_grant_that_was_waited_for_has_its_whole_ttl,
    a_ttl_as_short_as_the_time_to_confirm_is_not_eaten_by_a_wait,
];

/// The time for which vanished waiters may keep the others from a lock, however many they are. A statement of
/// theirs waits for four seconds at the most, and the last one to be granted has two to confirm.
const VANISHED_MAX: Duration = Duration::from_secs(6);

/// A busy machine may be so late.
const SLACK: Duration = Duration::from_secs(2);

/// A time that is longer than a waiter has to confirm its grant.
const UNCONFIRMED: Duration = Duration::from_secs(3);

/// A ttl that is as short as the time that a waiter has to confirm its grant.
const TTL_CONFIRM: Duration = Duration::from_secs(2);

async fn t63_waiters_whose_host_vanished_do_not_get_the_row_for_a_ttl(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let (holder, healthy) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    let held = take(&holder, "a").await?;
    let mut vanished = Vec::new();
    for count in 1..=5 {
        let waiter_client = open(&node.url_at(proxy.address()), TTL_LONG).await?;
        let waiter = queued(&node, waiter_client.acquire("a").wait_forever(), count).await?;
        vanished.push((waiter_client, waiter));
    }
    let waiter = queued(&node, healthy.acquire("a").wait_forever(), 6).await?;
    cut_off(&proxy);
    let (clock, token) = (Clock::boottime(), held.token());
    let released = clock.now();
    held.release().await?;
    let guard = soon("it is granted", waiter).await???;
    let took = clock.now().since(released);
    assert!(took < VANISHED_MAX + SLACK, "the next one waited {took:?}");
    assert!(guard.token() > token);
    Ok(guard.release().await?)
}

/// A process that slept when its turn came waits again.
async fn t64_a_grant_that_is_not_confirmed_goes_to_the_next_one(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let proxy = Proxy::start(node.address())?;
    let asleep = open(&node.url_at(proxy.address()), TTL_LONG).await?;
    let other = open(&node.url(), TTL_LONG).await?;
    let held = take(&other, "a").await?;
    let waiter = queued(&node, asleep.acquire("a").wait_forever(), 1).await?;
    let connection = proxy.connection(HOLDING_CONNECTION).await;
    connection.set_both(Fault::Hold);
    held.release().await?;
    let next = take(&other, "a").await?;
    connection.set_both(Fault::None);
    let token = next.token();
    assert!(next.is_held());
    next.release().await?;
    let guard = soon("it is granted", waiter).await???;
    assert!(guard.token() > token, "{} after {token}", guard.token());
    Ok(guard.release().await?)
}

/// The short time that a waiter has is over when it has confirmed.
async fn a_grant_that_was_waited_for_has_its_whole_ttl(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (first, second) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_LONG).await?,
    );
    // It is confirmed by text, and by a prepared statement.
    for uses in [0, UNTIL_PREPARED] {
        for _ in 0..uses {
            take(&second, "a").await?.release().await?;
        }
        let held = take(&first, "a").await?;
        let waiter = queued(&node, second.acquire("a").no_renewal().wait_forever(), 1).await?;
        held.release().await?;
        let guard = soon("it is granted", waiter).await???;
        let session = holder(&node).await?;
        let ended = timeout(UNCONFIRMED, guard.lost()).await;
        assert!(ended.is_err(), "lost: {ended:?}");
        assert!(guard.remaining() > TTL_LONG / 2, "{:?}", guard.remaining());
        assert_eq!(holder(&node).await?, session);
        guard.release().await?;
    }
    Ok(())
}

/// The session has this ttl from the begin of its wait. The hold counts from the confirmation all the same.
async fn a_ttl_as_short_as_the_time_to_confirm_is_not_eaten_by_a_wait(flavour: Flavour) -> Outcome {
    let node = start(flavour).await?;
    let (first, second) = (
        open(&node.url(), TTL_LONG).await?,
        open(&node.url(), TTL_CONFIRM).await?,
    );
    let clock = Clock::boottime();
    let held = take(&first, "a").await?;
    let waiter = queued(&node, second.acquire("a").no_renewal().wait_forever(), 1).await?;
    // More than half of the ttl, and less than all of it.
    tokio::time::sleep(TTL_CONFIRM * 5 / 8).await;
    let released = clock.now();
    held.release().await?;
    let guard = soon("it is granted", waiter).await???;
    let deadline = clock.now().after(guard.remaining());
    let least = released.after(TTL_CONFIRM * 3 / 4);
    assert!(
        deadline >= least,
        "the wait has eaten {:?}",
        least.since(deadline)
    );
    Ok(guard.release().await?)
}
