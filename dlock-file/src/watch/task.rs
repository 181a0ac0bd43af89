//! The one task of a backend: it reads what the watch tells, and looks by itself now and then.

use std::{io, sync::Arc};

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::{
    acquire::wait::LOOK_EVERY,
    lifecycle::Session,
    watch::{Change, Events},
};

/// Runs until `ended`, or until its runtime is gone.
pub(crate) async fn run(
    session: Arc<Session>,
    mut events: Option<Events>,
    ended: CancellationToken,
) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = ended.cancelled() => return,
            changes = next(events.as_mut()) => match changes {
                Ok(changes) => meet(&session, &changes),
                Err(error) => {
                    tracing::warn!(%error, "lock files are not watched any more, but looked at");
                    events = None;
                }
            },
            _ = ticks.tick() => session.look(events.is_some()),
        }
    }
}

async fn next(events: Option<&mut Events>) -> io::Result<Vec<Change>> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

fn meet(session: &Session, changes: &[Change]) {
    if changes.contains(&Change::Anything) {
        session.held().look_at_all();
        return;
    }
    for change in changes {
        if let Change::File(file_name) = change {
            session.held().look_at(file_name);
        }
    }
}
