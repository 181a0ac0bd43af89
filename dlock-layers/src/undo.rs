//! The release of what a layer took and cannot use.

use std::{sync::Arc, time::Duration};

use dlock_core::backend::AcquireRequest;

use crate::part::Part;

/// How long an acquire waits for the release of what it could not use. It goes on in the background.
const RELEASE_WAIT: Duration = Duration::from_secs(1);

/// Releases `parts` in the background until each is confirmed or has ended by itself (K9). Waits for that a moment.
pub(crate) async fn undo(request: &AcquireRequest, parts: impl IntoIterator<Item = Arc<Part>>) {
    let releases: Vec<_> = parts
        .into_iter()
        .map(|part| {
            let until = part.ends_by();
            request.undo(until, move || {
                let part = part.clone();
                async move { part.release().await }
            })
        })
        .collect();
    let all = async {
        for release in releases {
            release.await;
        }
    };
    // What is not released by then is unknown, and ends by itself.
    let _ = tokio::time::timeout(RELEASE_WAIT, all).await;
}
