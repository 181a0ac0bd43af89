//! Worker processes: the test binary, started again with a task.
//!
//! A worker reads orders from its standard input and writes reports to its standard output, one JSON
//! value a line. It dies with its parent, whose death ends its standard input; and on Linux, where a
//! process that is stopped can be killed so, by a signal.

mod client_churn;
mod pipe;
mod process;
mod protocol;
mod serve;
mod task;
mod workload;

pub(crate) use self::{
    process::{Worker, WorkerStart},
    protocol::Task,
    serve::serve_if_worker,
    workload::Contest,
};
