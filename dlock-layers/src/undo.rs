//! The release of what a layer took and cannot use.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use dlock_core::{Effect, Error, backend::AcquireRequest};

use crate::part::Part;

/// How long an acquire waits for the release of what it could not use. It goes on in the background.
const RELEASE_WAIT: Duration = Duration::from_secs(1);

/// Releases `parts` in the background until each is confirmed or has ended by itself (K9). Waits for that a moment;
/// whether all are confirmed then.
pub(crate) async fn undo(
    request: &AcquireRequest,
    parts: impl IntoIterator<Item = Arc<Part>>,
) -> bool {
    let releases: Vec<_> = parts
        .into_iter()
        .map(|part| start_undo(request, part))
        .collect();
    let all = async {
        let mut is_confirmed = true;
        for release in releases {
            is_confirmed &= release.await;
        }
        is_confirmed
    };
    // What is not released by then is unknown, and ends by itself. Boxed, as it is rare: the futures of acquires stay small.
    let confirmed = Box::pin(tokio::time::timeout(RELEASE_WAIT, all)).await;
    confirmed.unwrap_or(false)
}

/// The error of an acquire, with an unknown effect if its undo [is not confirmed](undo).
pub(crate) fn undone(error: Error, is_confirmed: bool) -> Error {
    match is_confirmed {
        true => error,
        false => error.with_effect(Effect::Unknown),
    }
}

/// Begins to release `part` in the background; the future ends with the last try: whether it is confirmed.
pub(crate) fn start_undo(
    request: &AcquireRequest,
    part: Arc<Part>,
) -> impl Future<Output = bool> + Send + use<> {
    let until = part.ends_by();
    let is_confirmed = Arc::new(AtomicBool::new(false));
    let confirmed = is_confirmed.clone();
    let released = request.undo(until, move || {
        let (part, confirmed) = (part.clone(), confirmed.clone());
        async move {
            part.release().await?;
            confirmed.store(true, Ordering::Release);
            Ok(())
        }
    });
    async move {
        released.await;
        is_confirmed.load(Ordering::Acquire)
    }
}
