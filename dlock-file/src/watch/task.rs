//! The one task of a backend: it reads the watch, and checks now and then by itself.

use std::io;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::watch::{Events, RECHECK_EVERY, change::Change};

/// Runs until `ended`, or until its runtime is gone. `apply` gets the changes; `recheck` is called now and then,
/// with whether the watch is being read.
pub(crate) async fn run(
    mut events: Option<Events>,
    ended: CancellationToken,
    apply: impl Fn(&[Change]),
    recheck: impl Fn(bool),
) {
    let mut ticks = interval(RECHECK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = ended.cancelled() => return,
            changes = next(events.as_mut()) => match changes {
                Ok(changes) => apply(&changes),
                Err(error) => {
                    tracing::warn!(%error, "lock files are polled: the watch has failed");
                    events = None;
                }
            },
            _ = ticks.tick() => recheck(events.is_some()),
        }
    }
}

async fn next(events: Option<&mut Events>) -> io::Result<Vec<Change>> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}
