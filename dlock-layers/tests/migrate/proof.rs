//! A reading that found the old store open, and no switch, is a proof for 30 s that the old store's locks count.

use std::time::Duration;

use dlock_core::{
    Clock, ErrorKind, Locker, Result, Token,
    backend::{Migration, MigrationRecord as _, MigrationStage},
    memory::{Fault, Operation},
};

use crate::support::{Stores, TOKEN_BASE, record, refused, set};

/// Less than a reading may take.
const MOMENT: Duration = Duration::from_secs(1);

async fn token(locks: &Locker) -> Result<Token> {
    let guard = locks.acquire("a").await?;
    let token = guard.token();
    guard.release().await?;
    Ok(token)
}

fn is_old(token: Token) -> bool {
    token.get() < TOKEN_BASE
}

/// Readings of both records have this fault from now on.
fn inject(stores: &Stores, fault: Fault) {
    for store in [&stores.old, &stores.new] {
        store.inject(Operation::Migrate, fault);
    }
}

/// No grant is possible without a record.
async fn needs_a_record(locks: &Locker) {
    let unread = locks.try_acquire("a").await;
    assert_eq!(refused(unread, ""), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn no_acquire_needs_a_record_while_the_proof_lasts() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    inject(&stores, Fault::LoseRequest);
    tokio::time::advance(Migration::READ_VALID - MOMENT).await;
    assert!(is_old(token(&both).await?));
    tokio::time::advance(MOMENT).await;
    needs_a_record(&both).await;
    stores.new.clear_faults();
    let read = token(&both).await?;
    assert!(is_old(read), "the old store's record need not be readable");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_proof_is_renewed_before_its_end() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    for _ in 0..12 {
        tokio::time::sleep(Migration::READ_VALID / 4).await;
        inject(&stores, Fault::Stall);
        let found = tokio::time::timeout(MOMENT, token(&both)).await;
        assert!(is_old(found.expect("no reading is waited for")?));
        stores.old.clear_faults();
        stores.new.clear_faults();
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn no_acquire_waits_for_the_renewal_of_the_proof() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both_without_proof().await?;
    stores.old.inject(Operation::Migrate, Fault::Stall);
    let clock = Clock::pausable();
    let before = clock.now();
    assert!(is_old(token(&both).await?));
    assert_eq!(clock.now(), before);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_proof_counts_from_the_request() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both_without_proof().await?;
    stores.old.inject_once(Operation::Migrate, Fault::Stall);
    token(&both).await?;
    tokio::time::sleep(MOMENT).await;
    stores.old.clear_faults();
    // The reading has ended.
    tokio::time::sleep(MOMENT).await;
    inject(&stores, Fault::LoseRequest);
    token(&both).await?;
    tokio::time::advance(Migration::READ_VALID - MOMENT * 2).await;
    needs_a_record(&both).await;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn after_a_reading_that_failed_there_is_none_for_a_while() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both_without_proof().await?;
    stores
        .old
        .inject_once(Operation::Migrate, Fault::LoseRequest);
    for _ in 0..3 {
        token(&both).await?;
        tokio::time::sleep(MOMENT).await;
    }
    inject(&stores, Fault::LoseRequest);
    needs_a_record(&both).await;
    Ok(())
}

/// Also while the old store shows an earlier record, such as a former primary, which a program is cut off with.
#[tokio::test(start_paused = true)]
async fn the_switch_is_found_by_the_renewal_of_the_proof() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let earlier = stores.old.read().await?.expect("a record").parse()?;
    tokio::time::advance(Migration::READ_VALID - MOMENT).await;
    let closed = stores.steps()?.close().await?;
    stores.steps()?.switch_closed(&closed).await?;
    set(&stores.old, &earlier).await?;
    // This switch has not waited, so the proof from the start still counts.
    assert!(is_old(token(&both).await?));
    tokio::time::sleep(MOMENT).await;
    assert!(!is_old(token(&both).await?));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn without_the_record_of_the_new_store_no_proof_is_renewed() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    stores.new.inject(Operation::Migrate, Fault::LoseRequest);
    for _ in 0..4 {
        tokio::time::sleep(Migration::READ_VALID / 4 - MOMENT).await;
        token(&both).await?;
    }
    tokio::time::sleep(MOMENT * 4).await;
    needs_a_record(&both).await;
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
    for is_another_begun in [false, true] {
        tokio::time::sleep(Migration::READ_VALID).await;
        let over = both.try_acquire("a").await;
        assert_eq!(refused(over, ""), ErrorKind::InvalidConfig);
        // The reading that this one has begun.
        tokio::time::sleep(MOMENT).await;
        let over = both.try_acquire("a").await;
        assert_eq!(refused(over, ""), ErrorKind::InvalidConfig);
        if !is_another_begun {
            stores.steps()?.start().await?;
        }
    }
    Ok(())
}

/// After its first write, in the new store.
#[tokio::test(start_paused = true)]
async fn a_cancel_that_was_cut_off_refuses_when_the_proof_has_ended() -> Result<()> {
    let stores = Stores::started().await?;
    let both = stores.both().await?;
    let id = stores.steps()?.start().await?;
    set(&stores.new, &record(MigrationStage::Cancelled, id)).await?;
    for _ in 0..3 {
        tokio::time::sleep(Migration::READ_VALID / 4).await;
        assert!(is_old(token(&both).await?));
    }
    tokio::time::sleep(Migration::READ_VALID / 4).await;
    let over = both.try_acquire("a").await;
    assert_eq!(refused(over, "was cancelled"), ErrorKind::InvalidConfig);
    Ok(())
}
