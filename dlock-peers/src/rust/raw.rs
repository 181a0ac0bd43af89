//! The driver alone, which dlock's own measurements have, too.

use std::sync::Arc;

use async_trait::async_trait;
use dlock_core::config::Config;
use dlock_raw::baseline::{self, Cycle, Floor, NewName};

use super::client::{Client, Lock};
use crate::failure::Failure;

pub(super) struct Raw(Arc<dyn Floor>);

/// A lock whose acquire is the whole cycle: the driver has none that could be held.
struct Whole {
    floor: Arc<dyn Floor>,
    cycle: Kind,
}

enum Kind {
    Again(Box<dyn Cycle>),
    Once(Box<dyn NewName>, String),
}

impl Raw {
    pub(super) async fn connect(url: &str) -> Result<Self, Failure> {
        let config: Config = url.parse()?;
        let found = baseline::open(&config).await?;
        Ok(Self(found.floor.ok_or("the store has no driver")?.into()))
    }
}

#[async_trait]
impl Client for Raw {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        Ok(Box::new(Whole {
            floor: self.0.clone(),
            cycle: Kind::Again(self.0.task(name)),
        }))
    }
}

#[async_trait]
impl Lock for Whole {
    async fn acquire(&mut self) -> Result<(), Failure> {
        match &mut self.cycle {
            Kind::Again(cycle) => cycle.cycle().await?,
            Kind::Once(cycle, name) => cycle.cycle(name).await?,
        }
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn rename(&mut self, new: String) {
        match &mut self.cycle {
            Kind::Again(_) => self.cycle = Kind::Once(self.floor.new_names(), new),
            Kind::Once(_, name) => *name = new,
        }
    }
}
