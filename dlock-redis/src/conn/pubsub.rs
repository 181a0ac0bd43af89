//! A pub/sub connection to one server.

use std::sync::Arc;

use dlock_core::Result;
use redis::{PushInfo, PushKind, Value};
use tokio::task::JoinSet;

use super::driver::DriverConnection;
use crate::{
    conn::{
        connect::Endpoint,
        liveness, probe,
        subscription::{PushHandler, Subscription},
    },
    errors,
};

/// A connection for notifications. A message is a hint, and may be lost with its connection.
pub(crate) struct PubSub {
    connection: DriverConnection,
    /// Whether channels belong to the slot of their name.
    sharded: bool,
    has_tls: bool,
    subscription: Subscription,
    /// The task that pings, which ends with the connection.
    _liveness: JoinSet<()>,
}

impl PubSub {
    /// Connects; messages go to `handler`.
    pub(crate) async fn open(
        endpoint: &Endpoint,
        sharded: bool,
        generation: Option<u64>,
        handler: Arc<impl PushHandler>,
    ) -> Result<Self> {
        let subscription = Subscription::new(generation);
        let (on, to) = (subscription.clone(), handler.clone());
        let connection = endpoint
            .connect_pubsub(move |push| receive(&*to, &on, &push))
            .await?;
        let mut liveness = JoinSet::new();
        let pings = liveness::run(connection.clone(), subscription.clone(), handler);
        liveness.spawn(pings);
        Ok(Self {
            connection,
            sharded,
            has_tls: endpoint.has_tls(),
            subscription,
            _liveness: liveness,
        })
    }

    pub(crate) fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Confirmed when it returns.
    pub(crate) async fn subscribe(&mut self, channel: &str) -> Result<()> {
        self.send(["SUBSCRIBE", "SSUBSCRIBE"], channel).await
    }

    /// Confirmed when it returns.
    pub(crate) async fn unsubscribe(&mut self, channel: &str) -> Result<()> {
        self.send(["UNSUBSCRIBE", "SUNSUBSCRIBE"], channel).await
    }

    /// The id of the server process behind it.
    pub(crate) async fn run_id(&mut self) -> Result<String> {
        probe::fetch_run_id(&mut self.connection, self.has_tls).await
    }

    async fn send(&mut self, [plain, sharded]: [&str; 2], channel: &str) -> Result<()> {
        let verb = if self.sharded { sharded } else { plain };
        let sent = redis::cmd(verb)
            .arg(channel)
            .exec_async(&mut self.connection)
            .await;
        sent.map_err(|error| errors::of_connect(error, self.has_tls))
    }
}

/// The payload of a release: the number of clients with waiters.
fn listeners(push: &PushInfo) -> u32 {
    match push.data.get(1) {
        Some(Value::BulkString(count)) => str::from_utf8(count)
            .ok()
            .and_then(|count| count.parse().ok()),
        _ => None,
    }
    .unwrap_or(0)
}

fn receive(handler: &impl PushHandler, subscription: &Subscription, push: &PushInfo) {
    let channel = match push.data.first() {
        Some(Value::BulkString(channel)) => String::from_utf8_lossy(channel),
        _ => "".into(),
    };
    match push.kind {
        PushKind::Message | PushKind::SMessage => handler.wake(&channel, listeners(push)),
        PushKind::Disconnection => {
            subscription.end();
            handler.wake_all();
        }
        // Not requested: the slot has moved to another node, where the waiters subscribe again.
        PushKind::SUnsubscribe if handler.has_waiter(&channel) => {
            subscription.end();
            handler.wake_all();
        }
        _ => {}
    }
}
