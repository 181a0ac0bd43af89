//! The steps of a wait that outlives failures of the store.

use crate::{
    backend::attempt::Attempt,
    base::error::{Error, Result},
    toolkit::backoff::Backoff,
};

/// Reports that the store cannot be reached, and pauses before the next try (K6).
///
/// For waiting attempts, after an error that may pass. The caller decides which ones do.
///
/// ```
/// use dlock_core::{
///     Error, ErrorKind, Result,
///     backend::{AcquireRequest, Lease},
///     toolkit::{Backoff, pause_after},
/// };
///
/// # async fn try_once(request: &AcquireRequest) -> Result<Lease> { Err(Error::contended()) }
/// async fn wait(request: &AcquireRequest) -> Result<Lease> {
///     let mut backoff = Backoff::new();
///     loop {
///         match try_once(request).await {
///             Err(error) if error.kind() == ErrorKind::Unavailable => {
///                 pause_after(&request.attempt, &error, &mut backoff).await?;
///             }
///             answer => return answer,
///         }
///     }
/// }
/// ```
///
/// # Errors
///
/// [`Error::cancelled`] when the attempt is cancelled.
///
/// # Cancel safety
///
/// Safe: the report is made at the first poll.
pub async fn pause_after(attempt: &Attempt, error: &Error, backoff: &mut Backoff) -> Result<()> {
    tracing::debug!(%error, "waiting goes on");
    attempt.report_unavailable(error);
    pause(attempt, backoff).await
}

/// Pauses before the next try, without a report.
///
/// # Errors
///
/// [`Error::cancelled`] when the attempt is cancelled.
///
/// # Cancel safety
///
/// Safe.
pub async fn pause(attempt: &Attempt, backoff: &mut Backoff) -> Result<()> {
    tokio::select! {
        biased;
        () = attempt.cancelled() => Err(Error::cancelled()),
        () = tokio::time::sleep(backoff.next_pause()) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::ErrorKind;

    fn down() -> Error {
        Error::new(ErrorKind::Unavailable, "connection refused")
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_goes_on_after_the_pause_and_knows_why() {
        let (attempt, mut backoff) = (Attempt::new(), Backoff::new());
        attempt.report_contended();
        pause_after(&attempt, &down(), &mut backoff)
            .await
            .expect("not cancelled");
        let error = attempt.wait_error().expect("reported");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("connection refused"), "{error}");
        assert_eq!(backoff.next_pause(), 2 * Backoff::MIN);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancellation_ends_the_pause() {
        let (attempt, mut backoff) = (Attempt::new(), Backoff::new());
        attempt.cancel();
        let ended = pause_after(&attempt, &down(), &mut backoff).await;
        assert_eq!(ended.expect_err("cancelled").kind(), ErrorKind::Cancelled);
    }
}
