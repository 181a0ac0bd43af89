//! A pub/sub connection to one server.

use std::sync::Arc;

use dlock_core::Result;
use futures_util::future::join_all;
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

/// The bound on commands that are sent at the same time: each has the same time-out.
const TOGETHER_MAX: usize = 1_000;

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

    /// Subscribes to each channel, confirmed when it returns. Up to [`TOGETHER_MAX`] take one round trip.
    pub(crate) async fn subscribe(&self, channels: &[String]) -> Vec<Result<()>> {
        self.send(["SUBSCRIBE", "SSUBSCRIBE"], channels).await
    }

    /// Ends each subscription, as [`subscribe`](Self::subscribe) begins it.
    pub(crate) async fn unsubscribe(&self, channels: &[String]) -> Vec<Result<()>> {
        self.send(["UNSUBSCRIBE", "SUNSUBSCRIBE"], channels).await
    }

    /// The id of the server process behind it.
    pub(crate) async fn run_id(&mut self) -> Result<String> {
        probe::fetch_run_id(&mut self.connection, self.has_tls).await
    }

    /// A command for each channel: a user may have the right to some of them, and in a Cluster their slots differ.
    async fn send(&self, [plain, sharded]: [&str; 2], channels: &[String]) -> Vec<Result<()>> {
        let verb = if self.sharded { sharded } else { plain };
        let send = async |channel: &String| {
            let sent = redis::cmd(verb)
                .arg(channel)
                .exec_async(&mut self.connection.clone())
                .await;
            sent.map_err(|error| errors::of_connect(error, self.has_tls))
        };
        let mut sent = Vec::with_capacity(channels.len());
        for together in channels.chunks(TOGETHER_MAX) {
            sent.extend(join_all(together.iter().map(send)).await);
        }
        sent
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
