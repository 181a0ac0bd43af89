//! The suite on every backend of the workspace.

mod etcd;
mod file;
mod memory;
mod migrate;
mod mixed;
mod mysql;
mod quorum;
mod redis;
mod store;
mod zk;

use std::{env, process::ExitCode, sync::Arc};

use conformance_tests::Target;
use dlock_servers::mysql::Flavour;

use crate::{
    migrate::Migrate,
    mixed::Mixed,
    store::{Started, Store},
};

/// Adds groups of older servers, migrations between more stores and further quorums, if it is set. `cargo xtask nightly`
/// sets it.
const ALL_TARGETS: &str = "DLOCK_TEST_ALL_TARGETS";

fn main() -> dlock_core::Result<ExitCode> {
    let has_all = env::var_os(ALL_TARGETS).is_some();
    let mut targets: Vec<Arc<dyn Target>> = vec![
        Arc::new(memory::MemoryTarget::default()),
        Arc::new(file::FileTarget::new()?),
    ];
    for store in redis::Redis::all().filter(|store| has_all || store.is_in_every_run()) {
        targets.push(Arc::new(Started::new(store)));
    }
    for store in etcd::Etcd::all() {
        targets.push(Arc::new(Started::new(store)));
    }
    for store in zk::Zk::all().filter(|store| has_all || store.is_in_every_run()) {
        targets.push(Arc::new(Started::new(store)));
    }
    for flavour in Flavour::ALL {
        targets.push(Arc::new(Started::new(mysql::MySql::new(flavour))));
    }
    pair(
        "redis-etcd",
        redis::Redis::newest,
        etcd::Etcd::newest,
        &mut targets,
    );
    if has_all {
        pair(
            "redis-zk",
            redis::Redis::newest,
            zk::Zk::newest,
            &mut targets,
        );
        let mysql = || mysql::MySql::new(Flavour::MySqlNewest);
        pair("redis-mysql", redis::Redis::newest, mysql, &mut targets);
        pair("mysql-redis", mysql, redis::Redis::newest, &mut targets);
        let mariadb = || mysql::MySql::new(Flavour::MariaDbStable);
        pair("mariadb-redis", mariadb, redis::Redis::newest, &mut targets);
        let files = file::Files::new()?;
        pair(
            "file-redis",
            || files.clone(),
            redis::Redis::newest,
            &mut targets,
        );
    }
    let quorum = quorum::Quorum::new("quorum-redis-2-of-3", 3);
    targets.push(Arc::new(Started::new(quorum)));
    if has_all {
        further_quorums(&mut targets)?;
    }
    Ok(conformance_tests::main(targets))
}

/// A migration from one store to another, before its switch and after it.
fn pair<O: Store, N: Store>(
    name: &str,
    old: impl Fn() -> O,
    new: impl Fn() -> N,
    targets: &mut Vec<Arc<dyn Target>>,
) {
    for (moment, is_switched) in [("before", false), ("after", true)] {
        let name = format!("migrate-{name}-{moment}");
        let store = Migrate::new(name, old(), new(), is_switched);
        targets.push(Arc::new(Started::new(store)));
    }
}

/// More nodes, and nodes of different kinds.
fn further_quorums(targets: &mut Vec<Arc<dyn Target>>) -> dlock_core::Result<()> {
    let (redis, etcd) = (redis::Redis::newest, etcd::Etcd::newest);
    let more = quorum::Quorum::new("quorum-redis-3-of-5", 5);
    targets.push(Arc::new(Started::new(more)));
    let mixed = Mixed::new(
        "quorum-redis-etcd-file",
        (redis(), etcd(), file::Files::new()?),
    );
    targets.push(Arc::new(Started::new(mixed)));
    Ok(())
}
