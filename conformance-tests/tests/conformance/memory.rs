//! `memory:`.

use async_trait::async_trait;
use conformance_tests::{Backdoor, Extra, Target};
use dlock_core::{
    Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock, memory::Memory,
    toolkit::Lock,
};

/// One store for each case; its address is its number.
#[derive(Debug, Default)]
pub(super) struct MemoryTarget(Lock<Vec<Memory>>);

impl MemoryTarget {
    fn client(&self, address: &str) -> Result<Memory> {
        let stores = self.0.lock();
        let number = address
            .strip_prefix("memory:")
            .and_then(|number| number.parse().ok());
        let store = number.and_then(|number: usize| stores.get(number)).cloned();
        store
            .ok_or_else(|| Error::new(ErrorKind::InvalidConfig, format!("no store at {address:?}")))
    }
}

#[async_trait]
impl Target for MemoryTarget {
    fn name(&self) -> &str {
        "memory"
    }

    fn capabilities(&self) -> Capabilities {
        Memory::new().capabilities()
    }

    async fn address(&self) -> Result<String> {
        let mut stores = self.0.lock();
        stores.push(Memory::new());
        Ok(format!("memory:{}", stores.len() - 1))
    }

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
        Ok(Box::new(self.client(address)?))
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }

    fn extras(&self) -> &[Extra] {
        &[Extra::DataLoss]
    }
}

#[async_trait]
impl Backdoor for MemoryTarget {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        self.client(address)?.expire(name.as_str());
        Ok(())
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        Ok(self
            .client(address)?
            .names()
            .iter()
            .map(ToString::to_string)
            .collect())
    }

    async fn lose_data(&self, address: &str) -> Result<()> {
        let store = self.client(address)?;
        for name in store.names() {
            store.expire(name.as_str());
        }
        Ok(())
    }
}
