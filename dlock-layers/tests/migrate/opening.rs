//! Opening both stores while one of them is down.

use std::time::Duration;

use dlock_core::{
    Error, ErrorKind, Result,
    config::{Config, ConnectFuture, Registry},
    memory::{Fault, Operation},
};

use crate::support::{Stores, TOKEN_BASE, alone, refused, registry};

fn both(token_base: u64) -> Result<Config> {
    Config::from_url(&format!(
        "migrate:?from=old:&to=new:%3Ftoken_base={token_base}"
    ))
}

/// The registry of `stores`, in which the one with the scheme `down` cannot be reached.
fn without(down: &'static str, stores: &Stores) -> Registry {
    let alone = alone(stores).register(down, |_| {
        let opening: ConnectFuture =
            Box::pin(async { Err(Error::new(ErrorKind::Unavailable, "it is down")) });
        Ok(opening)
    });
    dlock_layers::register(alone)
}

#[tokio::test(start_paused = true)]
async fn after_the_switch_the_old_store_need_not_be_there() -> Result<()> {
    let stores = Stores::started().await?;
    let registry = without("old", &stores);
    let early = registry.connect(&both(TOKEN_BASE)?).await;
    assert_eq!(refused(early, "it is down"), ErrorKind::Unavailable);
    stores.steps()?.switch().await?;
    let other_base = registry.connect(&both(TOKEN_BASE + 1)?).await;
    assert_eq!(
        refused(other_base, "begun with token_base=1000000"),
        ErrorKind::InvalidConfig
    );
    let locks = registry.connect(&both(TOKEN_BASE)?).await?;
    let guard = locks.acquire("a").await?;
    assert!(guard.token().get() > TOKEN_BASE);
    assert!(stores.new_alone()?.try_acquire("a").await?.is_none());
    guard.renew().await?;
    guard.release().await?;
    assert!(stores.are_empty());
    locks.shutdown(Duration::from_secs(1)).await
}

#[tokio::test(start_paused = true)]
async fn a_record_of_the_old_store_that_cannot_be_read_is_one_that_is_not_there() -> Result<()> {
    let stores = Stores::started().await?;
    let registry = registry(&stores);
    stores.old.inject(Operation::Migrate, Fault::LoseRequest);
    let early = registry.connect(&both(TOKEN_BASE)?).await;
    assert_eq!(refused(early, "injected"), ErrorKind::Unavailable);
    stores.old.clear_faults();
    stores.steps()?.switch().await?;
    stores.old.inject(Operation::Migrate, Fault::LoseRequest);
    let locks = registry.connect(&both(TOKEN_BASE)?).await?;
    locks.acquire("a").await?.release().await?;
    // Without its record no store counts.
    stores.new.inject(Operation::Migrate, Fault::LoseRequest);
    let neither = registry.connect(&both(TOKEN_BASE)?).await;
    assert_eq!(refused(neither, "injected"), ErrorKind::Unavailable);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_new_store_is_always_needed() -> Result<()> {
    let stores = Stores::started().await?;
    stores.steps()?.switch().await?;
    let refusal = without("new", &stores).connect(&both(TOKEN_BASE)?).await;
    assert_eq!(refused(refusal, "it is down"), ErrorKind::Unavailable);
    Ok(())
}
