//! The stores, with the faults that only they have.
//!
//! **A store** is a folder or file here. It implements [`Store`], which starts servers of `dlock-servers`, and
//! [`Target`](dlock_verify::chaos::Target), which says how they are reached. It has a line in [`all`].
//!
//! **A fault** of servers that any store may have is in `faults/`; it gets the store's
//! [`Servers`](crate::servers::Servers). One that only this store has is a type in its folder with a handle to the
//! servers. It implements [`Fault`](dlock_verify::chaos::Fault), and the store's
//! [`Target::faults`](dlock_verify::chaos::Target::faults) lists it.
//! Mind that another fault may be on: a server that is down is not an error, and a process that it stopped is resumed.
//! If the fault breaks a promise by a declared exception, it is [`alone`](dlock_verify::chaos::Fault::alone) and has a
//! row in `dlock-verify/exceptions.toml`.

mod etcd;
mod file;
mod migrate;
mod mysql;
mod quorum;
mod redis;
mod store;
mod zk;

pub(crate) use self::store::{Started, Store, connect};

/// The names of all stores.
pub(crate) fn names() -> Vec<&'static str> {
    all().iter().map(|store| store.name()).collect()
}

/// All stores, the slow ones first; one more is a line here.
pub(crate) fn all() -> Vec<Box<dyn Store>> {
    vec![
        Box::new(mysql::Sql::MySql),
        Box::new(mysql::Sql::MariaDb),
        Box::new(etcd::Etcd),
        Box::new(zk::Zk),
        Box::new(migrate::Migrate(migrate::Moment::BeforeSwitch)),
        Box::new(migrate::Migrate(migrate::Moment::AfterSwitch)),
        Box::new(quorum::Quorum),
        Box::new(redis::Redis),
        Box::new(redis::Guarded::Yes),
        Box::new(redis::Guarded::No),
        Box::new(file::File),
    ]
}
