//! An old store that has lost its record after the switch, as an empty Redis has.

use dlock_core::{
    AttemptId, ErrorKind, Result,
    backend::{Migration, MigrationRecord as _, MigrationStage},
    config::Config,
    memory::Memory,
};
use dlock_layers::migrate::{MigrateLock, Steps, Store};

use crate::support::{Stores, TOKEN_BASE, record, refused, registry, set};

const OLD_URL: &str = "redis://db-1";
const NEW_URL: &str = "etcd://etcd-1";

/// Stores after the switch, of which the old one is empty.
async fn lost() -> Result<Stores> {
    let mut stores = Stores::started().await?;
    stores.steps()?.switch().await?;
    stores.old = Memory::new();
    Ok(stores)
}

async fn of_old(stores: &Stores) -> Result<Option<Migration>> {
    Ok(stores.steps()?.status().await?.old)
}

#[tokio::test(start_paused = true)]
async fn a_switch_once_more_writes_it_again() -> Result<()> {
    let stores = lost().await?;
    let alone = || async {
        let url = Config::from_url("old:")?;
        registry(&stores).connect(&url).await.map(drop)
    };
    // It refuses none.
    alone().await?;
    let closed = stores.steps()?.close().await?;
    assert!(closed.wait().is_zero());
    stores.steps()?.switch_closed(&closed).await?;
    let status = stores.steps()?.status().await?;
    let stages = [status.old, status.new].map(|record| record.map(|record| record.stage));
    assert_eq!(
        stages,
        [Some(MigrationStage::Left), Some(MigrationStage::Arrived)]
    );
    let refusal = alone().await;
    assert_eq!(
        refused(refusal, "have moved to etcd://etcd-1"),
        ErrorKind::InvalidConfig
    );
    stores.both().await?.acquire("a").await?.release().await
}

#[tokio::test(start_paused = true)]
async fn an_earlier_record_in_the_new_store_closes_no_old_one() -> Result<()> {
    // The locks are back in the old store, and the new one has a copy of its data from before.
    let stores = Stores::new();
    let back = Migration {
        since_unix_micros: 2,
        ..record(MigrationStage::Arrived, AttemptId::from_u128(2))
    };
    let earlier = Migration {
        other: OLD_URL.to_owned(),
        ..record(MigrationStage::Arrived, AttemptId::from_u128(1))
    };
    set(&stores.old, &back).await?;
    set(&stores.new, &earlier).await?;
    let switched = stores.steps()?.switch().await;
    switched.expect_err("no migration from the old store");
    let stage = of_old(&stores).await?.map(|old| old.stage);
    assert_eq!(stage, Some(MigrationStage::Arrived));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn one_of_an_earlier_migration_is_none() -> Result<()> {
    for stage in [MigrationStage::Cancelled, MigrationStage::Arrived] {
        let stores = lost().await?;
        set(&stores.old, &record(stage, AttemptId::from_u128(1))).await?;
        stores.steps()?.switch().await?;
        let stage = of_old(&stores).await?.map(|old| old.stage);
        assert_eq!(stage, Some(MigrationStage::Left));
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn another_store_or_base_is_refused() -> Result<()> {
    let stores = lost().await?;
    let steps = |url: &str, base: u64| {
        let old = Store::new(stores.old.clone(), 0);
        Steps::new(old, Store::new(stores.new.clone(), base), url, NEW_URL)
    };
    for (url, base, why) in [
        ("redis://db-2", TOKEN_BASE, "come from redis://db-1"),
        (OLD_URL, TOKEN_BASE + 1, "was begun with token_base=1000000"),
    ] {
        let refusal = steps(url, base)?.switch().await;
        assert_eq!(refused(refusal, why), ErrorKind::InvalidConfig);
        assert_eq!(stores.old.read().await?, None);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn before_the_switch_a_cancel_ends_the_migration() -> Result<()> {
    let invalid = ErrorKind::InvalidConfig;
    let mut stores = Stores::started().await?;
    stores.old = Memory::new();
    let (old, new) = stores.sides();
    let opened = MigrateLock::open(old, new).await;
    const CANCEL: &str = "run \"dlock migrate cancel";
    assert_eq!(refused(opened, CANCEL), invalid);
    assert_eq!(refused(stores.steps()?.switch().await, CANCEL), invalid);
    assert_eq!(refused(stores.steps()?.start().await, CANCEL), invalid);
    assert_eq!(of_old(&stores).await?, None);
    let (old, new) = stores.sides();
    let other = Steps::new(old, new, "redis://db-2", NEW_URL)?;
    let refusal = other.cancel().await;
    assert_eq!(refused(refusal, "come from redis://db-1"), invalid);
    stores.steps()?.cancel().await?;
    let new = stores.steps()?.status().await?.new.map(|new| new.stage);
    assert_eq!(new, Some(MigrationStage::Cancelled));
    stores.steps()?.start().await?;
    stores.steps()?.switch().await
}

#[tokio::test(start_paused = true)]
async fn other_steps_lead_to_the_switch() -> Result<()> {
    let stores = lost().await?;
    let invalid = ErrorKind::InvalidConfig;
    let start = stores.steps()?.start().await;
    assert_eq!(
        refused(start, "run \"dlock migrate switch\", once more"),
        invalid
    );
    let cancel = stores.steps()?.cancel().await;
    assert_eq!(refused(cancel, "the switch is done"), invalid);
    let (old, new) = stores.sides();
    let opened = MigrateLock::open(old, new).await;
    assert_eq!(
        refused(opened, "run \"dlock migrate switch FROM TO\" again"),
        ErrorKind::Unavailable
    );
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn programs_start_without_it() -> Result<()> {
    let stores = lost().await?;
    let url = Config::from_url("migrate:?from=old:&to=new:%3Ftoken_base=1000000")?;
    let locks = registry(&stores).connect(&url).await?;
    let guard = locks.acquire("a").await?;
    assert!(guard.token().get() > TOKEN_BASE);
    assert!(stores.old.names().is_empty() && !stores.new.names().is_empty());
    guard.release().await
}
