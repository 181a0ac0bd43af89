//! Hearing of releases: one pub/sub connection to a server, for all names.
//!
//! A message is a hint. So whoever waits tries again after it has subscribed, after the connection
//! failed, and when the holder's ttl is over (T7).

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Weak},
};

use dlock_core::{
    Error, ErrorKind, Result,
    toolkit::{Lock, Turn},
};
use tokio::{sync::Notify, task::JoinHandle};

use crate::{
    ear::{Ear, Hearing},
    session::Session,
};

/// Whom to wake by the channel that they listen to.
#[derive(Clone, Default)]
pub(crate) struct Listeners(Arc<Lock<HashMap<String, Channel>>>);

#[derive(Default)]
struct Channel {
    /// Mostly one: a waiter that was cancelled may be leaving while the next one of its locker has
    /// come.
    listening: Vec<Arc<Notify>>,
    /// Servers that may know of a subscription. The last one to leave ends it, whoever began it.
    known_to: Vec<Arc<Session>>,
}

/// A subscription that is being made; it brings nothing if nobody wants it any more.
type Subscribing = JoinHandle<Result<Option<Hearing>>>;

/// One that waits for a release of one name.
pub(crate) struct Listener {
    listeners: Listeners,
    channel: String,
    woken: Arc<Notify>,
    /// Where it has subscribed.
    subscribed: Option<(Arc<Session>, Hearing)>,
    /// Where it is about to.
    subscribing: Option<(Arc<Session>, Subscribing)>,
}

impl Listeners {
    /// One that hears nothing before it [subscribes](Listener::subscribe).
    pub(crate) fn listener(&self, channel: &str) -> Listener {
        let woken = Arc::new(Notify::new());
        self.0
            .lock()
            .entry(channel.to_owned())
            .or_default()
            .listening
            .push(woken.clone());
        Listener {
            listeners: self.clone(),
            channel: channel.to_owned(),
            woken,
            subscribed: None,
            subscribing: None,
        }
    }

    /// Whether somebody listens to `channel`.
    pub(crate) fn has(&self, channel: &str) -> bool {
        let channels = self.0.lock();
        let channel = channels.get(channel);
        channel.is_some_and(|channel| !channel.listening.is_empty())
    }

    /// Whether somebody listens to a channel of this server.
    fn has_any_at(&self, session: &Weak<Session>) -> bool {
        let Some(session) = session.upgrade() else {
            return false;
        };
        self.0.lock().values().any(|channel| {
            !channel.listening.is_empty()
                && channel.known_to.iter().any(|at| Arc::ptr_eq(at, &session))
        })
    }

    pub(crate) fn wake(&self, channel: &str) {
        if let Some(channel) = self.0.lock().get(channel) {
            channel.wake();
        }
    }

    pub(crate) fn wake_all(&self) {
        for channel in self.0.lock().values() {
            channel.wake();
        }
    }

    /// Confirmed when it returns; `None` if nobody listens to `channel` any more.
    async fn subscribe(&self, session: &Arc<Session>, channel: &str) -> Result<Option<Hearing>> {
        let (listeners, at, channel) = (self.clone(), session.clone(), channel.to_owned());
        let work = |mut turn: Turn<Option<Ear>>| async move {
            let subscribed = listeners.subscribed(&at, &channel, &mut turn).await;
            drop_if_closed(&at, &mut turn);
            turn.finish(subscribed)
        };
        session.ear.run(work).await
    }

    async fn subscribed(
        &self,
        session: &Arc<Session>,
        channel: &str,
        slot: &mut Option<Ear>,
    ) -> Result<Option<Hearing>> {
        if !self.has(channel) {
            return Ok(None);
        }
        let serial = session.serial();
        if slot
            .as_ref()
            .is_some_and(|ear| !ear.hearing().is_on(serial))
        {
            // Those who listen on it do not hear any more, and have to know.
            self.give_up(session, slot);
        }
        if slot.is_none() {
            let line = session.place().find().await?;
            let sharded = session.is_clustered();
            let (listeners, at) = (self.clone(), Arc::downgrade(session));
            let waits = move || listeners.has_any_at(&at);
            let mut ear = Ear::open(&line, sharded, serial, self.clone(), waits).await?;
            session.check_same(&ear.run().await?)?;
            *slot = Some(ear);
        }
        if session.is_closed() {
            *slot = None;
            return Err(Error::closed());
        }
        let Some(ear) = slot.as_mut() else {
            return Err(Error::closed());
        };
        if !self.make_known(session, channel) {
            return Ok(None);
        }
        ear.hearing().want();
        match ear.subscribe(channel).await {
            Ok(()) => Ok(Some(ear.hearing().clone())),
            Err(error) => {
                // One that is refused is nobody else's matter.
                if error.kind() == ErrorKind::Unavailable {
                    self.give_up(session, slot);
                }
                Err(error)
            }
        }
    }

    /// The server knows of the channel from now on; false if nobody listens to it any more.
    fn make_known(&self, session: &Arc<Session>, channel: &str) -> bool {
        let mut channels = self.0.lock();
        let channel = channels.get_mut(channel);
        let Some(channel) = channel.filter(|channel| !channel.listening.is_empty()) else {
            return false;
        };
        channel.forget(session);
        channel.known_to.push(session.clone());
        true
    }

    /// Ends the subscription that nobody needs any more.
    async fn unsubscribe(&self, session: &Arc<Session>, channel: &str) {
        let (listeners, at, channel) = (self.clone(), session.clone(), channel.to_owned());
        let work = |mut turn: Turn<Option<Ear>>| async move {
            // Looked at in this turn: who comes from now on subscribes after it.
            if listeners.has(&channel) {
                return Ok(());
            }
            listeners.forget(&at, |name| name == channel);
            if let Some(ear) = turn.as_mut()
                && ear.unsubscribe(&channel).await.is_err()
            {
                listeners.give_up(&at, &mut turn);
            }
            drop_if_closed(&at, &mut turn);
            Ok(())
        };
        // After a failure there is no connection, and nothing to end.
        let _ = session.ear.run(work).await;
    }

    /// Drops a connection of which nobody knows what it is subscribed to. All who listen look again
    /// by themselves.
    fn give_up(&self, session: &Arc<Session>, ear: &mut Option<Ear>) {
        if let Some(ear) = ear.take() {
            ear.hearing().end();
        }
        self.forget(session, |_| true);
        self.wake_all();
    }

    /// The server does not know of these channels any more.
    fn forget(&self, session: &Arc<Session>, which: impl Fn(&str) -> bool) {
        self.0.lock().retain(|name, channel| {
            if which(name) {
                channel.forget(session);
            }
            !channel.is_unused()
        });
    }
}

/// Who closed the session could not, as it was somebody's turn.
fn drop_if_closed(session: &Session, ear: &mut Option<Ear>) {
    if session.is_closed() {
        *ear = None;
    }
}

impl Listener {
    /// Whether releases in this server are heard of. If not, they have to be
    /// [subscribed](Self::subscribe) to, and the store asked once more after that.
    pub(crate) fn is_subscribed(&self, session: &Arc<Session>) -> bool {
        let subscribed = self.subscribed.as_ref();
        self.hears() && subscribed.is_some_and(|(at, _)| Arc::ptr_eq(at, session))
    }

    /// Whether the connection is still there on which it has subscribed.
    pub(crate) fn hears(&self) -> bool {
        let subscribed = self.subscribed.as_ref();
        subscribed.is_some_and(|(at, hearing)| hearing.is_on(at.serial()))
    }

    /// Whether that connection may be deaf.
    pub(crate) fn may_be_deaf(&self) -> bool {
        let subscribed = self.subscribed.as_ref();
        subscribed.is_some_and(|(_, hearing)| hearing.is_late())
    }

    /// Whether it had subscribed, which counts no more.
    pub(crate) fn forget(&mut self) -> bool {
        self.subscribed.take().is_some()
    }

    /// Subscribes, over a new connection if there is none; confirmed when it returns. If it is dropped, it
    /// goes on, and the next call waits for the same.
    pub(crate) async fn subscribe(&mut self, session: &Arc<Session>) -> Result<()> {
        self.subscribing
            .take_if(|(at, _)| !Arc::ptr_eq(at, session));
        let (_, subscribing) = self.subscribing.get_or_insert_with(|| {
            let (listeners, at) = (self.listeners.clone(), session.clone());
            let channel = self.channel.clone();
            let work = async move { listeners.subscribe(&at, &channel).await };
            (session.clone(), tokio::spawn(work))
        });
        let hearing = subscribing.await;
        self.subscribing = None;
        let given_up = || Error::new(ErrorKind::Unavailable, "the subscription was given up");
        let hearing = hearing.map_err(|error| given_up().with_source(error))?;
        let hearing = hearing?.ok_or_else(given_up)?;
        self.subscribed = Some((session.clone(), hearing));
        // What woke it up to now is made up for by asking once more.
        pin!(self.woken.notified()).enable();
        Ok(())
    }

    /// Ends after a release was published, or the connection failed, since the last call.
    pub(crate) async fn woken(&self) {
        self.woken.notified().await;
    }

    /// Stops listening. The server is told in the background: neither a grant nor the end of a wait
    /// waits for a connection that may be half-open.
    pub(crate) fn leave(self) {
        let Self {
            listeners,
            channel,
            woken,
            ..
        } = self;
        let known_to = {
            let mut channels = listeners.0.lock();
            let Some(left) = channels.get_mut(&channel) else {
                return;
            };
            left.listening.retain(|other| !Arc::ptr_eq(other, &woken));
            if !left.listening.is_empty() {
                return;
            }
            let known_to = left.known_to.clone();
            if left.is_unused() {
                channels.remove(&channel);
            }
            known_to
        };
        for session in known_to {
            let (listeners, channel) = (listeners.clone(), channel.clone());
            tokio::spawn(async move { listeners.unsubscribe(&session, &channel).await });
        }
    }
}

impl Channel {
    /// Kept if it comes before the waiter waits: no wake-up is lost.
    fn wake(&self) {
        for woken in &self.listening {
            woken.notify_one();
        }
    }

    fn forget(&mut self, session: &Arc<Session>) {
        self.known_to.retain(|known| !Arc::ptr_eq(known, session));
    }

    fn is_unused(&self) -> bool {
        self.listening.is_empty() && self.known_to.is_empty()
    }
}
