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
        subscription::{PushHandler, Subscription, Waiting},
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

    /// Subscribes to each channel, confirmed when it returns. All take one round trip.
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
        join_all(channels.iter().map(send)).await
    }
}

/// The payload of a release: how many clients listen on its channel, and how many wait if these are more.
fn waiting(push: &PushInfo) -> Waiting {
    let text = match push.data.get(1) {
        Some(Value::BulkString(text)) => str::from_utf8(text).unwrap_or_default(),
        _ => "",
    };
    let (notified, all) = text.split_once(' ').unwrap_or((text, text));
    match (notified.parse(), all.parse()) {
        (Ok(notified), Ok(all)) => Waiting { notified, all },
        _ => Waiting::default(),
    }
}

fn receive(handler: &impl PushHandler, subscription: &Subscription, push: &PushInfo) {
    let channel = match push.data.first() {
        Some(Value::BulkString(channel)) => String::from_utf8_lossy(channel),
        _ => "".into(),
    };
    match push.kind {
        PushKind::Message | PushKind::SMessage => handler.wake(&channel, waiting(push)),
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
