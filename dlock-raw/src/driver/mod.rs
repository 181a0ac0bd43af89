//! Connections of the drivers, with the address, login and TLS of a URL, as the backends make them.

#[cfg(feature = "etcd")]
pub(crate) mod etcd;
#[cfg(any(feature = "etcd", feature = "zk"))]
pub(crate) mod http;
#[cfg(any(feature = "etcd", feature = "redis", feature = "zk"))]
mod io;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "redis")]
pub(crate) mod redis;
#[cfg(any(feature = "etcd", feature = "redis", feature = "zk"))]
pub(crate) mod stream;
#[cfg(any(feature = "etcd", feature = "redis", feature = "zk"))]
mod tls;
#[cfg(feature = "zk")]
pub(crate) mod zk;
