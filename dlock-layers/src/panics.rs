//! Panics of a store, which is the code of others.

use std::{future::Future, panic::AssertUnwindSafe};

use dlock_core::{Effect, Error, ErrorKind};
use futures_util::FutureExt as _;

/// The result of a request to a store; `None` if the store panicked. The other stores go on.
pub(crate) async fn unless_panics<R: Future>(request: R) -> Option<R::Output> {
    let result = AssertUnwindSafe(request).catch_unwind().await.ok();
    if result.is_none() {
        tracing::debug!("a store of a layer panicked");
    }
    result
}

/// The error of a request whose store panicked: `what` is that store.
pub(crate) fn panicked(what: &str) -> Error {
    let why = format!("{what} panicked; this is a defect of it");
    Error::new(ErrorKind::Internal, why).with_effect(Effect::Unknown)
}
