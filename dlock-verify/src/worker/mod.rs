//! Worker processes: this program, started again to be a client that can be stopped and killed.
//!
//! A worker reads orders from its standard input and writes reports to its standard output, one JSON
//! value a line. The parent passes its standard error on, and a failure has the end of it. It ends with its parent:
//! its standard input is closed. On Linux a signal kills it, too, even when it is stopped.
//!
//! [`WorkerProcess`] is the parent's side. In the worker, [`die_with_parent`], [`read_orders`] and [`say`] are the
//! other one. What orders and reports there are is up to the program.

mod errors;
mod pipe;
mod process;

pub use self::{
    pipe::{die_with_parent, log_error, read_orders, say},
    process::WorkerProcess,
};
