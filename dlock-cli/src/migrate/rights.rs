//! The rights to lock in both stores, before a migration begins.

use std::time::Duration;

use dlock::{
    ErrorKind, Locker,
    config::{Config, Registry, Settings},
};

use super::probe;
use crate::base::exit::Failure;

/// Refuses stores of which one does not allow its user to lock: programs on `migrate:` need both.
///
/// Takes a lock in each, and releases it. Another error than a refusal is left to `check`: a store may grant nothing for
/// a while.
pub(super) async fn refuse(registry: &Registry, config: &Config) -> Result<(), Failure> {
    let mut settings = Settings::of(config)?;
    for key in ["from", "to"] {
        let Some(store) = settings.take_store(key)? else {
            continue;
        };
        if let Err(error) = lock(registry, &store).await
            && error.kind() == ErrorKind::Denied
        {
            return Err(Failure::usage(format!(
                "programs cannot lock in {store}, so nothing was begun: {error}; grant the right, and start again"
            )));
        }
    }
    Ok(())
}

/// Takes a lock in the store alone, which no migration forbids before its start.
async fn lock(registry: &Registry, store: &Config) -> dlock::Result<()> {
    let (backend, _) = registry.open(store).await?;
    let locker = Locker::builder(backend).build()?;
    probe::take(locker, Duration::ZERO).await
}
