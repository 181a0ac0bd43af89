//! `dlock bench`: how fast stores are.

use std::{ffi::OsStr, process::Command, time::Duration};

use dlock::config::{Config, URL_VARIABLE};
use dlock_bench::{Plan, Report, hand_over};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    base::{
        exit::{Exit, Failure},
        output, runtime,
    },
    cli::args::{BENCH_WORKER, Bench, BenchWorker, Global},
    store::{Store, refuse_memory},
};

/// How long closing the store may keep dlock from ending.
const CLOSE_MAX: Duration = Duration::from_secs(1);

pub(crate) fn main(global: &Global, args: &Bench) -> Result<Exit, Failure> {
    let stores = stores(global, args)?;
    let plan = Plan::default().run_for(args.run_for);
    let progress = ProgressBar::new((plan.steps() * stores.len()) as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len}  {wide_msg}") {
        progress.set_style(style);
    }
    let reports = runtime::block_on_all_cores(async {
        let mut reports = Vec::new();
        for (config, worker) in stores {
            let step = |step| {
                progress.set_message(format!("{config}: {step}"));
                progress.inc(1);
            };
            reports.push(dlock_bench::run(&config, &plan, worker, step).await?);
        }
        Ok(reports)
    });
    progress.finish_and_clear();
    output::print(show(&reports?, args.json)?.as_bytes())?;
    Ok(Exit::OK)
}

/// The second process of the hand-over.
pub(crate) fn worker(global: &Global, args: &BenchWorker) -> Result<Exit, Failure> {
    let store = Store::find(global)?;
    let turns = runtime::block_on(async {
        let locker = store.connect().await?;
        let run_for = Duration::from_millis(args.millis);
        let turns = hand_over::worker(&locker, &args.name, run_for).await?;
        let _ = locker.shutdown(CLOSE_MAX).await;
        Ok(turns)
    })?;
    output::print(turns.as_bytes())?;
    Ok(Exit::OK)
}

/// The stores that the user named, or the configured one, each with the command of its worker.
fn stores(global: &Global, args: &Bench) -> Result<Vec<(Config, Command)>, Failure> {
    if args.urls.is_empty() {
        let mut worker = worker_command()?;
        // It finds the configured store in the same way.
        if let Some(url) = &global.url {
            worker.env(URL_VARIABLE, url);
        }
        if let Some(file) = &global.config {
            worker.arg("--config").arg(file);
        }
        return Ok(vec![(Store::find(global)?.config().clone(), worker)]);
    }
    if global.url.is_some() || global.config.is_some() {
        let why = "stores are given twice; give them as arguments, or with --url or --config";
        return Err(Failure::usage(why));
    }
    let store = |url: &String| {
        let config = Config::from_url(url)?;
        refuse_memory(&config)?;
        let mut worker = worker_command()?;
        // Not as an argument, which all users of the machine can read: it may hold a password.
        worker.env(URL_VARIABLE, url);
        Ok((config, worker))
    };
    args.urls.iter().map(store).collect()
}

fn worker_command() -> Result<Command, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        let why = output::describe(&error);
        Failure::new(
            Exit::INTERNAL,
            format!("cannot find the dlock program itself: {why}"),
        )
    })?;
    let mut command = Command::new(program);
    command.arg(OsStr::new(BENCH_WORKER));
    Ok(command)
}

fn show(reports: &[Report], json: bool) -> Result<String, Failure> {
    if json {
        let text = serde_json::to_string(reports);
        let text = text.map_err(|error| Failure::new(Exit::INTERNAL, error.to_string()))?;
        return Ok(text + "\n");
    }
    Ok(reports.iter().map(ToString::to_string).collect())
}
