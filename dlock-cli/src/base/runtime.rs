//! The runtime that the program works in.

use std::future::Future;

use tokio::runtime::Builder;

use crate::base::{
    exit::{Exit, Failure},
    output::describe,
};

/// Drives `work` to its end on the calling thread, which has to be the main one. The command's parent-death signal
/// is tied to the thread that started it.
///
/// What `work` left in the background is not waited for.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    run(Builder::new_current_thread(), work)
}

/// Drives `work` like [`block_on`], with a thread for each core.
pub(crate) fn block_on_all_cores<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    run(Builder::new_multi_thread(), work)
}

fn run<T>(
    mut builder: Builder,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = builder.enable_all().build().map_err(|error| {
        let why = describe(&error);
        Failure::new(
            Exit::INTERNAL,
            format!("cannot create the async runtime: {why}"),
        )
    })?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    result
}
