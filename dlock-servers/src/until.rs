//! Polling for a state that no event reports.

use std::{future::Future, io, time::Duration};

use tokio::time::{sleep, timeout};

/// How often a server is polled.
pub(super) const PROBE_EVERY: Duration = Duration::from_millis(10);

/// How long a server may take for anything. Generous: it costs time only where something is wrong.
pub(super) const SERVER_MAX: Duration = Duration::from_secs(60);

/// Repeats `probe` until the answer is `Ok`, at most [`SERVER_MAX`] long.
///
/// # Errors
///
/// `what` and the last answer.
pub(super) async fn until<T, F>(what: &str, mut probe: impl FnMut() -> F) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let mut last = io::Error::other("no answer");
    let probing = async {
        loop {
            match probe().await {
                Ok(answer) => return answer,
                Err(error) => last = error,
            }
            sleep(PROBE_EVERY).await;
        }
    };
    match timeout(SERVER_MAX, probing).await {
        Ok(answer) => Ok(answer),
        Err(_) => Err(io::Error::other(format!(
            "{what}: not within {} s: {last}",
            SERVER_MAX.as_secs()
        ))),
    }
}
