//! One waiter for the release of one name.

use std::{sync::Arc, time::Duration};

use dlock_core::Result;
use tokio::task::JoinHandle;

use crate::{
    conn::{node::Node, subscription::Subscription},
    pubsub::{
        subscriptions::{Subscriptions, abandoned},
        wake_up::WakeUp,
    },
};

/// A subscription in the making.
type Subscribing = JoinHandle<Result<Subscription>>;

/// A waiter for a release of one name.
pub(crate) struct Waiter {
    subscriptions: Subscriptions,
    channel: String,
    wake_up: Arc<WakeUp>,
    subscribed: Option<(Arc<Node>, Subscription)>,
    subscribing: Option<(Arc<Node>, Subscribing)>,
    /// The last subscription failed as its connection led to another server than the requests.
    is_ambiguous: bool,
}

impl Waiter {
    /// A waiter that is not [subscribed](Self::subscribe) yet.
    pub(crate) fn new(subscriptions: &Subscriptions, channel: String) -> Self {
        let wake_up: Arc<WakeUp> = Arc::default();
        subscriptions.add(&channel, wake_up.clone());
        Self {
            subscriptions: subscriptions.clone(),
            channel,
            wake_up,
            subscribed: None,
            subscribing: None,
            is_ambiguous: false,
        }
    }

    /// Whether it is notified of releases at this node. If not, it has to [subscribe](Self::subscribe), and to
    /// try again after that.
    pub(crate) fn is_subscribed(&self, node: &Arc<Node>) -> bool {
        let subscribed = self.subscribed.as_ref();
        self.is_connected() && subscribed.is_some_and(|(at, _)| Arc::ptr_eq(at, node))
    }

    /// Whether the connection that it has subscribed on is still there.
    pub(crate) fn is_connected(&self) -> bool {
        let subscribed = self.subscribed.as_ref();
        subscribed.is_some_and(|(at, subscription)| subscription.is_live(at.generation()))
    }

    /// Whether messages on that connection may be lost.
    pub(crate) fn may_miss_messages(&self) -> bool {
        let subscribed = self.subscribed.as_ref();
        subscribed.is_some_and(|(_, subscription)| subscription.is_overdue())
    }

    /// Drops its subscription; whether it had one.
    pub(crate) fn reset(&mut self) -> bool {
        self.subscribed.take().is_some()
    }

    /// Subscribes, over a new connection if there is none; confirmed when it returns. A call that is dropped
    /// goes on, and the next one waits for it.
    pub(crate) async fn subscribe(&mut self, node: &Arc<Node>) -> Result<()> {
        self.subscribing.take_if(|(at, _)| !Arc::ptr_eq(at, node));
        let (_, subscribing) = self.subscribing.get_or_insert_with(|| {
            let (subscriptions, at) = (self.subscriptions.clone(), node.clone());
            let channel = self.channel.clone();
            let work = async move { subscriptions.subscribe(&at, &channel).await };
            (node.clone(), tokio::spawn(work))
        });
        let subscribed = subscribing.await;
        self.subscribing = None;
        self.is_ambiguous = node.is_ambiguous();
        let subscription = subscribed.map_err(abandoned)??;
        self.subscribed = Some((node.clone(), subscription));
        // The next try makes up for earlier wake-ups.
        self.wake_up.clear();
        Ok(())
    }

    /// Whether two servers may share the address: then it is not known which of them has the lock.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.is_ambiguous
    }

    /// Returns after a release was published, or the connection failed, since the last call.
    pub(crate) async fn woken(&self) {
        self.wake_up.woken().await;
    }

    /// The number of clients that the last release was published to; 0 if it is not known.
    pub(crate) fn listeners(&self) -> u32 {
        self.wake_up.listeners()
    }

    /// The [pause](super::spread) before its next try, as others wait, too.
    pub(crate) fn spread(&self) -> Option<Duration> {
        self.wake_up.spread()
    }

    /// Ends the waiter. The server is unsubscribed in the background: neither a grant nor the end of a wait
    /// depends on a connection that may be half-open.
    pub(crate) fn close(self) {
        for node in self.subscriptions.remove(&self.channel, &self.wake_up) {
            let (subscriptions, channel) = (self.subscriptions.clone(), self.channel.clone());
            tokio::spawn(async move { subscriptions.unsubscribe(&node, &channel).await });
        }
    }
}
