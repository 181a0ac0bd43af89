//! The stream of watches: what is told to the store, and what it says.

use std::sync::Arc;

use dlock_core::{Result, toolkit::Backoff};
use etcd_client::{
    EventType, WatchOptions, WatchRequestSender, WatchResponse, WatchResponseStream,
};
use tokio::time::timeout;

use crate::{
    conn::members::Link,
    errors::{self, Failure},
    watch::registry::{Inner, Next},
};

/// Serves the watches until there are none, or the backend is closed.
pub(crate) async fn run(watches: Arc<Inner>) {
    let mut pause = Backoff::new();
    while !watches.ends() {
        tokio::select! {
            ended = serve(&watches, &mut pause) => {
                if let Err(error) = ended {
                    tracing::debug!(%error, "watches begin again");
                    watches.broken();
                    tokio::time::sleep(pause.next_pause()).await;
                }
            }
            () = watches.session.closed() => {}
        }
    }
}

/// One stream, from its first watch on. `Ok` when nobody watches any more.
async fn serve(watches: &Inner, pause: &mut Backoff) -> Result<()> {
    watches.anew();
    let Some((key, options)) = first(watches).await else {
        return Ok(());
    };
    let link = watches.session.link().await?;
    let max = watches.session.config.answer_max;
    let mut client = link.client.watch_client();
    let opened = match timeout(max, client.watch(key, Some(options))).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(failed(watches, &link, error)),
        Err(_) => {
            watches.session.leave(link.serial);
            return Err(errors::silent(max).error);
        }
    };
    let (sender, responses) = opened.split();
    let ended = tokio::select! {
        told = tell(watches, sender) => told,
        heard = hear(watches, &link, responses, pause) => heard,
        () = watches.session.left(link.serial) => Err(None),
    };
    ended.map_err(|error| match error {
        Some(error) => failed(watches, &link, error),
        None => errors::watch_ended(),
    })
}

/// Waits for the first watch to begin; `None` when there is none.
async fn first(watches: &Inner) -> Option<(Vec<u8>, WatchOptions)> {
    loop {
        match watches.next() {
            Next::Begin(key, options) => return Some((key, options)),
            // Of an earlier stream.
            Next::End(_) | Next::Silent => {}
            Next::Wait(until) => {
                tokio::select! {
                    () = watches.changed.notified() => {}
                    () = watches.session.clock.sleep_until(until) => {}
                }
            }
            Next::Idle(until) => {
                tokio::select! {
                    () = watches.changed.notified() => {}
                    () = watches.session.clock.sleep_until(until) => return None,
                }
            }
        }
    }
}

/// Why a stream is over: an error of the driver, or `None` if there is none.
type Ended = Result<(), Option<etcd_client::Error>>;

async fn tell(watches: &Inner, mut sender: WatchRequestSender) -> Ended {
    loop {
        match watches.next() {
            Next::Begin(key, options) => sender.watch(key, Some(options)).await?,
            Next::End(id) => sender.cancel(id).await?,
            Next::Wait(until) => {
                tokio::select! {
                    () = watches.changed.notified() => {}
                    () = watches.session.clock.sleep_until(until) => {}
                }
            }
            Next::Idle(until) => {
                tokio::select! {
                    () = watches.changed.notified() => {}
                    () = watches.session.clock.sleep_until(until) => return Ok(()),
                }
            }
            Next::Silent => return Err(None),
        }
    }
}

async fn hear(
    watches: &Inner,
    link: &Link,
    mut responses: WatchResponseStream,
    pause: &mut Backoff,
) -> Ended {
    while let Some(response) = responses.message().await? {
        if !response.canceled() {
            *pause = Backoff::new();
        }
        for event in response.events() {
            // Matched by its key: etcd's gRPC proxy does not keep our numbers.
            if let Some(place) = event.kv()
                && event.event_type() == EventType::Delete
            {
                watches.gone(place.key(), place.mod_revision());
            }
        }
        // A watch that is refused at once has no number in the answer.
        let is_refused = response.created() || watches.is_watched(response.watch_id());
        if response.canceled() && is_refused {
            refused(watches, link, &response);
            return Err(None);
        }
        if let Some(header) = response.header()
            && response.created()
            && !watches.begun(response.watch_id(), header.revision())
        {
            return Err(None);
        }
    }
    Err(None)
}

/// The store ends a watch by itself: its history was compacted, or the login has expired (T32).
fn refused(watches: &Inner, link: &Link, response: &WatchResponse) {
    let (revision, reason) = (response.compact_revision(), response.cancel_reason());
    tracing::debug!(revision, reason, "a watch was refused");
    if revision > 0 {
        watches.compacted(revision);
    } else {
        // A new login may be taken.
        watches.session.leave(link.serial);
    }
}

fn failed(watches: &Inner, link: &Link, error: etcd_client::Error) -> dlock_core::Error {
    let Failure { error, ends_link } = errors::of_request(error, &watches.session.config);
    if ends_link {
        watches.session.leave(link.serial);
    }
    error
}
