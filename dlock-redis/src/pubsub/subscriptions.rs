//! Subscriptions to releases: one pub/sub connection to a server, for all names.
//!
//! A message is a hint. So a waiter tries again after it has subscribed, after the connection failed, and when
//! the holder's ttl has ended (K6).

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Weak},
};

use dlock_core::{
    Error, ErrorKind, Result,
    toolkit::{Lock, Turn},
};
use tokio::sync::oneshot;

use crate::conn::{
    node::Node,
    pubsub::PubSub,
    subscription::{PushHandler, Subscribe, Subscription},
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

    /// Subscribes to `channel`, confirmed when it returns. A failure if it has no waiters any more.
    ///
    /// Subscriptions of many waiters are sent together. A refused one does not concern the others (K13).
    pub(super) async fn subscribe(&self, node: &Arc<Node>, channel: &str) -> Result<Subscription> {
        let (answer, mut answered) = oneshot::channel();
        let channel = channel.to_owned();
        node.to_subscribe.lock().push(Subscribe { channel, answer });
        let (subscriptions, at) = (self.clone(), node.clone());
        let work = |mut turn: Turn<Option<PubSub>>| async move {
            let subscribed = subscriptions.subscribe_on(&mut turn, &at).await;
            drop_if_closed(&at, &mut turn);
            turn.finish(subscribed)
        };
        let answer = tokio::select! {
            biased;
            // An earlier turn may have done it.
            answer = &mut answered => answer,
            done = node.pubsub.run(work) => {
                done?;
                answered.await
            }
        };
        answer.unwrap_or_else(|gone| Err(abandoned(gone)))
    }

    /// Ends a subscription that no waiter needs any more.
    pub(super) async fn unsubscribe(&self, node: &Arc<Node>, channel: &str) {
        node.to_unsubscribe.lock().push(channel.to_owned());
        let (subscriptions, at) = (self.clone(), node.clone());
        let work = |mut turn: Turn<Option<PubSub>>| async move {
            subscriptions.unsubscribe_on(&mut turn, &at).await;
            drop_if_closed(&at, &mut turn);
            Ok(())
        };
        // After a failure there is no connection, and no subscription.
        let _ = node.pubsub.run(work).await;
    }

    async fn subscribe_on(&self, slot: &mut Option<PubSub>, node: &Arc<Node>) -> Result<()> {
        let mut requests = std::mem::take(&mut *node.to_subscribe.lock());
        requests.retain(|request| !request.answer.is_closed() && self.has(&request.channel));
        if requests.is_empty() {
            return Ok(());
        }
        let pubsub = match self.connected(slot, node).await {
            Ok(pubsub) => pubsub,
            Err(error) => {
                for request in requests {
                    let _ = request.answer.send(Err(error.duplicate()));
                }
                return Err(error);
            }
        };
        requests.retain(|request| self.note_node(node, &request.channel));
        let (channels, answers): (Vec<_>, Vec<_>) = requests
            .into_iter()
            .map(|request| (request.channel, request.answer))
            .unzip();
        let subscription = pubsub.subscription().clone();
        subscription.notify_subscribed();
        let mut failure = None;
        for (answer, subscribed) in answers.into_iter().zip(pubsub.subscribe(&channels).await) {
            let subscribed = subscribed.map_err(Error::without_url_hint);
            if let Err(error) = &subscribed
                && error.kind() == ErrorKind::Unavailable
            {
                failure = Some(error.duplicate());
            }
            let _ = answer.send(subscribed.map(|()| subscription.clone()));
        }
        match failure {
            None => Ok(()),
            Some(error) => {
                self.drop_connection(node, slot);
                Err(error)
            }
        }
    }

    async fn unsubscribe_on(&self, slot: &mut Option<PubSub>, node: &Arc<Node>) {
        let mut channels = std::mem::take(&mut *node.to_unsubscribe.lock());
        // Checked in this turn: a waiter that comes from now on subscribes after it.
        channels.retain(|channel| !self.has(channel));
        self.forget_channels(node, &channels);
        if let Some(pubsub) = slot.as_mut()
            && pubsub
                .unsubscribe(&channels)
                .await
                .iter()
                .any(Result::is_err)
        {
            self.drop_connection(node, slot);
        }
    }

    /// The connection, a new one if there is none or it has ended.
    async fn connected<'a>(
        &self,
        slot: &'a mut Option<PubSub>,
        node: &Arc<Node>,
    ) -> Result<&'a PubSub> {
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
        }
        slot.as_ref().ok_or_else(Error::closed)
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
        self.forget_all(node);
        self.wake_all();
    }

    /// Notes that the node has none of these subscriptions any more.
    fn forget_channels(&self, node: &Arc<Node>, names: &[String]) {
        let mut channels = self.0.lock();
        for name in names {
            if let Entry::Occupied(mut channel) = channels.entry(name.clone()) {
                channel.get_mut().forget_node(node);
                if channel.get().is_unused() {
                    channel.remove();
                }
            }
        }
    }

    /// Notes that the node has no subscriptions any more.
    fn forget_all(&self, node: &Arc<Node>) {
        self.0.lock().retain(|_, channel| {
            channel.forget_node(node);
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

    fn generation(&self) -> Option<u64> {
        self.node.upgrade()?.generation()
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

/// The failure of a subscription that was not made.
pub(super) fn abandoned(why: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Unavailable, "the subscription was abandoned").with_source(why)
}

/// Drops the connection of a closed node, which could not drop it during this turn.
fn drop_if_closed(node: &Node, slot: &mut Option<PubSub>) {
    if node.is_closed() {
        *slot = None;
    }
}
