//! Pings on a pub/sub connection.
//!
//! A half-open connection and an idle one receive the same: nothing. So the connection is pinged while
//! there are waiters; while a reply is overdue, the waiters poll. They subscribe again when the connection for requests
//! was replaced.

use std::{pin::pin, sync::Arc, time::Duration};

use super::driver::DriverConnection;
use crate::conn::subscription::{PushHandler, Subscription};

/// The interval of the pings.
const PING_EVERY: Duration = Duration::from_secs(1);

/// A reply that takes longer is overdue: messages may be lost, or the server is slow. The request timeout
/// decides.
const OVERDUE_AFTER: Duration = Duration::from_secs(1);

/// Pings as long as the connection answers, whenever there are waiters.
pub(super) async fn run(
    mut connection: DriverConnection,
    subscription: Subscription,
    handler: Arc<impl PushHandler>,
) {
    loop {
        if !handler.has_any_waiter() {
            subscription.subscribed().await;
            continue;
        }
        tokio::time::sleep(PING_EVERY).await;
        if !subscription.is_live(handler.generation()) {
            // The requests go on another connection, perhaps to another server: its releases are not published here.
            subscription.end();
            handler.wake_all();
            return;
        }
        let ping = redis::cmd("PING");
        let mut ping = pin!(ping.exec_async(&mut connection));
        let reply = match tokio::time::timeout(OVERDUE_AFTER, &mut ping).await {
            Ok(reply) => reply,
            Err(_) => {
                subscription.set_overdue(true);
                handler.wake_all();
                ping.await
            }
        };
        // A user without permission for it gets a reply, too.
        if reply.is_err_and(|error| error.code().is_none()) {
            subscription.end();
            handler.wake_all();
            return;
        }
        subscription.set_overdue(false);
    }
}
