//! Calls of a backend: its panics are errors, and each has a bound.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use tokio::time::timeout;

use crate::{
    backend::distributed_lock::RELEASE_TRY_MAX,
    base::error::{Effect, Error, ErrorKind, Result},
};

/// Awaits `answer`, and makes an error of a panic, so that the call is made again as after any other
/// error.
pub(crate) async fn catch_panic<T>(answer: impl Future<Output = Result<T>>) -> Result<T> {
    let mut answer = pin!(answer);
    poll_fn(|cx| {
        catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx))).unwrap_or_else(|_| {
            let error = Error::new(
                ErrorKind::Internal,
                "the backend panicked; this is a defect of it",
            );
            Poll::Ready(Err(error.with_effect(Effect::Unknown)))
        })
    })
    .await
}

/// Awaits one try to free something, for [`RELEASE_TRY_MAX`] at the most.
pub(crate) async fn release_in_time(release: impl Future<Output = Result<()>>) -> Result<()> {
    timeout(RELEASE_TRY_MAX, release).await.unwrap_or_else(|_| {
        let why = format!("no reply within {RELEASE_TRY_MAX:?}");
        Err(Error::new(ErrorKind::Unavailable, why).with_effect(Effect::Unknown))
    })
}
