//! The one task of a backend: it reads what the watch tells, and looks by itself now and then.

use std::{io, sync::Arc};

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{
    acquire::wait::RECHECK_EVERY,
    lifecycle::Lifecycle,
    watch::{Change, Events},
};

/// Runs until `ended`, or until its runtime is gone.
pub(crate) async fn run(
    lifecycle: Arc<Lifecycle>,
    mut events: Option<Events>,
    ended: CancellationToken,
) {
    let mut ticks = interval(RECHECK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = ended.cancelled() => return,
            changes = next(events.as_mut()) => match changes {
                Ok(changes) => apply(&lifecycle, &changes),
                Err(error) => {
                    tracing::warn!(%error, "lock files are not watched any more, but looked at");
                    events = None;
                }
            },
            _ = ticks.tick() => lifecycle.check(events.is_some()),
        }
    }
}

async fn next(events: Option<&mut Events>) -> io::Result<Vec<Change>> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

fn apply(lifecycle: &Lifecycle, changes: &[Change]) {
    if changes.contains(&Change::Anything) {
        lifecycle.held().check_all();
        return;
    }
    for change in changes {
        if let Change::File(file_name) = change {
            lifecycle.held().check_file(file_name);
        }
    }
}
