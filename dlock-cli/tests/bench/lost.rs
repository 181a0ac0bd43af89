//! A server that goes away in a run: what was measured before stays, and so do the other stores.

use std::time::Duration;

use dlock_bench::data::Run;
use dlock_verify::{
    ensure,
    support::{Outcome, within},
};
use libtest_mimic::Failed;
use tokio::time::sleep;

use crate::server::{Server, bench};

/// The rounds begin within this time, and go on for the next ones.
const ROUND_MAX: Duration = Duration::from_secs(60);

/// A run without its server ends within this time.
const END_MAX: Duration = Duration::from_secs(150);

/// How often the entries are listed.
const POLL_EVERY: Duration = Duration::from_millis(5);

/// The names of the cycles by 64 tasks, which run once in a round: in the warm-up, in a first round, and in a second.
const CYCLES: &str = "first-64-";
const TIMES: usize = 3;

pub(crate) async fn a_store_that_is_lost_keeps_what_was_measured<S: Server>() -> Outcome {
    let server = S::start().await?;
    let (url, folder) = (server.url(), tempfile::tempdir()?);
    let files = format!("file:{}", folder.path().display());
    let running = bench(&[&*url, &*files, "--for", "30s", "--json"])?;
    let rounds = async {
        for _ in 0..TIMES {
            for wanted in [true, false] {
                while server
                    .entries()
                    .await?
                    .iter()
                    .any(|one| one.contains(CYCLES))
                    != wanted
                {
                    sleep(POLL_EVERY).await;
                }
            }
        }
        Ok::<_, Failed>(())
    };
    within(ROUND_MAX, "some rounds", rounds).await??;
    drop(server);
    let ended = within(END_MAX, "its end", running.wait_with_output()).await??;
    ensure!(ended.status.code() == Some(2), "{ended:?}");
    let run = Run::parse(&String::from_utf8(ended.stdout)?)?;
    let (lost, whole) = (&run.stores[0], &run.stores[1]);
    ensure!(!lost.cycles.is_empty(), "{lost:?}");
    let error = lost.error.as_deref().ok_or("no error")?;
    ensure!(error.starts_with("in round "), "{error}");
    for debug in ["::", "{", "Error("] {
        ensure!(!error.contains(debug), "{error}");
    }
    ensure!(
        whole.error.is_none() && whole.cycles.len() == 2,
        "{whole:?}"
    );
    Ok(())
}
