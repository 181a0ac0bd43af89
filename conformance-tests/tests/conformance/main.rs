//! The suite on every backend of the workspace.

mod etcd;
mod file;
mod memory;
mod mysql;
mod redis;
mod store;
mod zk;

use std::{process::ExitCode, sync::Arc};

use conformance_tests::Target;

use crate::store::Started;

fn main() -> dlock_core::Result<ExitCode> {
    let mut targets: Vec<Arc<dyn Target>> = vec![
        Arc::new(memory::MemoryTarget::default()),
        Arc::new(file::FileTarget::new()?),
    ];
    for store in redis::Redis::all() {
        targets.push(Arc::new(Started::new(store)));
    }
    for store in etcd::Etcd::all() {
        targets.push(Arc::new(Started::new(store)));
    }
    for store in zk::Zk::all() {
        targets.push(Arc::new(Started::new(store)));
    }
    for flavour in dlock_servers::mysql::Flavour::ALL {
        targets.push(Arc::new(Started::new(mysql::MySql::new(flavour))));
    }
    Ok(conformance_tests::main(targets))
}
