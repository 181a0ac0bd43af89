//! Real servers for tests: child processes on free loopback ports, each in a directory of its own.
//!
//! A [`Process`] ends with the value that owns it, and also when the test is killed. It can be
//! killed, stopped and started again on the same port and data. When a test panics, the end of the
//! server's log is printed; a server that does not start has it in its error.
//!
//! [`Program`] finds what to run: the distribution's own server, or the newest version from the set
//! that `cargo xtask setup` unpacks. One that is missing says why, so that its tests can be reported
//! as ignored.
//!
//! The functions here are for a tokio runtime; none leaves a task in it.

pub mod etcd;
pub mod mysql;
pub mod redis;
pub mod zk;

mod certificates;
mod clock;
mod controls;
mod parent;
mod port;
mod process;
mod program;
mod until;

pub use self::{
    certificates::Certificates, clock::SetClock, port::Port, process::Process, program::Program,
};
