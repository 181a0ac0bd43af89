//! The life of a worker: its program, its tasks, and its end of the pipes.

mod lockers;
mod program;
mod protocol;
mod remote;
mod resources;
mod serve;
mod task;

pub(super) use self::protocol::{Assignment, Order, Report, WORKER_ENV};
pub use self::{resources::Resources, serve::serve_if_worker};
