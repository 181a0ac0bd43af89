//! `dlock migrate`: a move of locks from one store to another, while they are used.

mod in_use;
mod next;
mod old_alone;
mod plan;
mod probe;
mod rights;
mod status;

use std::time::Duration;

use dlock::{
    ErrorKind,
    config::{Config, Registry, Settings},
    layers::migrate::{Migration, MigrationStage, Status, Steps, open_steps, read_records},
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
    migrate::{
        next::{CLOSED, next},
        old_alone::OldAlone,
        plan::Plan,
        status::Shown,
    },
};

/// How long `check` waits for its lock: another one may check, too.
const PROBE_WAIT: Duration = Duration::from_secs(10);

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
        Step::Status(_) => runtime::block_on(status(registry, &config, stores.json))?,
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
        check(registry, config).await?;
    }
    let steps = match open_steps(registry, config).await {
        Ok(steps) => steps,
        Err(error) => return Err(unopened(registry, config, error.into()).await),
    };
    match step {
        Step::Start(_) => start(registry, &steps, config).await?,
        Step::Switch(_) => switch(&steps).await?,
        Step::Cancel(_) => cancel(&steps, config).await?,
        Step::Plan(_) | Step::Check(_) | Step::Status(_) => {}
    }
    let status = steps.status().await?;
    let mut shown = Shown::of(&status);
    if matches!(step, Step::Check(_)) {
        refuse_lost(&status)?;
        shown.is_checked = true;
        shown.old_alone = old_alone(registry, config, status.old.as_ref()).await;
    }
    show(&shown, is_json)
}

/// Refuses an old store that has lost its record after the switch. Programs start without it.
fn refuse_lost(status: &Status) -> Result<(), Failure> {
    let id = |record: &Option<Migration>| record.as_ref().map(|record| record.id);
    if id(&status.old) == id(&status.new) {
        return Ok(());
    }
    let next = next(Ok(status.old.as_ref()), Ok(status.new.as_ref()));
    Err(Failure::usage(next.text))
}

/// The holders in the old store alone, whose record is `old`; `None` if it does not matter.
async fn old_alone(
    registry: &Registry,
    config: &Config,
    old: Option<&Migration>,
) -> Option<OldAlone> {
    if !old_alone::matters(old) {
        return None;
    }
    Some(old_alone::find(registry, config).await)
}

/// Begins the migration, unless programs use the new store already, or may not use one of both.
async fn start(registry: &Registry, steps: &Steps, config: &Config) -> Result<(), Failure> {
    let status = steps.status().await?;
    in_use::refuse(config, &status).await?;
    rights::refuse(registry, config).await?;
    steps.start().await?;
    let is_back = status
        .new
        .is_some_and(|new| new.stage == MigrationStage::Left);
    if is_back {
        output::say(
            "the locks came from there earlier: a program that still has migrate: of that move gets no locks, or holds \
             them beside others; end it, or give it OLD, now",
        );
    }
    Ok(())
}

/// Ends the migration, and says what that means for programs.
async fn cancel(steps: &Steps, config: &Config) -> Result<(), Failure> {
    steps.cancel().await?;
    if let Some(old) = Settings::of(config)?.take_store("from")? {
        output::say(&format!(
            "all programs need {old} alone: those with migrate: get no locks from 30 s on. Neither store refuses a \
             program now, also not one with the URL of an earlier move"
        ));
    }
    Ok(())
}

/// The failure of a step that needs both stores, with the way out where programs are locked out.
async fn unopened(registry: &Registry, config: &Config, mut failure: Failure) -> Failure {
    if let Ok(records) = read_records(registry, config).await
        && let (Ok(Some(old)), Err(_)) = (&records.old, &records.new)
        && old.stage == MigrationStage::Closed
    {
        failure.message = format!("{}; {CLOSED}", failure.message);
    }
    failure
}

/// Closes the old store, waits until no program counts on it, and then switches.
async fn switch(steps: &Steps) -> Result<(), Failure> {
    let closed = steps.close().await?;
    let wait = closed.wait();
    if !wait.is_zero() {
        let time = humantime::format_duration(wait);
        output::say(&format!(
            "the old store is closed to programs that use it alone; the switch follows in {time}, when no program counts \
             on it any more"
        ));
    }
    sleep(wait).await;
    steps.switch_closed(&closed).await.map_err(|error| {
        let is_down = error.kind() == ErrorKind::Unavailable;
        let mut failure = Failure::from(error);
        if is_down {
            failure.message = format!(
                "{}; whether the switch is done: dlock migrate status. If not, {CLOSED}",
                failure.message
            );
        }
        failure
    })
}

/// Takes a lock as the programs do.
async fn check(registry: &Registry, config: &Config) -> Result<(), Failure> {
    let locker = registry.connect(config).await?;
    Ok(probe::take(locker, PROBE_WAIT).await?)
}

/// Both records, also if only one store answers.
async fn status(registry: &Registry, config: &Config, is_json: bool) -> Result<String, Failure> {
    let records = read_records(registry, config).await?;
    if let (Err(old), Err(new)) = (&records.old, &records.new) {
        let why = format!("neither store can be read: {old}; {new}");
        return Err(Failure::new(old.kind().into(), why));
    }
    let mut shown = Shown::of_records(&records);
    if let Ok(old) = &records.old {
        shown.old_alone = old_alone(registry, config, old.as_ref()).await;
    }
    show(&shown, is_json)
}

fn show(shown: &Shown<'_>, is_json: bool) -> Result<String, Failure> {
    if is_json {
        shown.json()
    } else {
        Ok(shown.text())
    }
}
