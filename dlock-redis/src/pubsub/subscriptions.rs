//! Subscriptions to releases: one pub/sub connection to a server, for all names.
//!
//! A message is a hint. So a waiter tries again after it has subscribed, after the connection failed, and when
//! the holder's ttl has ended (K6).

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use dlock_core::{
    Error, ErrorKind, Result,
    toolkit::{Lock, Turn},
};

use crate::conn::{
    node::Node,
    pubsub::PubSub,
    subscription::{PushHandler, Subscription},
};
use crate::pubsub::wake_up::WakeUp;

/// No release woke the waiters: each of them tries at once.
const ALL_AT_ONCE: u32 = 0;

/// The waiters to wake, by channel.
#[derive(Clone, Default)]
pub(crate) struct Subscriptions(Arc<Lock<HashMap<String, Channel>>>);

#[derive(Default)]
struct Channel {
    /// Mostly one: a cancelled waiter may be leaving while the next one of its locker has come.
    waiters: Vec<Arc<WakeUp>>,
    /// Nodes that may have a subscription. The last waiter ends it, even if another one began it.
    nodes: Vec<Arc<Node>>,
}

/// Delivers the messages of one node's connection.
struct NodeMessages {
    subscriptions: Subscriptions,
    node: Weak<Node>,
}

impl Subscriptions {
    /// Adds a waiter, which is not woken before the channel is [subscribed](Self::subscribe) to.
    pub(super) fn add(&self, channel: &str, waiter: Arc<WakeUp>) {
        let mut channels = self.0.lock();
        let channel = channels.entry(channel.to_owned()).or_default();
        channel.waiters.push(waiter);
    }

    /// Removes a waiter: the nodes whose subscription no waiter needs any more.
    pub(super) fn remove(&self, name: &str, waiter: &Arc<WakeUp>) -> Vec<Arc<Node>> {
        let mut channels = self.0.lock();
        let Some(channel) = channels.get_mut(name) else {
            return Vec::new();
        };
        channel.waiters.retain(|other| !Arc::ptr_eq(other, waiter));
        if !channel.waiters.is_empty() {
            return Vec::new();
        }
        let nodes = channel.nodes.clone();
        if channel.is_unused() {
            channels.remove(name);
        }
        nodes
    }

    /// Subscribes to `channel`, confirmed when it returns; `None` if it has no waiters any more.
    pub(super) async fn subscribe(
        &self,
        node: &Arc<Node>,
        channel: &str,
    ) -> Result<Option<Subscription>> {
        let (subscriptions, at, channel) = (self.clone(), node.clone(), channel.to_owned());
        let work = |mut turn: Turn<Option<PubSub>>| async move {
            let subscribed = subscriptions.subscribe_on(&mut turn, &at, &channel).await;
            drop_if_closed(&at, &mut turn);
            turn.finish(subscribed)
        };
        node.pubsub.run(work).await
    }

    /// Ends a subscription that no waiter needs any more.
    pub(super) async fn unsubscribe(&self, node: &Arc<Node>, channel: &str) {
        let (subscriptions, at, channel) = (self.clone(), node.clone(), channel.to_owned());
        let work = |mut turn: Turn<Option<PubSub>>| async move {
            // Checked in this turn: a waiter that comes from now on subscribes after it.
            if subscriptions.has(&channel) {
                return Ok(());
            }
            subscriptions.forget_node(&at, |name| name == channel);
            if let Some(pubsub) = turn.as_mut()
                && pubsub.unsubscribe(&channel).await.is_err()
            {
                subscriptions.drop_connection(&at, &mut turn);
            }
            drop_if_closed(&at, &mut turn);
            Ok(())
        };
        // After a failure there is no connection, and no subscription.
        let _ = node.pubsub.run(work).await;
    }

    async fn subscribe_on(
        &self,
        slot: &mut Option<PubSub>,
        node: &Arc<Node>,
        channel: &str,
    ) -> Result<Option<Subscription>> {
        if !self.has(channel) {
            return Ok(None);
        }
        let generation = node.generation();
        if slot
            .as_ref()
            .is_some_and(|pubsub| !pubsub.subscription().is_live(generation))
        {
            // Its waiters get no messages any more, and must subscribe again.
            self.drop_connection(node, slot);
        }
        if slot.is_none() {
            let connected = self.connect(node, generation).await;
            // A channel is for a lock that the server has reported as taken.
            *slot = Some(connected.map_err(Error::without_url_hint)?);
        }
        if node.is_closed() {
            *slot = None;
            return Err(Error::closed());
        }
        let Some(pubsub) = slot.as_mut() else {
            return Err(Error::closed());
        };
        if !self.note_node(node, channel) {
            return Ok(None);
        }
        pubsub.subscription().notify_subscribed();
        match pubsub.subscribe(channel).await {
            Ok(()) => Ok(Some(pubsub.subscription().clone())),
            Err(error) => {
                // A subscription that is refused does not concern the others.
                if error.kind() == ErrorKind::Unavailable {
                    self.drop_connection(node, slot);
                }
                Err(error.without_url_hint())
            }
        }
    }

    async fn connect(&self, node: &Arc<Node>, generation: Option<u64>) -> Result<PubSub> {
        let endpoint = node.resolve().await?;
        let messages = Arc::new(NodeMessages {
            subscriptions: self.clone(),
            node: Arc::downgrade(node),
        });
        let mut pubsub = PubSub::open(&endpoint, node.is_clustered(), generation, messages).await?;
        node.check_same_run(&pubsub.run_id().await?)?;
        Ok(pubsub)
    }

    /// Notes that the node may have a subscription from now on; `false` if the channel has no waiters any more.
    fn note_node(&self, node: &Arc<Node>, channel: &str) -> bool {
        let mut channels = self.0.lock();
        let channel = channels.get_mut(channel);
        let Some(channel) = channel.filter(|channel| !channel.waiters.is_empty()) else {
            return false;
        };
        channel.forget_node(node);
        channel.nodes.push(node.clone());
        true
    }

    /// Drops a connection whose subscriptions are unknown. All waiters try again.
    fn drop_connection(&self, node: &Arc<Node>, slot: &mut Option<PubSub>) {
        if let Some(pubsub) = slot.take() {
            pubsub.subscription().end();
        }
        self.forget_node(node, |_| true);
        self.wake_all();
    }

    /// Notes that the node has none of these subscriptions any more.
    fn forget_node(&self, node: &Arc<Node>, which: impl Fn(&str) -> bool) {
        self.0.lock().retain(|name, channel| {
            if which(name) {
                channel.forget_node(node);
            }
            !channel.is_unused()
        });
    }

    /// Whether `channel` has waiters.
    fn has(&self, channel: &str) -> bool {
        let channels = self.0.lock();
        let channel = channels.get(channel);
        channel.is_some_and(|channel| !channel.waiters.is_empty())
    }

    fn wake_all(&self) {
        for channel in self.0.lock().values() {
            channel.wake(ALL_AT_ONCE);
        }
    }
}

impl PushHandler for NodeMessages {
    fn wake(&self, channel: &str, listeners: u32) {
        if let Some(channel) = self.subscriptions.0.lock().get(channel) {
            channel.wake(listeners);
        }
    }

    fn wake_all(&self) {
        self.subscriptions.wake_all();
    }

    fn has_waiter(&self, channel: &str) -> bool {
        self.subscriptions.has(channel)
    }

    fn has_any_waiter(&self) -> bool {
        let Some(node) = self.node.upgrade() else {
            return false;
        };
        self.subscriptions.0.lock().values().any(|channel| {
            !channel.waiters.is_empty() && channel.nodes.iter().any(|at| Arc::ptr_eq(at, &node))
        })
    }
}

impl Channel {
    /// Wakes all waiters, also one that does not wait yet: no wake-up is lost.
    fn wake(&self, listeners: u32) {
        for waiter in &self.waiters {
            waiter.wake(listeners);
        }
    }

    fn forget_node(&mut self, node: &Arc<Node>) {
        self.nodes.retain(|other| !Arc::ptr_eq(other, node));
    }

    fn is_unused(&self) -> bool {
        self.waiters.is_empty() && self.nodes.is_empty()
    }
}

/// Drops the connection of a closed node, which could not drop it during this turn.
fn drop_if_closed(node: &Node, slot: &mut Option<PubSub>) {
    if node.is_closed() {
        *slot = None;
    }
}
