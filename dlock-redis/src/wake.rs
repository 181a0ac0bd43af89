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
    time::Duration,
};

use dlock_core::Result;
use redis::{AsyncConnectionConfig, Client, PushInfo, PushKind, Value, aio::MultiplexedConnection};
use tokio::sync::Notify;

use crate::errors;

/// Whom to wake by the channel that they listen to.
type Listeners = Arc<Mutex<HashMap<String, Arc<Notify>>>>;

pub(crate) struct Wakes {
    client: Client,
    connect_max: Duration,
    answer_max: Duration,
    listeners: Listeners,
    /// The connection, as long as somebody listens and it lives.
    ear: tokio::sync::Mutex<Option<Ear>>,
}

struct Ear {
    connection: MultiplexedConnection,
    over: Arc<AtomicBool>,
}

/// One that waits for a release of one name.
pub(crate) struct Listener<'a> {
    wakes: &'a Wakes,
    channel: String,
    woken: Arc<Notify>,
    /// Whether the connection that it has subscribed on is over.
    over: Option<Arc<AtomicBool>>,
}

impl Wakes {
    pub(crate) fn new(client: Client, connect_max: Duration, answer_max: Duration) -> Self {
        let (listeners, ear) = (Listeners::default(), tokio::sync::Mutex::default());
        Self {
            client,
            connect_max,
            answer_max,
            listeners,
            ear,
        }
    }

    /// One that hears nothing before it [subscribes](Listener::subscribe).
    pub(crate) fn listener(&self, channel: &str) -> Listener<'_> {
        let woken = Arc::new(Notify::new());
        lock(&self.listeners).insert(channel.to_owned(), woken.clone());
        Listener {
            wakes: self,
            channel: channel.to_owned(),
            woken,
            over: None,
        }
    }

    /// Ends the connection.
    pub(crate) async fn close(&self) {
        *self.ear.lock().await = None;
    }

    async fn open(&self) -> Result<Ear> {
        let over = Arc::new(AtomicBool::new(false));
        let (listeners, ended) = (self.listeners.clone(), over.clone());
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.connect_max))
            .set_response_timeout(Some(self.answer_max))
            .set_push_sender(move |push: PushInfo| {
                if push.kind == PushKind::Disconnection {
                    ended.store(true, Ordering::Release);
                }
                hear(&listeners, &push);
                Ok::<(), redis::aio::SendError>(())
            });
        let connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await;
        Ok(Ear {
            connection: connection.map_err(errors::of_connect)?,
            over,
        })
    }
}

impl Listener<'_> {
    /// Whether releases are heard of. If not, they have to be [subscribed](Self::subscribe) to, and
    /// the store asked once more after that.
    pub(crate) fn is_subscribed(&self) -> bool {
        self.over
            .as_ref()
            .is_some_and(|over| !over.load(Ordering::Acquire))
    }

    /// Subscribes, over a new connection if there is none; confirmed when it returns.
    pub(crate) async fn subscribe(&mut self) -> Result<()> {
        let mut slot = self.wakes.ear.lock().await;
        let ear = match slot.take().filter(|ear| !ear.over.load(Ordering::Acquire)) {
            Some(ear) => slot.insert(ear),
            None => slot.insert(self.wakes.open().await?),
        };
        let subscribed = ear.connection.subscribe(&self.channel).await;
        self.over = Some(ear.over.clone());
        if subscribed.is_err() {
            // Its state is unknown; the others who listen on it look again by themselves.
            ear.over.store(true, Ordering::Release);
            *slot = None;
            wake_all(&self.wakes.listeners);
        }
        subscribed.map_err(errors::of_connect)
    }

    /// Ends after a release was published, or the connection failed, since the last call.
    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }

    /// Unsubscribes.
    pub(crate) async fn leave(self) {
        // Held to the end: whoever listens next subscribes after this has unsubscribed.
        let mut slot = self.wakes.ear.lock().await;
        {
            // A cancelled waiter frees its turn at once: the next one may listen already.
            let mut listeners = lock(&self.wakes.listeners);
            let is_ours = |woken: &Arc<Notify>| Arc::ptr_eq(woken, &self.woken);
            if !listeners.get(&self.channel).is_some_and(is_ours) {
                return;
            }
            listeners.remove(&self.channel);
        }
        if !self.is_subscribed() {
            return;
        }
        if let Some(ear) = slot.as_mut() {
            // If it fails the connection is over, and the subscription with it.
            let _ = ear.connection.unsubscribe(&self.channel).await;
        }
    }
}

fn hear(listeners: &Listeners, push: &PushInfo) {
    match (&push.kind, push.data.first()) {
        (PushKind::Message, Some(Value::BulkString(channel))) => {
            let channel = String::from_utf8_lossy(channel);
            if let Some(woken) = lock(listeners).get(&*channel) {
                // Kept if it comes before the waiter waits: no wake-up is lost.
                woken.notify_one();
            }
        }
        (PushKind::Disconnection, _) => wake_all(listeners),
        _ => {}
    }
}

fn wake_all(listeners: &Listeners) {
    lock(listeners)
        .values()
        .for_each(|woken| woken.notify_one());
}

fn lock(listeners: &Listeners) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
    listeners.lock().unwrap_or_else(PoisonError::into_inner)
}
