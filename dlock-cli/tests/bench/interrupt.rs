//! Ctrl-C: the locks, the keys of the drivers and their sessions are removed.

use std::time::Duration;

use dlock_verify::{
    ensure,
    support::{Outcome, within},
};
use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::server::{Server, bench};

/// The next part of a run begins within this time.
const PART_MAX: Duration = Duration::from_secs(120);

/// The clean-up after a signal ends within this time.
const END_MAX: Duration = Duration::from_secs(60);

/// The leases of killed processes end within this time: dlock's default ttl, and what the server may add to it.
const TTL_MAX: Duration = Duration::from_secs(40);

/// How often the entries are listed.
const POLL_EVERY: Duration = Duration::from_millis(20);

/// Enough rounds for a rate; the parts after them follow soon.
const SHORT: [&str; 4] = ["--all", "--yes", "--for", "1s"];

pub(crate) async fn in_the_rounds<S: Server>() -> Outcome {
    interrupted_at::<S>(&["--for", "60s"], "first-64-").await
}

pub(crate) async fn among_names_used_once<S: Server>() -> Outcome {
    interrupted_at::<S>(&["--for", "60s"], "once-64-").await
}

pub(crate) async fn in_the_takeovers<S: Server>() -> Outcome {
    interrupted_at::<S>(&SHORT, "killed-").await
}

pub(crate) async fn while_locks_are_held<S: Server>() -> Outcome {
    interrupted_at::<S>(&SHORT, "held-").await
}

pub(crate) async fn in_the_verification<S: Server>() -> Outcome {
    interrupted_at::<S>(&["--verify"], "dlock-verify").await
}

/// Interrupts a run when an entry has `part` in its name: nothing is left.
async fn interrupted_at<S: Server>(args: &[&str], part: &str) -> Outcome {
    let server = S::start().await?;
    let url = server.url();
    let running = bench(&[&[&*url], args].concat())?;
    let begun = async {
        while !server
            .entries()
            .await?
            .iter()
            .any(|entry| entry.contains(part))
        {
            sleep(POLL_EVERY).await;
        }
        Ok::<_, Failed>(())
    };
    within(PART_MAX, part, begun).await??;
    let pid = running
        .id()
        .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    kill_process(pid.ok_or("it has ended")?, Signal::INT)?;
    let ended = within(END_MAX, "its end", running.wait_with_output()).await??;
    ensure!(ended.status.code() == Some(130), "{ended:?}");
    ensure!(ended.stdout.is_empty(), "{ended:?}");
    let mut left = server.entries().await?;
    let more = left
        .iter()
        .filter(|entry| !S::ends_by_itself(entry))
        .count();
    ensure!(more == 0, "left behind: {left:?}; {ended:?}");
    let what = format!("the end of {left:?}");
    let gone = async {
        while !left.is_empty() {
            sleep(POLL_EVERY).await;
            left = server.entries().await?;
        }
        Ok::<_, Failed>(())
    };
    within(TTL_MAX, &what, gone).await?
}
