//! Steps that are refused say what was given, and what to do next.

use dlock_core::{
    AttemptId, ErrorKind, Result,
    backend::MigrationStage,
    config::Config,
    memory::{Fault, Memory, Operation},
};
use dlock_layers::migrate::{MigrateLock, Steps, Store, read_records};

use crate::support::{Stores, TOKEN_BASE, record, refused, registry, set};

const INVALID: ErrorKind = ErrorKind::InvalidConfig;

fn swapped(stores: &Stores) -> Result<Steps> {
    let (old, new) = stores.sides();
    Steps::new(new, old, "etcd://etcd-1", "redis://db-1")
}

#[tokio::test(start_paused = true)]
async fn urls_that_are_swapped() -> Result<()> {
    const WHY: &str = "the URLs are swapped: the locks move from redis://db-1 to etcd://etcd-1";
    let stores = Stores::started().await?;
    for _ in 0..2 {
        assert_eq!(refused(swapped(&stores)?.switch().await, WHY), INVALID);
        assert_eq!(refused(swapped(&stores)?.close().await, WHY), INVALID);
        assert_eq!(refused(swapped(&stores)?.cancel().await, WHY), INVALID);
        let (old, new) = stores.sides();
        let opened = MigrateLock::open(new, old).await;
        assert_eq!(refused(opened, "from= and to= are swapped"), INVALID);
        stores.steps()?.switch().await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_store_of_another_migration_says_since_when_and_how_to_end_it() -> Result<()> {
    let stores = Stores::started().await?;
    let (old, _) = stores.sides();
    let other = Store::new(Memory::new(), TOKEN_BASE);
    let started = Steps::new(old, other, "redis://db-1", "etcd://other")?
        .start()
        .await;
    let error = started.expect_err("it is in a migration").to_string();
    // A year, not a process.
    assert!(error.contains(": leaving since 20"), "{error}");
    assert!(error.contains(", with etcd://etcd-1; "), "{error}");
    assert!(
        error.contains("\"dlock migrate switch\" or \"cancel\""),
        "{error}"
    );
    Ok(())
}

/// An opening with these records, the new store's being none for `None`.
async fn opened(old: MigrationStage, new: Option<MigrationStage>) -> Result<MigrateLock> {
    let stores = Stores::new();
    let id = AttemptId::from_u128(1);
    set(&stores.old, &record(old, id)).await?;
    if let Some(new) = new {
        set(&stores.new, &record(new, id)).await?;
    }
    let (old, new) = stores.sides();
    MigrateLock::open(old, new).await
}

#[tokio::test(start_paused = true)]
async fn an_opening_says_which_step_is_next() {
    use MigrationStage::{Arriving, Cancelled, Closed, Leaving, Left};
    const SWITCH: &str = "run \"dlock migrate switch FROM TO\" again";
    const USE_OLD: &str = "was cancelled: use the URL in from= alone";
    for (old, new, why) in [
        (Closed, None, SWITCH),
        (Left, None, SWITCH),
        (Left, Some(Arriving), SWITCH),
        (Leaving, None, "run \"dlock migrate start FROM TO\" again"),
        (Cancelled, Some(Cancelled), USE_OLD),
        (Closed, Some(Cancelled), USE_OLD),
    ] {
        assert_eq!(refused(opened(old, new).await, why), INVALID);
    }
}

#[tokio::test(start_paused = true)]
async fn records_are_read_while_one_store_is_down() -> Result<()> {
    let stores = Stores::started().await?;
    let url = Config::from_url("migrate:?from=old:&to=new:%3Ftoken_base=1000000")?;
    stores.old.inject(Operation::Migrate, Fault::LoseRequest);
    let records = read_records(&registry(&stores), &url).await?;
    assert_eq!(refused(records.old, "injected"), ErrorKind::Unavailable);
    let stage = records.new?.map(|new| new.stage);
    assert_eq!(stage, Some(MigrationStage::Arriving));
    Ok(())
}
