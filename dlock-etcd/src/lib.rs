//! Locks in etcd.
