//! `dlock verify` on real servers: what it finds, and what it leaves behind.

#[cfg(feature = "etcd")]
mod etcd;
mod file;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk"))]
mod stop;
mod support;
#[cfg(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk"))]
mod traffic;
mod usage;
#[cfg(feature = "zk")]
mod zk;

use std::process::ExitCode;

/// How many cases run at once: each has a server, and takes a good part of a minute.
const THREADS: usize = 3;

fn main() -> ExitCode {
    let mut trials = file::trials();
    trials.extend(usage::trials());
    #[cfg(feature = "etcd")]
    trials.extend(etcd::trials());
    #[cfg(feature = "mysql")]
    trials.extend(mysql::trials());
    #[cfg(feature = "redis")]
    trials.extend(redis::trials());
    #[cfg(feature = "zk")]
    trials.extend(zk::trials());
    dlock_verify::support::main(THREADS, trials)
}
