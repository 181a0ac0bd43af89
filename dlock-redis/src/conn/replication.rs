//! Waiting until replicas have a write.
//!
//! A failover loses the writes that the promoted replica lacks. `WAIT` returns how many replicas have all writes
//! of a connection so far. It makes the loss of a grant unlikely, not impossible: see the README.

use dlock_core::{Clock, Effect, Error, ErrorKind, Result};

use super::driver::DriverConnection;
use crate::{config::Options, conn::request::Reply, errors, scripts::millis};

/// Returns when enough replicas have the writes before this reply.
///
/// If there are too few, `Unavailable` with an unknown effect: the write was executed.
pub(crate) async fn wait_for_replicas(reply: &Reply, options: &Options) -> Result<()> {
    if options.min_acks == 0 {
        return Ok(());
    }
    Box::pin(wait_at_last_write(reply, options)).await
}

/// Shares one `WAIT` with others that came before it, as it is about all writes before it. The connection answers
/// nothing else in the meantime, so one for each lock would hold up all of them (K13).
async fn wait_at_last_write(reply: &Reply, options: &Options) -> Result<()> {
    let (stream, options) = (reply.connection.stream.clone(), options.clone());
    let clock = Clock::boottime();
    let written = clock.now();
    let waited = reply
        .connection
        .replication
        .run(move |mut turn| async move {
            if turn.is_some_and(|last| last >= written) {
                return turn.finish(Ok(()));
            }
            let sent = clock.now();
            let acknowledged = wait(stream, &options).await;
            if acknowledged.is_ok() {
                *turn = Some(sent);
            }
            turn.finish(acknowledged)
        });
    waited
        .await
        .map_err(|error| error.with_effect(Effect::Unknown))
}

async fn wait(mut stream: DriverConnection, options: &Options) -> Result<()> {
    // The connection answers nothing else until then.
    let timeout = options.timeouts.reply / 2;
    let min_acks = options.min_acks;
    let acks = redis::cmd("WAIT")
        .arg(min_acks)
        .arg(millis(timeout))
        .query_async(&mut stream)
        .await;
    let acks: u32 = acks
        .map_err(errors::of_request)
        .map_err(|error| error.with_effect(Effect::Unknown))?;
    if acks < min_acks {
        let why =
            format!("only {acks} of min_acks={min_acks} replicas have the write {timeout:?} later");
        let error = Error::new(ErrorKind::Unavailable, why);
        return Err(error.with_effect(Effect::Unknown));
    }
    Ok(())
}
