//! The suite on every backend of the workspace.

mod etcd;
mod file;
mod memory;
mod redis;

use std::{process::ExitCode, sync::Arc};

use conformance_tests::{Target, servers};

fn main() -> dlock_core::Result<ExitCode> {
    let mut targets: Vec<Arc<dyn Target>> = vec![
        Arc::new(memory::MemoryTarget::default()),
        Arc::new(file::FileTarget::new()?),
    ];
    for flavour in servers::redis::Flavour::ALL {
        targets.push(Arc::new(redis::RedisTarget::new(flavour)));
    }
    for flavour in servers::etcd::Flavour::ALL {
        targets.push(Arc::new(etcd::EtcdTarget::new(flavour)));
    }
    Ok(conformance_tests::main(targets))
}
