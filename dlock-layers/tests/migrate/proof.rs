//! A reading that found the old store open is a proof for 30 s that its locks count.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Locker, Result, Token,
    backend::Migration,
    memory::{Fault, Operation},
};

use crate::support::{Stores, TOKEN_BASE, refused};

async fn token(locks: &Locker) -> Result<Token> {
    let guard = locks.acquire("a").await?;
    let token = guard.token();
    guard.release().await?;
    Ok(token)
}

fn is_old(token: Token) -> bool {
    token.get() < TOKEN_BASE
}

#[tokio::test(start_paused = true)]
async fn no_record_is_read_while_the_proof_lasts() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    for store in [&stores.old, &stores.new] {
        store.inject(Operation::Migrate, Fault::LoseRequest);
    }
    tokio::time::advance(Migration::READ_VALID - Duration::from_secs(1)).await;
    assert!(is_old(token(&both).await?));
    tokio::time::advance(Duration::from_secs(1)).await;
    let unread = both.try_acquire("a").await;
    assert_eq!(refused(unread, ""), ErrorKind::Unavailable);
    stores.new.clear_faults();
    let read = token(&both).await?;
    assert!(is_old(read), "the old store's record need not be readable");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_proof_is_renewed_before_its_end() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.new.inject(Operation::Migrate, Fault::LoseRequest);
    for _ in 0..12 {
        tokio::time::sleep(Migration::READ_VALID / 4).await;
        assert!(is_old(token(&both).await?));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn no_acquire_waits_for_the_renewal_of_the_proof() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both_without_proof().await?;
    stores.old.inject(Operation::Migrate, Fault::Stall);
    let began = tokio::time::Instant::now();
    assert!(is_old(token(&both).await?));
    assert_eq!(began.elapsed(), Duration::ZERO);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_switch_waits_for_a_proof_from_just_before_it() -> Result<()> {
    let stores = Stores::started().await?;
    let (both, other) = (stores.both().await?, stores.both().await?);
    token(&both).await?;
    stores.steps()?.switch().await?;
    let last = token(&other).await?;
    assert!(!is_old(last));
    assert!(token(&both).await? > last);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn an_old_store_that_is_closed_is_no_proof() -> Result<()> {
    let stores = Stores::started().await?;
    let steps = stores.steps()?;
    let closed = steps.close().await?;
    tokio::time::advance(closed.wait()).await;
    let (both, other) = (stores.both().await?, stores.both().await?);
    assert!(is_old(token(&both).await?));
    steps.switch_closed(&closed).await?;
    let last = token(&other).await?;
    assert!(!is_old(last));
    assert!(token(&both).await? > last);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_migration_that_was_cancelled_refuses_when_the_proof_has_ended() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    token(&both).await?;
    stores.steps()?.cancel().await?;
    tokio::time::advance(Migration::READ_VALID).await;
    let cancelled = both.try_acquire("a").await;
    assert_eq!(
        refused(cancelled, "was cancelled"),
        ErrorKind::InvalidConfig
    );
    Ok(())
}
