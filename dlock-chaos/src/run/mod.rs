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
use dlock_verify::support::{Outcome, failed};
use libtest_mimic::Failed;
use tokio::{runtime::Builder, sync::Semaphore, task::JoinSet, time::timeout};

use crate::{
    cli::Cli,
    say::say,
    stores::{self, Store},
};

use self::{job::Job, kept::Kept};

/// In continuous integration so many stores run at once: they mostly wait.
const AT_ONCE: usize = 2;

/// No run of continuous integration takes longer: one that hangs fails. It takes 8 minutes on two processors.
const CI_MAX: Duration = Duration::from_secs(12 * 60);

/// Whether all stores kept what they promise.
pub(crate) fn run(cli: &Cli) -> Outcome<bool> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        match &cli.replay {
            Some(file) => replay::replay(&Kept::read(file)?, &chosen(&[])?, cli.strict).await,
            None => all_stores(cli).await,
        }
    });
    // What hangs in it is not awaited.
    runtime.shutdown_background();
    done
}

async fn all_stores(cli: &Cli) -> Outcome<bool> {
    let clock = Clock::boottime();
    let begin = clock.now();
    let at_once = Arc::new(Semaphore::new(if cli.ci { AT_ONCE } else { 1 }));
    let (mut runs, mut missing) = (JoinSet::new(), BTreeSet::new());
    for store in chosen(&cli.stores)? {
        if cli.ci && cli.stores.is_empty() && !store.in_ci() {
            continue;
        }
        missing.insert(store.name());
        let (job, turn) = (Job::of(cli), at_once.clone());
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

fn chosen(names: &[String]) -> Outcome<Vec<Box<dyn Store>>> {
    let all = stores::all();
    let known: Vec<_> = all.iter().map(|store| store.name()).collect();
    if let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) {
        let known = known.join(", ");
        return Err(failed(format!("no store {unknown} (allowed: {known})")));
    }
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|chosen| chosen == name);
    let all = all.into_iter();
    Ok(all.filter(|store| is_chosen(store.name())).collect())
}
