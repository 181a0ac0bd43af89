//! The suite on every backend of the workspace.

mod etcd;
mod file;
mod memory;
mod migrate;
mod mysql;
mod quorum;
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
    for (name, is_switched) in [
        ("migrate-redis-etcd-before", false),
        ("migrate-redis-etcd-after", true),
    ] {
        let (old, new) = (redis::Redis::newest(), etcd::Etcd::newest());
        let store = migrate::Migrate::new(name, old, new, is_switched);
        targets.push(Arc::new(Started::new(store)));
    }
    let quorum = quorum::Quorum::new("quorum-redis-2-of-3", 3);
    targets.push(Arc::new(Started::new(quorum)));
    Ok(conformance_tests::main(targets))
}
