//! The contract of dlock as tests: one suite for every backend and every layer, of this workspace
//! and of others.
//!
//! A [`Target`] describes how a backend is reached. Its [capabilities](dlock_core::Capabilities) select the
//! cases, at least one for each clause of the contract. A test binary without a harness suffices:
//!
//! ```no_run
//! # use std::{process::ExitCode, sync::Arc};
//! # use conformance_tests::Target;
//! # use dlock_core::{backend::DistributedLock, Capabilities, Result};
//! # fn my_capabilities() -> Capabilities { unimplemented!() }
//! # async fn my_lock(_: &str) -> Result<Box<dyn DistributedLock>> { unimplemented!() }
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
//!     async fn connect(&self, address: &str) -> Result<Box<dyn DistributedLock>> {
//!         my_lock(address).await
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     conformance_tests::main(vec![Arc::new(Mine)])
//! }
//! ```
//!
//! Cases record a [`history`], which a pure [`checker`] examines. Where several processes can reach the
//! store, the binary starts itself as worker processes, which are stopped and killed. The crate's
//! `README.md` describes how to read and extend the suite.

mod case;
mod clauses;
mod suite;
mod target;
mod worker;

pub use dlock_verify::{checker, history, migration_record, proxy, support};

pub use self::{
    case::{Size, interpose},
    suite::{CaseFailure, SuiteCase, cases, main, suite},
    target::{Backdoor, Extra, Link, Load, Reach, TTL_DEDICATED, Target},
};
