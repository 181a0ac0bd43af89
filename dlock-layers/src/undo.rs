//! The release of what a layer took and cannot use.

use std::{future::Future, sync::Arc, time::Duration};

use dlock_core::backend::AcquireRequest;

use crate::part::Part;

/// How long an acquire waits for the release of what it could not use. It goes on in the background.
const RELEASE_WAIT: Duration = Duration::from_secs(1);

/// Releases `parts` in the background until each is confirmed or has ended by itself (K9). Waits for that a moment.
pub(crate) async fn undo(request: &AcquireRequest, parts: impl IntoIterator<Item = Arc<Part>>) {
    let releases: Vec<_> = parts
        .into_iter()
        .map(|part| start_undo(request, part))
        .collect();
    let all = async {
        for release in releases {
            release.await;
        }
    };
    // What is not released by then is unknown, and ends by itself. Boxed, as it is rare: the futures of acquires stay small.
    let _ = Box::pin(tokio::time::timeout(RELEASE_WAIT, all)).await;
}

/// Begins to release `part` in the background; the future ends with the last try.
pub(crate) fn start_undo(
    request: &AcquireRequest,
    part: Arc<Part>,
) -> impl Future<Output = ()> + Send + use<> {
    let until = part.ends_by();
    request.undo(until, move || {
        let part = part.clone();
        async move { part.release().await }
    })
}
