//! The price of locks that are held.

use std::time::Duration;

use dlock_core::{Clock, Error, Expiry, Guard, Result};
use dlock_raw::baseline::Usage;
use tokio::task::JoinSet;

use crate::{
    data::Held,
    machine::{Spent, Threads},
    store::Store,
};

/// The numbers of locks, as far as the store allows.
const LOCKS: [u32; 5] = [1, 10, 100, 1_000, 10_000];

/// The ttl of the locks, within the bounds of the store. A third of it is the time between two renewals.
const TTL: Duration = Duration::from_secs(9);

/// How long they are held: more than a renewal of each.
const HOLD: Duration = Duration::from_secs(6);

/// How long they are held where nothing is renewed.
const HOLD_WITHOUT_END: Duration = Duration::from_millis(500);

/// How often the time that is left is read.
const READ_EVERY: Duration = Duration::from_millis(50);

/// How many are acquired or released at a time.
const AT_A_TIME: usize = 64;

/// Measures each number of locks. The second result is why it ended before the last, if it did.
///
/// # Errors
///
/// The errors of the server's numbers; that of an acquire is the second result.
///
/// # Cancel safety
///
/// Dropping the future releases all locks in the background.
pub(crate) async fn held(store: &Store) -> Result<(Vec<Held>, Option<String>)> {
    let max = store.locks.capabilities().held_max.unwrap_or(u32::MAX);
    let mut rows = Vec::new();
    for locks in numbers(max) {
        match level(store, locks).await? {
            Ok(row) => rows.push(row),
            Err(error) => return Ok((rows, Some(format!("{locks} locks were not held: {error}")))),
        }
    }
    let note = (max < LOCKS[LOCKS.len() - 1])
        .then(|| format!("more than {max} locks: not allowed by the store's held_max"));
    Ok((rows, note))
}

/// The numbers of locks up to `max`, which is the last if it is smaller than some.
fn numbers(max: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = LOCKS.into_iter().filter(|locks| *locks < max).collect();
    if numbers.len() < LOCKS.len() {
        numbers.push(max);
    }
    numbers
}

async fn level(store: &Store, locks: u32) -> Result<std::result::Result<Held, Error>> {
    let capabilities = store.locks.capabilities();
    let ttl = TTL.clamp(capabilities.ttl_min, capabilities.ttl_max);
    let hold = match capabilities.expiry {
        Expiry::Process => HOLD_WITHOUT_END,
        _ => HOLD.max(ttl * 2 / 3),
    };
    let clock = Clock::boottime();
    let empty = usage(store).await?;
    let began = clock.now();
    let guards = match acquire(store, locks, ttl).await {
        Ok(guards) => guards,
        Err(error) => return Ok(Err(error)),
    };
    let acquired_in = clock.now().since(began);
    let (before, threads) = (usage(store).await?, store.pid.and_then(Threads::read));
    let left_min = watch(&guards, ttl, hold).await;
    let (after, threads) = (usage(store).await?, spent(store, threads.as_ref()));
    let lost = guards.iter().filter(|guard| !guard.is_held()).count();
    release(guards).await;
    let seconds = hold.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "numbers for people")]
    let number = |value: u64| value as f64;
    let more = |after: Option<u64>, before: Option<u64>| after?.checked_sub(before?).map(number);
    Ok(Ok(Held {
        locks,
        acquired_in_ms: u64::try_from(acquired_in.as_millis()).unwrap_or(u64::MAX),
        held_ms: u64::try_from(hold.as_millis()).unwrap_or(u64::MAX),
        lost: u32::try_from(lost).unwrap_or(u32::MAX),
        server_bytes_each: more(before.bytes, empty.bytes).map(|bytes| bytes / f64::from(locks)),
        server_requests_per_second: more(after.requests, before.requests)
            .map(|requests| requests / seconds),
        server_cpu: threads.map(|spent| spent.total().as_secs_f64() / seconds),
        ttl_left_min: left_min,
    }))
}

async fn usage(store: &Store) -> Result<Usage> {
    match store.server() {
        Some(server) => server.usage().await,
        None => Ok(Usage::default()),
    }
}

fn spent(store: &Store, before: Option<&Threads>) -> Option<Spent> {
    let after = store.pid.and_then(Threads::read)?;
    Some(after.since(before?))
}

async fn acquire(store: &Store, locks: u32, ttl: Duration) -> Result<Vec<Guard>> {
    let mut names = store.names.many("held", locks).into_iter();
    let (mut running, mut guards) = (JoinSet::new(), Vec::new());
    loop {
        while running.len() < AT_A_TIME
            && let Some(name) = names.next()
        {
            let acquire = store.locks.acquire(name).ttl(ttl);
            running.spawn(async move { acquire.await });
        }
        match running.join_next().await {
            Some(guard) => guards.push(guard.map_err(crate::tasks::defect)??),
            None => return Ok(guards),
        }
    }
}

/// Holds them for this long, and returns the smallest part of the ttl that was left of any.
async fn watch(guards: &[Guard], ttl: Duration, hold: Duration) -> f64 {
    let clock = Clock::boottime();
    let end = clock.now().after(hold);
    let mut left = ttl;
    while clock.now() < end {
        tokio::time::sleep(READ_EVERY).await;
        let lowest = guards.iter().map(Guard::remaining).min();
        left = left.min(lowest.unwrap_or(ttl));
    }
    left.as_secs_f64() / ttl.as_secs_f64()
}

async fn release(guards: Vec<Guard>) {
    let mut guards = guards.into_iter();
    let mut running = JoinSet::new();
    loop {
        while running.len() < AT_A_TIME
            && let Some(guard) = guards.next()
        {
            running.spawn(guard.release());
        }
        // A release that fails is repeated in the background.
        if running.join_next().await.is_none() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_bounds_the_numbers() {
        assert_eq!(numbers(u32::MAX), LOCKS);
        assert_eq!(numbers(64), [1, 10, 64]);
        assert_eq!(numbers(100), [1, 10, 100]);
        assert_eq!(numbers(1), [1]);
    }
}
