//! dlock, with the settings that it has by default.

use async_trait::async_trait;
use dlock::{Guard, Locker};

use super::client::{Client, Lock, not_held};
use crate::failure::Failure;

pub(super) struct Dlock(Locker);

struct Held {
    locker: Locker,
    name: String,
    guard: Option<Guard>,
}

impl Dlock {
    pub(super) async fn connect(url: &str) -> Result<Self, Failure> {
        Ok(Self(dlock::connect(url).await?))
    }
}

#[async_trait]
impl Client for Dlock {
    async fn lock(&self, name: &str) -> Result<Box<dyn Lock>, Failure> {
        Ok(Box::new(Held {
            locker: self.0.clone(),
            name: name.to_owned(),
            guard: None,
        }))
    }
}

#[async_trait]
impl Lock for Held {
    async fn acquire(&mut self) -> Result<(), Failure> {
        self.guard = Some(self.locker.acquire(&*self.name).await?);
        Ok(())
    }

    async fn release(&mut self) -> Result<(), Failure> {
        let guard = self.guard.take().ok_or_else(not_held)?;
        Ok(guard.release().await?)
    }

    fn rename(&mut self, name: String) {
        self.name = name;
    }
}
