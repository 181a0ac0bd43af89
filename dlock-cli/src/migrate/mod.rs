//! `dlock migrate`: a move of locks from one store to another, while they are used.

mod plan;
mod status;

use std::time::Duration;

use dlock::{
    config::{Config, Registry},
    layers::migrate::{Steps, open_steps},
};
use tokio::time::sleep;

use crate::{
    base::{
        exit::{Exit, Failure},
        output, runtime,
    },
    cli::{
        args::Global,
        migrate::{Migrate, Step, Stores},
    },
    migrate::plan::Plan,
};

/// The lock that `check` takes.
const PROBE: &str = "dlock-migrate/check";

/// How long `check` waits for its lock: another one may check, too.
const PROBE_WAIT: Duration = Duration::from_secs(10);

/// How long closing the stores may keep dlock from ending.
const CLOSE_MAX: Duration = Duration::from_secs(1);

pub(crate) fn main(registry: &Registry, global: &Global, args: &Migrate) -> Result<Exit, Failure> {
    if global.url.is_some() || global.config.is_some() {
        let why = "the stores are OLD and NEW; leave out --url and --config";
        return Err(Failure::usage(why));
    }
    let stores = args.step.stores();
    let config = config(stores)?;
    registry.check(&config)?;
    let text = match &args.step {
        Step::Plan(_) => {
            let plan = Plan::new(&config)?;
            if stores.json {
                output::json(&plan)?
            } else {
                plan.text()
            }
        }
        Step::Switch(switch) if !switch.no_others => {
            return Err(Failure::usage(
                "a program that uses the old store alone would hold locks beside the others; when none is left, give \
                 --no-others",
            ));
        }
        step => runtime::block_on(take(registry, &config, step, stores.json))?,
    };
    output::print(text.as_bytes())?;
    Ok(Exit::OK)
}

/// The URL of a program that uses both stores.
fn config(stores: &Stores) -> Result<Config, Failure> {
    let both = Config::from_url("migrate:")?;
    Ok(both
        .with_param("from", &stores.old)
        .with_param("to", &stores.new))
}

async fn take(
    registry: &Registry,
    config: &Config,
    step: &Step,
    is_json: bool,
) -> Result<String, Failure> {
    if matches!(step, Step::Check(_)) {
        probe(registry, config).await?;
    }
    let steps = open_steps(registry, config).await?;
    match step {
        Step::Start(_) => drop(steps.start().await?),
        Step::Switch(_) => switch(&steps).await?,
        Step::Cancel(_) => steps.cancel().await?,
        Step::Plan(_) | Step::Check(_) | Step::Status(_) => {}
    }
    show(&steps, is_json).await
}

/// Closes the old store, waits for programs that use it alone, and then switches.
async fn switch(steps: &Steps) -> Result<(), Failure> {
    let closed = steps.close().await?;
    let wait = closed.wait();
    if !wait.is_zero() {
        let time = humantime::format_duration(wait);
        output::say(&format!(
            "the old store is closed to programs that use it alone; the switch follows in {time}, when they have lost \
             their locks"
        ));
    }
    sleep(wait).await;
    Ok(steps.switch_closed(&closed).await?)
}

/// Takes a lock as the programs do.
async fn probe(registry: &Registry, config: &Config) -> Result<(), Failure> {
    let locker = registry.connect(config).await?;
    let released = async {
        let guard = locker.acquire(PROBE).wait(PROBE_WAIT).await?;
        guard.release().await
    };
    let released = released.await;
    let _ = locker.shutdown(CLOSE_MAX).await;
    Ok(released?)
}

async fn show(steps: &Steps, is_json: bool) -> Result<String, Failure> {
    let status = steps.status().await?;
    if is_json {
        status::json(&status)
    } else {
        Ok(status::text(&status))
    }
}
