//! etcd leases: shared by the keys of many attempts, and kept alive.

pub(crate) mod attached;
pub(crate) mod etcd_lease;
pub(crate) mod keepalive;
pub(crate) mod poll_watchdog;
pub(crate) mod pool;
pub(crate) mod rpc;
pub(crate) mod users;
