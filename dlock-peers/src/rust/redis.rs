//! rslock, with its own defaults.

use std::time::Duration;

use async_trait::async_trait;
use rslock::{LockGuard, LockManager};

use super::client::{Client, Lock, not_held, without_keys};
use crate::failure::Failure;

/// dlock's default.
const TTL: Duration = Duration::from_secs(30);

pub(super) struct Rslock(LockManager);

struct Held {
    manager: LockManager,
    name: String,
    guard: Option<LockGuard>,
}

impl Rslock {
    /// Makes the client, which connects with its first request.
    pub(super) fn connect(url: &str) -> Self {
        Self(LockManager::new(vec![without_keys(url)]))
    }
}

#[async_trait]
impl Client for Rslock {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        Ok(Box::new(Held {
            manager: self.0.clone(),
            name: name.to_owned(),
            guard: None,
        }))
    }
}

#[async_trait]
impl Lock for Held {
    async fn acquire(&mut self) -> Result<(), Failure> {
        self.guard = Some(self.manager.acquire(self.name.as_str(), TTL).await?);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        self.guard.take().ok_or_else(not_held)?.release().await;
        Ok(())
    }

    fn rename(&mut self, name: String) {
        self.name = name;
    }
}
