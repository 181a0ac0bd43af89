//! Panics of a store, which is the code of others.

use std::{future::Future, panic::AssertUnwindSafe};

use dlock_core::{Effect, Error, ErrorKind};
use futures_util::FutureExt as _;

/// The result of a request to a store; `None` if the store panicked. The other stores go on.
///
/// Not an `async fn`, which would have `request` twice: it is a part of each acquire.
pub(crate) fn unless_panics<R: Future>(request: R) -> impl Future<Output = Option<R::Output>> {
    AssertUnwindSafe(request).catch_unwind().map(|result| {
        if result.is_err() {
            tracing::debug!("a store of a layer panicked");
        }
        result.ok()
    })
}

/// The error of a request whose store panicked: `what` is that store.
pub(crate) fn panicked(what: &str) -> Error {
    let why = format!("{what} panicked; this is a defect of it");
    Error::new(ErrorKind::Internal, why).with_effect(Effect::Unknown)
}
