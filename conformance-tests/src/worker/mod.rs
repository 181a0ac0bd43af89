//! Worker processes: the test binary, started again with a task.
//!
//! The processes themselves are those of [`dlock_verify::worker`].

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
