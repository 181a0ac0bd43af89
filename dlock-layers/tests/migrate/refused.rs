//! Refusals: of stores that are not in a migration, and of stores that must not be used alone.

use dlock_core::{
    ErrorKind, Result,
    config::{Config, Registry},
    memory::Memory,
};
use dlock_layers::migrate::{MigrateLock, Steps, Store};

use crate::support::{Stores, TOKEN_BASE, refused, registry};

async fn open(old: &Memory, new: &Memory) -> Result<MigrateLock> {
    let (old, new) = (
        Store::new(old.clone(), 0),
        Store::new(new.clone(), TOKEN_BASE),
    );
    MigrateLock::open(old, new).await
}

#[tokio::test(start_paused = true)]
async fn stores_that_are_not_in_one_migration() -> Result<()> {
    let invalid = ErrorKind::InvalidConfig;
    let stores = Stores::new();
    let Stores { old, new } = &stores;
    assert_eq!(
        refused(open(old, new).await, "no migration from this store"),
        invalid
    );
    stores.steps()?.start().await?;
    assert!(open(old, new).await.is_ok());
    let (other, nothing) = (Stores::started().await?, Memory::new());
    assert_eq!(
        refused(
            open(old, &nothing).await,
            "its start was cut off, or its URL has another prefix="
        ),
        invalid
    );
    assert_eq!(
        refused(open(old, &other.new).await, "not the two stores of one"),
        invalid
    );
    assert_eq!(
        refused(open(new, old).await, "from= and to= are swapped"),
        invalid
    );
    stores.steps()?.cancel().await?;
    assert_eq!(
        refused(
            open(old, new).await,
            "was cancelled: use the URL in from= alone"
        ),
        invalid
    );
    Ok(())
}

async fn connect(registry: &Registry, url: &str) -> Result<()> {
    registry.connect(&Config::from_url(url)?).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_store_that_must_not_be_used_alone() -> Result<()> {
    const BOTH: &str = "migrate:?from=old:&to=new:%3Ftoken_base=1000000";
    let invalid = ErrorKind::InvalidConfig;
    let stores = Stores::new();
    let registry = registry(&stores);
    connect(&registry, "old:").await?;
    connect(&registry, "new:").await?;
    stores.steps()?.start().await?;
    connect(&registry, "old:").await?;
    let early = connect(&registry, "new:").await;
    assert_eq!(
        refused(early, "move to this store from redis://db-1"),
        invalid
    );
    connect(&registry, BOTH).await?;
    stores.steps()?.switch().await?;
    let late = connect(&registry, "old:").await;
    assert_eq!(refused(late, "have moved to etcd://etcd-1"), invalid);
    let small = connect(&registry, "new:?token_base=999999").await;
    assert_eq!(refused(small, "use token_base=1000000"), invalid);
    connect(&registry, "new:?token_base=1000000").await?;
    connect(&registry, BOTH).await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn another_token_base_than_that_of_the_migration() -> Result<()> {
    let invalid = ErrorKind::InvalidConfig;
    let stores = Stores::started().await?;
    let with = |base| {
        let old = Store::new(stores.old.clone(), 0);
        (old, Store::new(stores.new.clone(), base))
    };
    for base in [TOKEN_BASE - 1, TOKEN_BASE + 1] {
        let says = format!("begun with token_base={TOKEN_BASE}");
        let (old, new) = with(base);
        assert_eq!(refused(MigrateLock::open(old, new).await, &says), invalid);
        let (old, new) = with(base);
        let steps = Steps::new(old, new, "redis://db-1", "etcd://etcd-1")?;
        assert_eq!(refused(steps.start().await, &says), invalid);
        assert_eq!(refused(steps.close().await, &says), invalid);
        assert_eq!(refused(steps.switch().await, &says), invalid);
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn settings_that_are_wrong() -> Result<()> {
    let registry = registry(&Stores::started().await?);
    for (url, why) in [
        ("migrate:", "from= is missing"),
        ("migrate:?from=old:", "to= is missing"),
        ("migrate:?from=old:&to=nwe:", "unknown scheme \"nwe\""),
        ("migrate:?from=old:&to=old:", "the same store"),
        ("migrate:?from=old:%3Fttl=1&to=new:", "ttl"),
        (
            "migrate:?from=old:%3Ftll=1s&to=new:",
            "did you mean \"ttl\"?",
        ),
        (
            "migrate:?from=old:&to=new:&token_base=7",
            "token_base belongs to the stores",
        ),
        ("migrate:?from=old:&to=new:&too=new:", "unknown key \"too\""),
        (
            "migrate:?from=migrate:&to=new:",
            "from=migrate: is a migration itself; end that one first",
        ),
        (
            "migrate:?from=old:&to=migrate:",
            "to=migrate: is a migration itself",
        ),
        (
            "migrate:?from=old:&to=redis-quorum://a,b,c",
            "keeps no record of a migration; its programs have to be stopped",
        ),
    ] {
        let config = Config::from_url(url)?;
        assert_eq!(
            refused(registry.check(&config), why),
            ErrorKind::InvalidConfig,
            "{url}"
        );
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_ttl_is_that_of_the_new_store() -> Result<()> {
    let registry = registry(&Stores::started().await?);
    let to = "to=new:%3Fttl=10s%26token_base=1000000";
    let of_new = ttl(&registry, &format!("migrate:?from=old:%3Fttl=20s&{to}")).await?;
    assert!((9.0..10.0).contains(&of_new));
    let own = ttl(&registry, &format!("migrate:?from=old:&ttl=5s&{to}")).await?;
    assert!((4.0..5.0).contains(&own));
    Ok(())
}

/// The time that is left of a lock at its grant, in seconds.
async fn ttl(registry: &Registry, url: &str) -> Result<f64> {
    let locks = registry.connect(&Config::from_url(url)?).await?;
    let guard = locks.acquire("a").no_renewal().await?;
    let left = guard.remaining().as_secs_f64();
    guard.release().await?;
    Ok(left)
}
