//! Worker processes: the test binary, started again with a task.
//!
//! A worker reads orders from its standard input and writes reports to its standard output, one JSON
//! value a line. It ends with its parent: its standard input is closed. On Linux a signal kills it, too,
//! even when it is stopped.

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
