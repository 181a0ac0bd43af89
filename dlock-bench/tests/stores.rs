//! A short run on a real server of each kind: all numbers are there, and nothing is left.
//!
//! A binary without the standard harness: it runs itself again as a worker of the run.

#![expect(clippy::expect_used, reason = "a test fails by it")]

use std::{
    env,
    process::{Command, ExitCode},
    time::Duration,
};

use dlock::config::Config;
use dlock_bench::{
    Bench, Plan, Target, WorkerCommand,
    data::{Run, Store},
    worker::{one_shot, serve, spin},
};
use dlock_core::ErrorKind;
use dlock_servers::local::{Kind, NoServer};
use dlock_verify::support::{self, if_available};
use libtest_mimic::{Failed, Trial};
use tokio::runtime::{Builder, Runtime};

/// Set for a worker: the URL of its store.
const URL_ENV: &str = "DLOCK_BENCH_TEST_URL";

/// The rounds of one store are shorter than this on an idle machine.
const RUN_FOR: Duration = Duration::from_secs(4);

/// A port at which nothing listens.
const CLOSED: &str = "redis://127.0.0.1:9";

fn main() -> ExitCode {
    if let Ok(url) = env::var(URL_ENV) {
        return work(&url);
    }
    support::main(1, Kind::ALL.into_iter().flat_map(trials))
}

fn trials(kind: Kind) -> Vec<Trial> {
    let name = kind.name();
    let trial = Trial::test(format!("{name}::a_run_has_all_numbers"), move || {
        runtime().block_on(a_run_has_all_numbers(kind))
    });
    if_available(name, kind.find(), vec![trial])
}

async fn a_run_has_all_numbers(kind: Kind) -> Result<(), Failed> {
    let server = kind
        .start()
        .await
        .map_err(|error: NoServer| error.to_string())?;
    let urls = [server.url(), CLOSED.to_owned()];
    let targets: Vec<Target> = urls.iter().map(|url| target(url)).collect();
    let plan = Plan::new(7).run_for(RUN_FOR);
    let mut bench = Bench::new(plan, &targets);
    bench.connect().await?;
    let run = bench.measure(&|_, _| {}).await?;
    let left = bench.clean_up().await;
    assert!(left.is_empty(), "{left:?}");
    let [found, closed] = &run.stores[..] else {
        return Err("two stores".into());
    };
    // A server that cannot be reached does not end the run.
    assert!(
        closed.error.is_some() && closed.cycles.is_empty(),
        "{closed:?}"
    );
    assert_eq!(found.error, None);
    assert_measured(found);
    // etcd alone reports how long it waits for its disk.
    for row in &found.cycles {
        let flush = row.dlock.server_flush_ns;
        assert_eq!(flush.is_some(), kind == Kind::Etcd, "{row:?}");
        assert!(flush.is_none_or(|flush| flush > 0.0), "{row:?}");
    }
    assert!(run.rounds.len() >= 3, "{} rounds", run.rounds.len());
    let text = serde_json::to_string(&run)?;
    assert!(Run::parse(&text)? == run, "read as another run: {text}");
    assert!(!text.contains("hunter2"), "a password");
    Ok(())
}

fn assert_measured(found: &Store) {
    assert!(
        found.server.is_some() && found.exchange.is_some(),
        "{found:?}"
    );
    assert_eq!(found.cycles.len(), 2);
    for row in &found.cycles {
        let floor = row.floor.as_ref().expect("a floor");
        assert!(row.of_floor.is_some() && row.same_twice.is_some() && row.limit.is_some());
        // The server is on this machine.
        assert!(row.dlock.server_cpu_ns > Some(0.0) && floor.server_cpu_ns > Some(0.0));
        assert_eq!(row.own_lock.is_some(), found.own_lock.is_some());
    }
    let hand_over = found.hand_over.as_ref().expect("a hand-over");
    assert!(hand_over.exchanges.is_some() && found.one_shot.is_some());
}

fn target(url: &str) -> Target {
    let config = Config::from_url(url).expect("a URL");
    let url = url.to_owned();
    let worker = WorkerCommand::new(move || {
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.env(URL_ENV, &url);
        command
    });
    Target::new(config, dlock::registry(), worker)
}

/// The work of a worker, by the arguments that the benchmark appends.
fn work(url: &str) -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let config = Config::from_url(url).expect("a URL");
    let registry = dlock::registry();
    let worked = runtime().block_on(async {
        match &arguments[..] {
            [flag, name] if flag == "--once" => one_shot(&registry, &config, name).await,
            [flag] if flag == "--spin" => spin(),
            _ => serve(&registry, config, Vec::new()).await,
        }
    });
    match worked {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == ErrorKind::Internal => ExitCode::from(70),
        Err(_) => ExitCode::FAILURE,
    }
}

fn runtime() -> Runtime {
    let runtime = Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime")
}
