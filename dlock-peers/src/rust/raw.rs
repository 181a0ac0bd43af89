//! The driver alone, which dlock's own measurements have, too.

use async_trait::async_trait;
use dlock_core::config::Config;
use dlock_raw::baseline::{self, Cycle, Floor};

use super::client::{Client, Lock};
use crate::failure::Failure;

pub(super) struct Raw(Box<dyn Floor>);

/// A lock whose acquire is the whole cycle: the driver has none that could be held.
struct Whole(Box<dyn Cycle>);

impl Raw {
    pub(super) async fn connect(url: &str) -> Result<Self, Failure> {
        let config: Config = url.parse()?;
        let found = baseline::open(&config).await?;
        Ok(Self(found.floor.ok_or("the store has no driver")?))
    }
}

#[async_trait]
impl Client for Raw {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        Ok(Box::new(Whole(self.0.task(name))))
    }
}

#[async_trait]
impl Lock for Whole {
    async fn acquire(&mut self) -> Result<(), Failure> {
        Ok(self.0.cycle().await?)
    }

    async fn release(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}
