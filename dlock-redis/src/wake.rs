//! Hearing of releases: one pub/sub connection for all names.
//!
//! A message is a hint and may be lost with its connection. So whoever waits tries again after it has
//! subscribed, after the connection failed, and when the holder's ttl is over (T7).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use dlock_core::Result;
use redis::{AsyncConnectionConfig, Client, PushInfo, PushKind, Value, aio::MultiplexedConnection};
use tokio::sync::Notify;

use crate::{config::RedisConfig, errors, turns::Turns};

/// Whom to wake by the channel that they listen to.
type Listeners = Arc<Mutex<HashMap<String, Channel>>>;

#[derive(Default)]
struct Channel {
    /// Mostly one: a waiter that was cancelled may be leaving while the next one of its locker has
    /// come.
    listening: Vec<Arc<Notify>>,
    /// Whether the server may know of it. The last one to leave ends that, whoever began it.
    subscribed: bool,
}

#[derive(Clone)]
pub(crate) struct Wakes(Arc<Inner>);

struct Inner {
    client: Client,
    config: RedisConfig,
    listeners: Listeners,
    /// The connection, once somebody has listened and as long as it lives. Subscriptions are changed
    /// one at a time, so that none is ended after somebody else has begun it.
    ear: Turns<Option<Ear>>,
}

struct Ear {
    connection: MultiplexedConnection,
    over: Arc<AtomicBool>,
}

/// One that waits for a release of one name.
pub(crate) struct Listener {
    wakes: Wakes,
    channel: String,
    woken: Arc<Notify>,
    /// Whether the connection that it has subscribed on is over.
    over: Option<Arc<AtomicBool>>,
}

impl Wakes {
    pub(crate) fn new(client: Client, config: RedisConfig) -> Self {
        Self(Arc::new(Inner {
            client,
            config,
            listeners: Listeners::default(),
            ear: Turns::new(None),
        }))
    }

    /// One that hears nothing before it [subscribes](Listener::subscribe).
    pub(crate) fn listener(&self, channel: &str) -> Listener {
        let woken = Arc::new(Notify::new());
        lock(&self.0.listeners)
            .entry(channel.to_owned())
            .or_default()
            .listening
            .push(woken.clone());
        Listener {
            wakes: self.clone(),
            channel: channel.to_owned(),
            woken,
            over: None,
        }
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        if let Ok(mut ear) = self.0.ear.wait().await {
            *ear = None;
        }
    }

    /// Confirmed when it returns.
    async fn subscribe(&self, channel: &str) -> Result<Arc<AtomicBool>> {
        let mut turn = self.0.ear.wait().await?;
        let subscribed = async {
            let ear = match turn.take().filter(|ear| !ear.over.load(Ordering::Acquire)) {
                Some(ear) => turn.insert(ear),
                None => turn.insert(self.open().await?),
            };
            let refused = |error| errors::of_connect(error, &self.0.config);
            if let Some(channel) = lock(&self.0.listeners).get_mut(channel) {
                channel.subscribed = true;
            }
            let subscribed = ear.connection.subscribe(channel).await;
            subscribed.map(|()| ear.over.clone()).map_err(refused)
        }
        .await;
        if subscribed.is_err() {
            self.give_up(&mut turn);
        }
        turn.end(subscribed)
    }

    /// Ends the subscription that nobody needs any more.
    async fn unsubscribe(&self, channel: &str) {
        // After a failure there is no connection, and nothing to end.
        let Ok(mut turn) = self.0.ear.wait().await else {
            return;
        };
        // Looked at in this turn: who comes from now on subscribes after it.
        if !self.forget(channel) {
            return;
        }
        if let Some(ear) = turn.as_mut()
            && ear.connection.unsubscribe(channel).await.is_err()
        {
            self.give_up(&mut turn);
        }
    }

    /// Whether nobody needs this channel, which is not known any more then.
    fn forget(&self, channel: &str) -> bool {
        let mut listeners = lock(&self.0.listeners);
        let unused = |channel: &Channel| channel.listening.is_empty();
        let forgotten = listeners.get(channel).is_some_and(unused);
        if forgotten {
            listeners.remove(channel);
        }
        forgotten
    }

    /// Drops a connection of which nobody knows what it is subscribed to. All who listen look again
    /// by themselves.
    fn give_up(&self, ear: &mut Option<Ear>) {
        if let Some(ear) = ear.take() {
            ear.over.store(true, Ordering::Release);
        }
        lock(&self.0.listeners).retain(|_, channel| {
            channel.subscribed = false;
            !channel.listening.is_empty()
        });
        wake_all(&self.0.listeners);
    }

    async fn open(&self) -> Result<Ear> {
        let over = Arc::new(AtomicBool::new(false));
        let (listeners, ended) = (self.0.listeners.clone(), over.clone());
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.0.config.connect_max))
            .set_response_timeout(Some(self.0.config.answer_max))
            .set_push_sender(move |push: PushInfo| {
                if push.kind == PushKind::Disconnection {
                    ended.store(true, Ordering::Release);
                }
                hear(&listeners, &push);
                Ok::<(), redis::aio::SendError>(())
            });
        let client = &self.0.client;
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await;
        let refused = |error| errors::of_connect(error, &self.0.config);
        Ok(Ear {
            connection: connection.map_err(refused)?,
            over,
        })
    }
}

impl Listener {
    /// Whether releases are heard of. If not, they have to be [subscribed](Self::subscribe) to, and
    /// the store asked once more after that.
    pub(crate) fn is_subscribed(&self) -> bool {
        self.over
            .as_ref()
            .is_some_and(|over| !over.load(Ordering::Acquire))
    }

    /// Subscribes, over a new connection if there is none; confirmed when it returns.
    pub(crate) async fn subscribe(&mut self) -> Result<()> {
        self.over = Some(self.wakes.subscribe(&self.channel).await?);
        Ok(())
    }

    /// Ends after a release was published, or the connection failed, since the last call.
    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }

    /// Stops listening. The server is told in the background: neither a grant nor the end of a wait
    /// waits for a connection that may be half-open.
    pub(crate) fn leave(self) {
        let mut listeners = lock(&self.wakes.0.listeners);
        let Some(channel) = listeners.get_mut(&self.channel) else {
            return;
        };
        channel
            .listening
            .retain(|woken| !Arc::ptr_eq(woken, &self.woken));
        if !channel.listening.is_empty() {
            return;
        }
        if !channel.subscribed {
            listeners.remove(&self.channel);
            return;
        }
        drop(listeners);
        tokio::spawn(async move { self.wakes.unsubscribe(&self.channel).await });
    }
}

fn hear(listeners: &Listeners, push: &PushInfo) {
    match (&push.kind, push.data.first()) {
        (PushKind::Message, Some(Value::BulkString(channel))) => {
            let channel = String::from_utf8_lossy(channel);
            if let Some(channel) = lock(listeners).get(&*channel) {
                wake(channel);
            }
        }
        (PushKind::Disconnection, _) => wake_all(listeners),
        _ => {}
    }
}

fn wake_all(listeners: &Listeners) {
    for channel in lock(listeners).values() {
        wake(channel);
    }
}

/// Kept if it comes before the waiter waits: no wake-up is lost.
fn wake(channel: &Channel) {
    for woken in &channel.listening {
        woken.notify_one();
    }
}

fn lock(listeners: &Listeners) -> MutexGuard<'_, HashMap<String, Channel>> {
    listeners.lock().unwrap_or_else(PoisonError::into_inner)
}
