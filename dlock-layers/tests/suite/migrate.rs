//! A migration over memories, before and after the switch.

use std::sync::Arc;

use async_trait::async_trait;
use conformance_tests::{Backdoor, Target};
use dlock_core::{
    Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock, memory::Memory,
    toolkit::Lock,
};
use dlock_layers::migrate::{MigrateLock, Steps, Store, capabilities};

/// Above every token that a case takes from the old store.
const TOKEN_BASE: u64 = 1 << 40;

/// The two stores of a case.
#[derive(Clone, Debug)]
struct Stores {
    old: Memory,
    new: Memory,
}

impl Stores {
    fn sides(&self) -> (Store, Store) {
        let old = Store::new(self.old.clone(), 0);
        (old, Store::new(self.new.clone(), TOKEN_BASE))
    }

    fn steps(&self) -> Result<Steps> {
        let (old, new) = self.sides();
        Steps::new(old, new, "memory:1", "memory:2")
    }
}

#[derive(Debug)]
struct Migration {
    name: &'static str,
    is_switched: bool,
    stores: Lock<Vec<Stores>>,
}

/// Both targets.
pub(crate) fn targets() -> Vec<Arc<dyn Target>> {
    vec![
        Migration::target("migrate-before", false),
        Migration::target("migrate-after", true),
    ]
}

impl Migration {
    fn target(name: &'static str, is_switched: bool) -> Arc<dyn Target> {
        Arc::new(Self {
            name,
            is_switched,
            stores: Lock::default(),
        })
    }

    fn stores(&self, address: &str) -> Result<Stores> {
        let stores = self.stores.lock();
        let found = address
            .parse()
            .ok()
            .and_then(|index: usize| stores.get(index).cloned());
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::InvalidConfig,
                format!("no stores at {address:?}"),
            )
        })
    }
}

#[async_trait]
impl Target for Migration {
    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        let memory = Memory::new().capabilities();
        capabilities(&memory, &memory)
    }

    async fn address(&self) -> Result<String> {
        let stores = Stores {
            old: Memory::new(),
            new: Memory::new(),
        };
        let steps = stores.steps()?;
        steps.start().await?;
        if self.is_switched {
            let closed = steps.close().await?;
            steps.switch_closed(&closed).await?;
        }
        let mut all = self.stores.lock();
        all.push(stores);
        Ok((all.len() - 1).to_string())
    }

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
        let (old, new) = self.stores(address)?.sides();
        Ok(Box::new(MigrateLock::open(old, new).await?))
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }
}

#[async_trait]
impl Backdoor for Migration {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        let stores = self.stores(address)?;
        stores.old.expire(name.as_str());
        stores.new.expire(name.as_str());
        Ok(())
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let Stores { old, new } = self.stores(address)?;
        let names = old.names().into_iter().chain(new.names());
        Ok(names.map(|name| name.to_string()).collect())
    }
}
