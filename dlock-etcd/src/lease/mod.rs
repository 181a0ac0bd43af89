//! etcd leases: shared by the keys of many attempts, and kept alive.
//!
//! *Lease* alone is dlock's word for a grant, so etcd's is an [`EtcdLease`](etcd_lease::EtcdLease).

pub(crate) mod attached;
pub(crate) mod etcd_lease;
mod keepalive;
pub(crate) mod lease_ref;
pub(crate) mod poll_watchdog;
pub(crate) mod pool;
mod rpc;
pub(crate) mod users;
