//! The record of a migration in a memory store.

use async_trait::async_trait;

use super::{Memory, faults::Operation};
use crate::{backend::migration::MigrationRecord, base::error::Result};

#[async_trait]
impl MigrationRecord for Memory {
    async fn read(&self) -> Result<Option<String>> {
        self.check_open()?;
        let reply = self.faults.apply_uncancelled(Operation::Migrate).await?;
        reply.deliver(Ok(self.store.migration()))
    }

    async fn compare_and_set(&self, expected: Option<&str>, next: &str) -> Result<bool> {
        self.check_open()?;
        let reply = self.faults.apply_uncancelled(Operation::Migrate).await?;
        reply.deliver(Ok(self.store.set_migration(expected, next)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{base::error::Effect, memory::Fault};

    #[tokio::test]
    async fn the_record_changes_only_from_what_is_expected() -> Result<()> {
        let store = Memory::new();
        assert_eq!(store.read().await?, None);
        assert!(!store.compare_and_set(Some("a"), "b").await?);
        assert!(store.compare_and_set(None, "a").await?);
        assert!(!store.compare_and_set(None, "b").await?);
        assert!(store.clone().compare_and_set(Some("a"), "b").await?);
        assert_eq!(store.read().await?.as_deref(), Some("b"));
        assert!(store.names().is_empty(), "it is no lock");
        Ok(())
    }

    #[tokio::test]
    async fn a_change_whose_reply_is_lost_is_unknown() -> Result<()> {
        let store = Memory::new();
        store.inject_once(Operation::Migrate, Fault::LoseReply);
        let lost = store
            .compare_and_set(None, "a")
            .await
            .expect_err("no reply");
        assert_eq!(lost.effect(), Effect::Unknown);
        assert_eq!(store.read().await?.as_deref(), Some("a"));
        Ok(())
    }
}
