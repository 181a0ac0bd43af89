//! A simulation: many lockers over one memory store, in virtual time, from a seed.
//!
//! Each client is a locker in a paused runtime of its own. The simulation lets them run in random order, one
//! virtual millisecond at a time, and suspends one now and then by not letting it run. Between each client and
//! the store is a [network](Conditions) that delays, loses and doubles. All random numbers follow from the seed:
//! a run with the same seed has the same history, event for event.
//!
//! ```
//! use dlock_verify::simulation::Simulation;
//!
//! let run = Simulation::new(7).run();
//! assert_eq!(run.violations, [""; 0]);
//! assert_eq!(run.events, Simulation::new(7).run().events);
//! ```

mod client;
mod flaw;
mod network;
mod random;
mod run;
mod workload;

pub use self::{
    flaw::Flaw,
    network::Conditions,
    random::Random,
    run::{Run, Simulation},
};
