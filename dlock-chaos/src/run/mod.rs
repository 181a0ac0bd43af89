//! Runs the chosen stores.

mod failure;
mod job;
mod kept;
mod part;
mod replay;
mod summary;
mod table;

use std::sync::Arc;

use dlock_verify::support::{Outcome, failed};
use libtest_mimic::Failed;
use tokio::{runtime::Builder, sync::Semaphore, task::JoinSet};

use crate::{
    cli::Cli,
    say::say,
    stores::{self, Store},
};

use self::{job::Job, kept::Kept};

/// In continuous integration so many stores run at once: they mostly wait.
const AT_ONCE: usize = 2;

/// Whether all stores kept what they promise.
pub(crate) fn run(cli: &Cli) -> Outcome<bool> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        if let Some(file) = &cli.replay {
            return replay::replay(&Kept::read(file)?, &chosen(&[])?, cli.strict).await;
        }
        let at_once = Arc::new(Semaphore::new(if cli.ci { AT_ONCE } else { 1 }));
        let mut runs = JoinSet::new();
        for store in chosen(&cli.stores)? {
            if cli.ci && cli.stores.is_empty() && !store.in_ci() {
                continue;
            }
            let (job, turn) = (Job::of(cli), at_once.clone());
            runs.spawn(async move {
                let _turn = turn.acquire().await?;
                let name = store.name();
                let holds = summary::all_parts(&*store, &job).await;
                Ok::<_, Failed>(holds.unwrap_or_else(|error| {
                    say(
                        name,
                        &format!("error: {}", error.message().unwrap_or_default()),
                    );
                    false
                }))
            });
        }
        let mut holds = true;
        while let Some(ended) = runs.join_next().await {
            holds &= ended??;
        }
        Ok(holds)
    })
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
