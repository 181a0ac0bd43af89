//! Runs the chosen stores.

mod failure;
mod job;
mod kept;
mod part;
mod record;
mod replay;
mod summary;
mod table;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use dlock_core::Clock;
use dlock_verify::{
    signals::Interrupt,
    support::{Outcome, failed},
};
use libtest_mimic::Failed;
use rustix::process::Signal;
use tokio::{runtime::Builder, sync::Semaphore, task::JoinSet, time::timeout};

use crate::{
    cli::Cli,
    say::say,
    stores::{self, Store},
};

use self::{job::Job, replay::Failure};

/// In continuous integration so many stores run at once: they mostly wait.
const AT_ONCE: usize = 2;

/// No run of continuous integration takes longer: one that hangs fails. It takes 8 minutes on two processors.
const CI_MAX: Duration = Duration::from_secs(12 * 60);

/// At the end servers are killed and their directories removed within this time. What hangs is not awaited for longer.
const CLEAN_UP_MAX: Duration = Duration::from_secs(10);

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All stores kept what they promise.
    Held,
    /// A store did not, or could not be tried.
    Failed,
    /// By a signal.
    Stopped(Signal),
}

/// Runs the chosen stores, or the search for a failure, until it is done or a signal comes.
pub(crate) fn run(cli: &Cli) -> Outcome<End> {
    let job = Job::of(cli);
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let mut interrupt = Interrupt::catch()?;
        let held = async {
            match &cli.replay {
                Some(file) => replay::replay(&Failure::read(file)?, cli.strict).await,
                None => all_stores(cli, &job).await,
            }
        };
        tokio::select! {
            held = held => held.map(|held| if held { End::Held } else { End::Failed }),
            signal = interrupt.next() => Ok(End::Stopped(signal)),
        }
    });
    let clock = Clock::boottime();
    let begin = clock.now();
    // All tasks are dropped: with them go workers, servers and their directories.
    runtime.shutdown_timeout(CLEAN_UP_MAX);
    if matches!(done, Ok(End::Stopped(_))) {
        say_stopped(cli, &job, clock.now().since(begin));
    }
    done
}

/// Says that the run was stopped and how to go on; the clean-up took so long.
fn say_stopped(cli: &Cli, job: &Job, took: Duration) {
    let left = match took < CLEAN_UP_MAX {
        true => "nothing is left",
        false => "directories may be left in TMPDIR",
    };
    let on = match job.is_resumed() && cli.replay.is_none() {
        true => "go on with the part that it was in",
        false => "again",
    };
    let words = cli.stores.iter().map(String::as_str);
    let words: Vec<_> = words.chain([job.again.as_str()]).collect();
    let words = words.join(" ");
    say(
        "all",
        &format!("stopped, {left}; {on}: cargo xtask chaos {words}"),
    );
}

async fn all_stores(cli: &Cli, job: &Job) -> Outcome<bool> {
    let clock = Clock::boottime();
    let begin = clock.now();
    let at_once = Arc::new(Semaphore::new(if cli.ci { AT_ONCE } else { 1 }));
    let (mut runs, mut missing) = (JoinSet::new(), BTreeSet::new());
    for store in chosen(&cli.stores) {
        if cli.ci && cli.stores.is_empty() && !store.in_ci() {
            continue;
        }
        missing.insert(store.name());
        let (job, turn) = (job.clone(), at_once.clone());
        runs.spawn(async move {
            let _turn = turn.acquire().await?;
            let holds = summary::all_parts(&*store, &job).await;
            Ok((store.name(), holds))
        });
    }
    let count = missing.len();
    let ended = until_all_ended(&mut runs, &mut missing);
    let held = match cli.ci {
        true => timeout(CI_MAX, ended).await,
        false => Ok(ended.await),
    };
    let held = held.map_err(|_| too_late(&missing))??;
    let seconds = clock.now().since(begin).as_secs();
    say(
        "all",
        &format!("{held} of {count} stores hold; {seconds} s"),
    );
    Ok(held == count)
}

/// The result of a store, with its name.
type Ended = Outcome<(&'static str, Outcome<bool>)>;

/// How many stores hold; those that have not ended yet are `missing`.
async fn until_all_ended(
    runs: &mut JoinSet<Ended>,
    missing: &mut BTreeSet<&str>,
) -> Outcome<usize> {
    let mut held = 0;
    while let Some(ended) = runs.join_next().await {
        let (name, holds) = ended??;
        missing.remove(name);
        match holds {
            Ok(holds) => held += usize::from(holds),
            Err(error) => {
                let why = error.message().unwrap_or_default();
                say(name, &format!("error: {why}"));
            }
        }
    }
    Ok(held)
}

fn too_late(missing: &BTreeSet<&str>) -> Failed {
    let missing: Vec<_> = missing.iter().copied().collect();
    failed(format!(
        "{}: not done within {CI_MAX:?}",
        missing.join(", ")
    ))
}

fn chosen(names: &[String]) -> impl Iterator<Item = Box<dyn Store>> {
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|chosen| chosen == name);
    let all = stores::all().into_iter();
    all.filter(move |store| is_chosen(store.name()))
}
