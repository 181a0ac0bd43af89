//! The contract of dlock as tests: one suite for every backend and every layer, of this workspace
//! and of others.
//!
//! A backend says how it is reached (a [`Target`]) and gets the cases that its
//! [capabilities](dlock_core::Capabilities) call for, at least one for each clause of the contract,
//! named after it. A test binary without a harness is all it takes:
//!
//! ```no_run
//! # use std::{process::ExitCode, sync::Arc};
//! # use conformance_tests::Target;
//! # use dlock_core::{backend::DistributedLock, Capabilities, Result};
//! # fn my_capabilities() -> Capabilities { unimplemented!() }
//! # async fn my_lock(_: &str) -> Result<Arc<dyn DistributedLock>> { unimplemented!() }
//! #[derive(Debug)]
//! struct Mine;
//!
//! #[async_trait::async_trait]
//! impl Target for Mine {
//!     fn name(&self) -> &str {
//!         "mine"
//!     }
//!     fn capabilities(&self) -> Capabilities {
//!         my_capabilities()
//!     }
//!     async fn address(&self) -> Result<String> {
//!         Ok("mine://127.0.0.1:4711".to_owned())
//!     }
//!     async fn connect(&self, address: &str) -> Result<Arc<dyn DistributedLock>> {
//!         my_lock(address).await
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     conformance_tests::main(vec![Arc::new(Mine)])
//! }
//! ```
//!
//! Cases record what happens as a [`history`], which a pure [checker](check) judges. Where several
//! processes can reach the store, the binary runs itself again as worker processes, which are
//! stopped and killed. See the crate's `README.md` for how to read and extend the suite.

pub mod check;
pub mod history;
pub mod interpose;
pub mod kit;
pub mod proxy;
pub mod recorder;
pub mod register;
pub mod servers;

mod cases;
mod crew;
mod line;
mod outcome;
mod required;
mod rig;
mod runner;
mod suite;
mod target;
mod worker;
mod workload;

pub use self::{
    line::Line,
    runner::main,
    suite::suite,
    target::{Backdoor, Extra, Reach, TTL_ALONE, Target},
};
