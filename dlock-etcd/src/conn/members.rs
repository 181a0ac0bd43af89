//! The connection for requests, to one member at a time.
//!
//! The driver spreads requests over all members, also over those that do not answer. So each member
//! has a driver's client of its own here; when one fails, the next one is asked, and everything that
//! lasts (watches) moves there, too.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    Clock, Effect, Error, ErrorKind, Result,
    backend::SentAt,
    toolkit::{Lock, SingleFlight, Turn},
};
use etcd_client::{Client, ConnectOptions, Error as DriverError, ResponseHeader};
use tokio::{sync::watch, time::timeout};

use crate::{
    config::EtcdConfig,
    errors::{self, Failure},
};

/// The connection to one member of several.
pub(crate) struct Session {
    pub(crate) config: EtcdConfig,
    pub(crate) clock: Clock,
    endpoints: Vec<String>,
    options: ConnectOptions,
    slot: Lock<Slot>,
    /// Only one logs in at a time.
    connecting: SingleFlight<()>,
    /// The number of the present connection: what hangs on an older one moves.
    moved: watch::Sender<u64>,
    closed: AtomicBool,
    /// Whether it was said that leases are longer than expected.
    has_warned: AtomicBool,
    term: AtomicU64,
}

#[derive(Default)]
struct Slot {
    /// The member that is asked at present, or next.
    at: usize,
    link: Option<Link>,
    serial: u64,
}

/// A connection.
#[derive(Clone)]
pub(crate) struct Link {
    /// A clone of it is a clone of each of its parts.
    pub(crate) client: Arc<Client>,
    pub(crate) serial: u64,
}

impl Session {
    pub(crate) fn new(config: EtcdConfig) -> Result<Self> {
        Ok(Self {
            endpoints: config.endpoints(),
            options: config.options()?,
            config,
            clock: Clock::boottime(),
            slot: Lock::default(),
            connecting: SingleFlight::new(()),
            moved: watch::Sender::default(),
            closed: AtomicBool::new(false),
            has_warned: AtomicBool::new(false),
            term: AtomicU64::new(0),
        })
    }

    /// The last term of the cluster that was seen in the answer to a linearizable read.
    pub(crate) fn term(&self) -> u64 {
        self.term.load(Ordering::Acquire)
    }

    /// Notes the term in the answer to a linearizable read.
    pub(crate) fn saw_term(&self, header: Option<&ResponseHeader>) -> Result<u64> {
        let header = header.ok_or_else(|| errors::nonsense("no header"))?;
        // Also a smaller one: of a cluster that was restored, or made anew. What comes late costs a move.
        self.term.store(header.raft_term(), Ordering::Release);
        Ok(header.raft_term())
    }

    /// Whether to say that leases are longer than expected: once.
    pub(crate) fn warns_of_leases(&self) -> bool {
        !self.has_warned.swap(true, Ordering::AcqRel)
    }

    /// Reads the clock for a request that is about to be sent.
    pub(crate) fn start(&self) -> SentAt {
        SentAt::now(&self.clock)
    }

    /// Asks a member, and the next one if that fails in a way in which another may not. What is asked
    /// may be asked twice. The effect is unknown if any of them may have done it.
    ///
    /// Takes no longer than the URL's `timeout` for each member, and for one of them twice, besides
    /// logging in.
    pub(crate) async fn ask<T, F>(self: &Arc<Self>, asks: impl Fn(Arc<Client>) -> F) -> Result<T>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        self.ask_noting(&AtomicBool::new(false), asks).await
    }

    /// As [`ask`](Self::ask); `doubtful` is set when a member may have done it, or will, without our
    /// hearing so.
    pub(crate) async fn ask_noting<T, F>(
        self: &Arc<Self>,
        doubtful: &AtomicBool,
        asks: impl Fn(Arc<Client>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        self.ask_within(self.config.answer_max, doubtful, asks)
            .await
    }

    /// As [`ask_noting`](Self::ask_noting), with `max` for each member's answer.
    pub(crate) async fn ask_within<T, F>(
        self: &Arc<Self>,
        max: Duration,
        doubtful: &AtomicBool,
        asks: impl Fn(Arc<Client>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        let mut tries = self.endpoints.len() + 1;
        let mut silences = self.endpoints.len();
        let mut unknown = false;
        loop {
            let answer = self.ask_once(max, &asks).await;
            let Failure { error, ends_link } = match answer {
                Ok(answer) => return Ok(answer),
                Err((failure, was_silent)) => {
                    silences -= usize::from(was_silent);
                    failure
                }
            };
            tries -= 1;
            if error.effect() == Effect::Unknown {
                unknown = true;
                doubtful.store(true, Ordering::Release);
            }
            if !ends_link || tries == 0 || silences == 0 || self.is_closed() {
                let effect = if unknown {
                    Effect::Unknown
                } else {
                    Effect::None
                };
                return Err(error.with_effect(effect));
            }
        }
    }

    /// One try; whether it failed by silence.
    async fn ask_once<T, F>(
        self: &Arc<Self>,
        max: Duration,
        asks: &impl Fn(Arc<Client>) -> F,
    ) -> Result<T, (Failure, bool)>
    where
        F: Future<Output = Result<T, DriverError>>,
    {
        let link = self.link().await.map_err(|error| {
            // All members were tried.
            let ends_link = false;
            (Failure { error, ends_link }, false)
        })?;
        // A request that is dropped before it was answered, by its caller or here, is doubtful; the
        // caller knows that of itself.
        let (failure, was_silent) = match timeout(max, asks(link.client.clone())).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => (errors::of_request(error, &self.config), false),
            Err(_) => (errors::silent(max), true),
        };
        if failure.ends_link {
            self.leave(link.serial);
        }
        Err((failure, was_silent))
    }

    /// The present connection, or a new one to the first member that can be logged in to.
    pub(crate) async fn link(self: &Arc<Self>) -> Result<Link> {
        if let Some(link) = self.current()? {
            return Ok(link);
        }
        let session = self.clone();
        let work = |turn: Turn<()>| async move {
            let link = match session.current() {
                Ok(None) => session.open_any().await,
                Ok(Some(link)) => Ok(link),
                Err(error) => Err(error),
            };
            turn.finish(link)
        };
        self.connecting.run(work).await
    }

    async fn open_any(&self) -> Result<Link> {
        let mut last = errors::closed();
        for _ in 0..self.endpoints.len() {
            match self.open().await {
                Ok(client) => return self.install(client),
                Err(Failure { error, ends_link }) => {
                    if !ends_link {
                        return Err(error);
                    }
                    last = error;
                    self.next(&mut self.slot.lock());
                }
            }
        }
        Err(last)
    }

    /// A login, if there is one; the connection itself is made with the first request.
    async fn open(&self) -> Result<Client, Failure> {
        let endpoint = self.endpoints[self.slot.lock().at].clone();
        let max = self.config.connect_max;
        match timeout(max, Client::connect([endpoint], Some(self.options.clone()))).await {
            Ok(Ok(client)) => Ok(client),
            Ok(Err(error)) => {
                let Failure { error, ends_link } = errors::of_request(error, &self.config);
                let error = error.with_effect(Effect::None);
                Err(Failure { error, ends_link })
            }
            Err(_) => Err(errors::silent(max)),
        }
    }

    fn install(&self, client: Client) -> Result<Link> {
        let mut slot = self.slot.lock();
        if self.is_closed() {
            return Err(errors::closed());
        }
        slot.serial += 1;
        let link = Link {
            client: Arc::new(client),
            serial: slot.serial,
        };
        slot.link = Some(link.clone());
        Ok(link)
    }

    fn current(&self) -> Result<Option<Link>> {
        let slot = self.slot.lock();
        if self.is_closed() {
            return Err(errors::closed());
        }
        Ok(slot.link.clone())
    }

    /// Gives up the connection with this number; the next request goes to the next member.
    pub(crate) fn leave(&self, serial: u64) {
        let mut slot = self.slot.lock();
        if slot.link.as_ref().is_some_and(|link| link.serial == serial) {
            self.next(&mut slot);
            self.moved.send_replace(serial + 1);
        }
    }

    fn next(&self, slot: &mut Slot) {
        slot.link = None;
        slot.at = (slot.at + 1) % self.endpoints.len();
    }

    /// Ends when the connection with this number was given up.
    pub(crate) async fn left(&self, serial: u64) {
        let mut moved = self.moved.subscribe();
        // The sender lives as long as `self`.
        let _ = moved.wait_for(|present| *present > serial).await;
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.slot.lock().link = None;
        self.moved.send_replace(u64::MAX);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends when the backend was closed.
    pub(crate) async fn closed(&self) {
        self.left(u64::MAX - 1).await;
    }
}

/// Whether asking again later may help.
pub(crate) fn may_pass(error: &Error) -> bool {
    error.kind() == ErrorKind::Unavailable
}
