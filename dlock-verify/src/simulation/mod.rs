//! A simulation: many lockers over one memory store, in virtual time, from a seed.
//!
//! Each client is a locker in a paused runtime of its own. The simulation lets them run in random order, one
//! virtual millisecond at a time, and suspends one now and then by not letting it run. Between each client and
//! the store is a [network](Conditions) that delays, loses and doubles. Now and then the whole machine is suspended.
//! All random numbers follow from the seed: a run with the same seed has the same history, event for event.
//!
//! A layer is tried by [`Simulation::layer`], which puts it around the backend of each client. A new kind of lock
//! gets a way to take it in `workload.rs`, a [`Flaw`] for each rule that its backends must keep, and a clause in the
//! checker.
//!
//! ```
//! use dlock_verify::simulation::Simulation;
//!
//! let run = Simulation::new(7).run();
//! assert_eq!(run.violations, [""; 0]);
//! assert_eq!(run.events, Simulation::new(7).run().events);
//! ```

mod backend;
mod client;
mod conditions;
mod flaw;
mod network;
mod run;
mod schedule;
mod workload;

pub use self::{client::Layer, conditions::Conditions, flaw::Flaw, run::Run, schedule::Simulation};
pub use crate::random::Random;
