//! `dlock bench`: how fast stores are.

mod compare;
mod confirm;
#[cfg(any(feature = "etcd", feature = "mysql", feature = "redis", feature = "zk"))]
mod local;
mod measure;
mod progress;
mod report;
mod targets;
mod verdicts;
pub(crate) mod worker;

pub(crate) use self::measure::main;
