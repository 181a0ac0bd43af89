//! A further process of a run.

use dlock::config::Registry;
use dlock_bench::worker::{one_shot, serve, spin};

use crate::{
    base::{
        exit::{Exit, Failure},
        runtime,
    },
    cli::args::{BenchWorker, Global},
    store::Store,
};

pub(crate) fn main(
    registry: &Registry,
    global: &Global,
    args: &BenchWorker,
) -> Result<Exit, Failure> {
    if args.spin {
        spin()?;
        return Ok(Exit::OK);
    }
    let config = Store::of_worker(registry, global)?.config().clone();
    runtime::block_on(async {
        match &args.once {
            Some(name) => one_shot(registry, &config, name).await?,
            None => serve(registry, config, args.host.clone()).await?,
        }
        Ok(Exit::OK)
    })
}
