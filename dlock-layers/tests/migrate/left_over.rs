//! Programs that are left on `migrate:` when the locks move again: back, or on to a third store (K1).

use std::time::Duration;

use dlock_core::{
    ErrorKind, Locker, LostCause, Result,
    config::Config,
    memory::{Fault, Memory, Operation},
};
use dlock_layers::migrate::{Steps, Store};
use tokio::time::{sleep, timeout};

use crate::support::{Stores, TOKEN_BASE, refused, registry};

/// Longer than all moves.
const TTL: Duration = Duration::from_secs(3600);

/// After this a program in use has read the record once more, and lost its locks.
const READ: Duration = Duration::from_secs(41);

/// The token base of a second move.
const NEXT_BASE: u64 = 2 * TOKEN_BASE;

async fn left_over(stores: &Stores) -> Result<Locker> {
    let url = "migrate:?from=old:&to=new:%3Ftoken_base=1000000";
    registry(stores).connect(&Config::from_url(url)?).await
}

/// The steps of a move from the new store to `next`.
fn next_move(stores: &Stores, next: &Memory) -> Result<Steps> {
    let from = Store::new(stores.new.clone(), TOKEN_BASE);
    let to = Store::new(next.clone(), NEXT_BASE);
    Steps::new(from, to, "etcd://etcd-1", "mysql://db-2")
}

#[tokio::test(start_paused = true)]
async fn it_is_refused_when_the_locks_move_back_or_on() -> Result<()> {
    for is_back in [true, false] {
        let stores = Stores::started().await?;
        let locks = left_over(&stores).await?;
        let before = locks.acquire("before").ttl(TTL).await?;
        stores.steps()?.switch().await?;
        let after = locks.acquire("after").ttl(TTL).await?;
        sleep(READ).await;
        assert!(before.is_held() && after.is_held());
        let next = match is_back {
            true => stores.old.clone(),
            false => Memory::new(),
        };
        next_move(&stores, &next)?.start().await?;
        for guard in [&before, &after] {
            let lost = timeout(READ, guard.lost()).await;
            assert_eq!(lost.expect("in time"), LostCause::Moved, "{is_back}");
        }
        let refusal = refused(locks.try_acquire("a").await, "migrate:?from=…&to=…");
        assert_eq!(refusal, ErrorKind::InvalidConfig);
        sleep(READ).await;
        assert!(stores.are_empty(), "the lost locks are released");
        next_move(&stores, &next)?.switch().await?;
        sleep(READ).await;
        let refusal = refused(locks.try_acquire("a").await, "have moved to mysql://db-2");
        assert_eq!(refusal, ErrorKind::InvalidConfig);
        let late = left_over(&stores).await.expect_err("refused");
        assert_eq!(late.kind(), ErrorKind::InvalidConfig, "{late}");
    }
    Ok(())
}

/// The program has not found the first switch.
#[tokio::test(start_paused = true)]
async fn a_hold_from_before_the_first_switch_is_lost() -> Result<()> {
    let stores = Stores::started().await?;
    let locks = left_over(&stores).await?;
    let guard = locks.acquire("a").ttl(TTL).no_renewal().await?;
    stores.steps()?.switch().await?;
    next_move(&stores, &Memory::new())?.start().await?;
    let lost = timeout(READ, guard.lost()).await;
    assert_eq!(lost.expect("in time"), LostCause::Moved);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn it_goes_on_when_the_next_move_is_cancelled() -> Result<()> {
    let stores = Stores::started().await?;
    let locks = left_over(&stores).await?;
    stores.steps()?.switch().await?;
    locks.acquire("a").await?.release().await?;
    let next = next_move(&stores, &Memory::new())?;
    next.start().await?;
    sleep(READ).await;
    locks.try_acquire("a").await.expect_err("refused");
    next.cancel().await?;
    sleep(READ).await;
    locks.acquire("a").await?.release().await
}

/// Nothing depends on the record before the next move.
#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_read_ends_nothing() -> Result<()> {
    for is_switched in [true, false] {
        let stores = Stores::started().await?;
        let locks = left_over(&stores).await?;
        if is_switched {
            stores.steps()?.switch().await?;
        }
        let guard = locks.acquire("a").ttl(TTL).await?;
        stores.new.inject(Operation::Migrate, Fault::LoseRequest);
        sleep(READ * 4).await;
        assert!(guard.is_held(), "{is_switched}");
    }
    Ok(())
}
