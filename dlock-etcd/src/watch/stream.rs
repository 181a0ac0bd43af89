//! The stream of watches: its requests to the server, and the server's events.

use std::sync::Arc;

use dlock_core::{Result, toolkit::Backoff};
use etcd_client::{
    EventType, WatchOptions, WatchRequestSender, WatchResponse, WatchResponseStream,
};
use tokio::time::timeout;

use crate::{
    conn::members::Connection,
    errors::{self, Failure},
    watch::registry::{NextAction, Registry},
};

/// Serves the watches until there are none, or the backend is closed.
pub(super) async fn run(registry: Arc<Registry>) {
    let mut backoff = Backoff::new();
    while !registry.stop_if_idle() {
        tokio::select! {
            ended = serve(&registry, &mut backoff) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a stream of watches ended: another one begins");
                    registry.end_stream();
                    tokio::time::sleep(backoff.next_pause()).await;
                }
            }
            () = registry.members.closed() => {}
        }
    }
}

/// Serves one stream, from its first watch on. `Ok` when there are no watches any more.
async fn serve(registry: &Registry, backoff: &mut Backoff) -> Result<()> {
    registry.begin_stream();
    let Some((key, options)) = first_watch(registry).await else {
        return Ok(());
    };
    let connection = registry.members.connection().await?;
    let max = registry.members.config.timeouts.reply;
    let mut client = connection.watch_client();
    let opened = match timeout(max, client.watch(key, Some(options))).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(failed(registry, &connection, error)),
        Err(_) => {
            registry.members.abandon(connection.generation());
            return Err(registry.members.timed_out(max, connection.index).error);
        }
    };
    let (sender, responses) = opened.split();
    let ended = tokio::select! {
        ended = send(registry, sender) => ended,
        ended = receive(registry, &connection, responses, backoff) => ended,
        () = registry.members.abandoned(connection.generation()) => Err(None),
    };
    ended.map_err(|error| match error {
        Some(error) => failed(registry, &connection, error),
        None => errors::watch_ended(),
    })
}

/// Waits for the first watch; `None` when there is none.
async fn first_watch(registry: &Registry) -> Option<(Vec<u8>, WatchOptions)> {
    loop {
        match registry.next() {
            NextAction::Create(key, options) => return Some((key, options)),
            // Of an earlier stream.
            NextAction::Cancel(_) | NextAction::TimedOut => {}
            NextAction::Wait(until) => {
                tokio::select! {
                    () = registry.changed.notified() => {}
                    () = registry.members.clock.sleep_until(until) => {}
                }
            }
            NextAction::Idle(until) => {
                tokio::select! {
                    () = registry.changed.notified() => {}
                    () = registry.members.clock.sleep_until(until) => return None,
                }
            }
        }
    }
}

/// Why a stream has ended: an error of the driver, or `None` if there is none.
type Ended = Result<(), Option<etcd_client::Error>>;

/// Sends the requests of watches.
async fn send(registry: &Registry, mut sender: WatchRequestSender) -> Ended {
    loop {
        match registry.next() {
            NextAction::Create(key, options) => sender.watch(key, Some(options)).await?,
            NextAction::Cancel(id) => sender.cancel(id).await?,
            NextAction::Wait(until) => {
                tokio::select! {
                    () = registry.changed.notified() => {}
                    () = registry.members.clock.sleep_until(until) => {}
                }
            }
            NextAction::Idle(until) => {
                tokio::select! {
                    () = registry.changed.notified() => {}
                    () = registry.members.clock.sleep_until(until) => return Ok(()),
                }
            }
            NextAction::TimedOut => return Err(None),
        }
    }
}

/// Receives events and replies.
async fn receive(
    registry: &Registry,
    connection: &Connection,
    mut responses: WatchResponseStream,
    backoff: &mut Backoff,
) -> Ended {
    while let Some(response) = responses.message().await? {
        if !response.canceled() {
            backoff.reset();
        }
        registry.deletions_of(response.watch_id(), &deletions(&response));
        for event in response.events() {
            // By its key: etcd's gRPC proxy does not keep our ids.
            let Some(key) = event.kv() else { continue };
            match event.event_type() {
                EventType::Delete => registry.key_deleted(key.key(), key.mod_revision()),
                EventType::Put => registry.key_written(key.key(), key.value(), key.mod_revision()),
            }
        }
        // A watch that is refused at once has no id in the reply.
        let is_refused = response.created() || registry.is_watched(response.watch_id());
        if response.canceled() && is_refused {
            refused(registry, connection, &response);
            return Err(None);
        }
        if let Some(header) = response.header()
            && response.created()
            && !registry.watch_created(response.watch_id(), header.revision())
        {
            return Err(None);
        }
    }
    Err(None)
}

/// The keys that were deleted, and in which revisions.
fn deletions(response: &WatchResponse) -> Vec<(&[u8], i64)> {
    let events = response.events().iter();
    let deleted = events.filter(|event| event.event_type() == EventType::Delete);
    let keys = deleted.filter_map(|event| event.kv());
    keys.map(|key| (key.key(), key.mod_revision())).collect()
}

/// The server has ended a watch by itself: its history was compacted, or the login has expired.
fn refused(registry: &Registry, connection: &Connection, response: &WatchResponse) {
    let (revision, reason) = (response.compact_revision(), response.cancel_reason());
    tracing::debug!(revision, reason, "a watch was refused");
    if revision > 0 {
        registry.compacted(revision);
    } else {
        // A new connection logs in again.
        registry.members.abandon(connection.generation());
    }
}

fn failed(
    registry: &Registry,
    connection: &Connection,
    error: etcd_client::Error,
) -> dlock_core::Error {
    let Failure {
        error,
        ends_connection,
    } = registry.members.failure(error, connection.index);
    if ends_connection {
        registry.members.abandon(connection.generation());
    }
    error
}
