//! Grants that have reached replicas (T8).
//!
//! A failover to a replica forgets what it had not got. `WAIT` says how many have all writes of a
//! connection up to now; it makes the loss of a grant unlikely, not impossible: see the README.

use std::time::Duration;

use dlock_core::{Effect, Error, ErrorKind, Result};
use redis::aio::MultiplexedConnection;

use crate::{config::options::RedisOptions, conn::node::Answer, errors, scripts};

impl RedisOptions {
    /// How long replicas may take; the connection answers nothing else meanwhile.
    fn acks_within(&self) -> Duration {
        self.answer_max / 2
    }
}

impl Answer {
    /// Returns when enough replicas have what was written before this answer.
    ///
    /// If there are too few, `Unavailable` with an unknown effect: the write was done.
    pub(crate) async fn acknowledged(&self, options: &RedisOptions) -> Result<()> {
        if options.min_acks == 0 {
            return Ok(());
        }
        // Many wait for the same replicas: what one learned is true of all that came before it.
        let (connection, options) = (self.link.connection.clone(), options.clone());
        let asked = self.link.confirming.run(|turn| async move {
            let acknowledged = ask_replicas(connection, &options).await;
            turn.finish(acknowledged)
        });
        asked
            .await
            .map_err(|error| error.with_effect(Effect::Unknown))
    }
}

async fn ask_replicas(mut connection: MultiplexedConnection, options: &RedisOptions) -> Result<()> {
    let (min, within) = (options.min_acks, options.acks_within());
    let within_ms = scripts::millis(within);
    let acks = redis::cmd("WAIT")
        .arg(min)
        .arg(within_ms)
        .query_async(&mut connection)
        .await;
    let acks: u32 = acks
        .map_err(errors::of_request)
        .map_err(|error| error.with_effect(Effect::Unknown))?;
    if acks < min {
        let why = format!("only {acks} of min_acks={min} replicas have the lock {within:?} later");
        let error = Error::new(ErrorKind::Unavailable, why);
        return Err(error.with_effect(Effect::Unknown));
    }
    Ok(())
}
