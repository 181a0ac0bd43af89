//! The pulse of a connection that hears of releases.
//!
//! One that swallows everything looks like one on which nothing happens. So it is asked for an answer while
//! somebody waits; and while that is late, those who wait look by themselves.

use std::time::Duration;

use redis::aio::MultiplexedConnection;

use crate::{conn::pubsub::Hearing, pubsub::subscriptions::Listeners};

/// How often an answer is asked for.
const PULSE_EVERY: Duration = Duration::from_secs(1);

/// One that takes longer is late: the connection may be deaf, or slow. The time-out for answers decides.
const PULSE_LATE: Duration = Duration::from_secs(1);

/// Asks as long as the connection answers, whenever somebody `waits`.
pub(crate) async fn run(
    mut connection: MultiplexedConnection,
    hearing: Hearing,
    listeners: Listeners,
    waits: impl Fn() -> bool,
) {
    loop {
        if !waits() {
            hearing.until_wanted().await;
            continue;
        }
        tokio::time::sleep(PULSE_EVERY).await;
        let ping = redis::cmd("PING");
        let asked = ping.exec_async(&mut connection);
        let mut asked = std::pin::pin!(asked);
        let answer = tokio::time::timeout(PULSE_LATE, &mut asked).await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(_) => {
                hearing.be_late(true);
                listeners.wake_all();
                asked.await
            }
        };
        // A user who may not ask for it gets an answer, too.
        if answer.is_err_and(|error| error.code().is_none()) {
            hearing.end();
            listeners.wake_all();
            return;
        }
        hearing.be_late(false);
    }
}
