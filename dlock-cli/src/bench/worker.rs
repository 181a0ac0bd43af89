//! A further process of a run.

use dlock_bench::worker::{one_shot, serve};

use crate::{
    base::{
        exit::{Exit, Failure},
        runtime,
    },
    cli::args::{BenchWorker, Global},
    store::Store,
};

pub(crate) fn main(global: &Global, args: &BenchWorker) -> Result<Exit, Failure> {
    let config = Store::of_worker(global)?.config().clone();
    runtime::block_on(async {
        match &args.once {
            Some(name) => one_shot(config, name).await?,
            None => serve(config, args.host.clone()).await?,
        }
        Ok(Exit::OK)
    })
}
