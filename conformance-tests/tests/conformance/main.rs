//! The suite on every backend of the workspace.

mod etcd;
mod file;
mod memory;
mod mysql;
mod redis;
mod zk;

use std::{process::ExitCode, sync::Arc};

use conformance_tests::{Target, servers};

fn main() -> dlock_core::Result<ExitCode> {
    let mut targets: Vec<Arc<dyn Target>> = vec![
        Arc::new(memory::MemoryTarget::default()),
        Arc::new(file::FileTarget::new()?),
    ];
    for target in redis::RedisTarget::all() {
        targets.push(Arc::new(target));
    }
    for flavour in servers::etcd::Flavour::ALL {
        targets.push(Arc::new(etcd::EtcdTarget::new(flavour)));
    }
    for target in zk::ZkTarget::all() {
        targets.push(Arc::new(target));
    }
    for flavour in servers::mysql::Flavour::ALL {
        targets.push(Arc::new(mysql::MySqlTarget::new(flavour)));
    }
    Ok(conformance_tests::main(targets))
}
