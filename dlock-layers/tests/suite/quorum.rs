//! Quorums of memories.

use std::sync::Arc;

use async_trait::async_trait;
use conformance_tests::{Backdoor, Target};
use dlock_core::{
    Capabilities, Error, ErrorKind, LockName, Result, backend::DistributedLock, memory::Memory,
    toolkit::Lock,
};
use dlock_layers::quorum::{Node, QuorumLock, QuorumOptions, capabilities};

#[derive(Debug)]
struct Quorum {
    name: &'static str,
    nodes: usize,
    need: usize,
    /// The nodes of each address.
    stores: Lock<Vec<Vec<Memory>>>,
}

/// All targets.
pub(crate) fn targets() -> Vec<Arc<dyn Target>> {
    [
        ("quorum-2-of-3", 3, 2),
        ("quorum-3-of-3", 3, 3),
        ("quorum-3-of-5", 5, 3),
    ]
    .into_iter()
    .map(|(name, nodes, need)| -> Arc<dyn Target> {
        Arc::new(Quorum {
            name,
            nodes,
            need,
            stores: Lock::default(),
        })
    })
    .collect()
}

impl Quorum {
    fn stores(&self, address: &str) -> Result<Vec<Memory>> {
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
impl Target for Quorum {
    fn name(&self) -> &str {
        self.name
    }

    fn capabilities(&self) -> Capabilities {
        capabilities(&vec![Memory::new().capabilities(); self.nodes], true)
    }

    async fn address(&self) -> Result<String> {
        let mut all = self.stores.lock();
        all.push((0..self.nodes).map(|_| Memory::new()).collect());
        Ok((all.len() - 1).to_string())
    }

    async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
        let nodes = self.stores(address)?.into_iter().map(Node::new);
        let options = QuorumOptions::new().need(self.need);
        Ok(Box::new(QuorumLock::open(nodes, &options).await?))
    }

    fn backdoor(&self) -> Option<&dyn Backdoor> {
        Some(self)
    }
}

#[async_trait]
impl Backdoor for Quorum {
    async fn remove(&self, address: &str, name: &LockName) -> Result<()> {
        for store in self.stores(address)? {
            store.expire(name.as_str());
        }
        Ok(())
    }

    async fn residue(&self, address: &str) -> Result<Vec<String>> {
        let stores = self.stores(address)?;
        let names = stores.iter().flat_map(Memory::names);
        Ok(names.map(|name| name.to_string()).collect())
    }
}
