//! A worker of the faults: this program, started again to be a client that is killed and stopped.

use std::{env, process::ExitCode, sync::Arc};

use dlock::{
    Error, Locker, Result,
    config::{Config, Registry},
};
use dlock_verify::{chaos::serve_if_worker, support::Outcome};
use tokio::process::Command;

use super::{
    bounds::{calls_per_second, fault_ttl},
    pace::Pace,
    paced::{Meter, Paced},
};
use crate::{base::exit::Exit, cli::args::VERIFY_WORKER};

/// The environment variable with the number of workers that share the pace.
const WORKERS_ENV: &str = "DLOCK_VERIFY_WORKERS";

/// The command that starts one of `workers`.
pub(crate) fn command(workers: usize) -> Outcome<Command> {
    let mut command = Command::new(env::current_exe()?);
    command
        .arg(VERIFY_WORKER)
        .env(WORKERS_ENV, workers.to_string());
    Ok(command)
}

/// Serves as a worker on the stores of `registry`; wrong usage without an assignment in the environment.
pub(crate) fn main(registry: Registry) -> ExitCode {
    let workers = env::var(WORKERS_ENV).ok();
    let workers = workers
        .and_then(|workers| workers.parse().ok())
        .unwrap_or(1);
    serve_if_worker(move |url| connect(registry.clone(), url, workers))
        .unwrap_or_else(|| Exit::USAGE.into())
}

async fn connect(registry: Registry, url: String, workers: u32) -> Result<Locker> {
    let opened = registry.open(&Config::from_url(&url)?).await;
    // Other clients were granted locks by this URL.
    let (backend, _) = opened.map_err(Error::without_url_hint)?;
    let capabilities = backend.capabilities();
    let calls = calls_per_second(capabilities.backend) / workers.max(1);
    let (pace, meter) = (Pace::new(calls.max(1)), Meter::default());
    let paced = Paced::new(backend, Arc::new(pace), Arc::new(meter));
    Locker::builder(paced).ttl(fault_ttl(&capabilities)).build()
}
