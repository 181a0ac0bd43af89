//! The connection for requests, remade when it ends.
//!
//! The driver's own reconnecting is silent, and a server must be looked at each time that we come
//! back to it: it may have been demoted, or have lost its memory.

use std::{
    pin::pin,
    sync::{
        Arc, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{
    BootInstant, Clock, Effect, Error, ErrorKind, Result,
    toolkit::{Lock, SingleFlight},
};
use redis::{Cmd, RedisResult, Value, aio::MultiplexedConnection};

use crate::{
    ear::Ear,
    errors,
    history::{Former, History},
    options::RedisOptions,
    place::Place,
    server::{self, Client, Expected},
};

/// A request that had no answer may still be done for as long as this: the network keeps it, or a server
/// that was stopped. TCP gives up after about as long.
pub(crate) const LATE_MAX: Duration = Duration::from_secs(15 * 60);

/// So many connections that were left are remembered, for [`LATE_MAX`] each: with each one that is made
/// they are ended, so there are more only while connections end as soon as they are made.
const LEFT_MAX: usize = 16;

/// A server that cannot write down that it may have forgotten locks is looked at anew after this.
const RELOOK_AFTER: Duration = Duration::from_secs(1);
/// No connection keeps a renewal or a release waiting for longer, or core would drop each try while the
/// first one hangs: half of [`RELEASE_TRY_MAX`](dlock_core::backend::RELEASE_TRY_MAX).
pub(crate) const PATIENCE_MAX: Duration = Duration::from_millis(2_500);

/// The connections to one server.
pub(crate) struct Session {
    place: Place,
    options: RedisOptions,
    /// The server is a node of a Cluster.
    clustered: bool,
    /// The highest token that we were given, by this server or another one of its kind.
    highest: Arc<AtomicU64>,
    clock: Clock,
    link: Lock<Option<Link>>,
    /// Only one connects at a time.
    connecting: SingleFlight<()>,
    serial: AtomicU64,
    /// The history of the server that we were in contact with, and when it answered last, in nanoseconds.
    known: Lock<Option<History>>,
    contact: AtomicU64,
    /// Connections that we have left, and which their server may not have heard all of.
    left: Lock<Vec<Left>>,
    closed: AtomicBool,
    /// For the releases that are waited for, once somebody waits. Subscriptions are changed one at a
    /// time, so that none is ended after somebody else has begun it.
    pub(crate) ear: SingleFlight<Option<Ear>>,
}

/// A connection that we have left.
#[derive(Clone, PartialEq)]
struct Left {
    client: Client,
    at: BootInstant,
}

/// One connection for requests.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) connection: MultiplexedConnection,
    serial: u64,
    client: Client,
    /// What the server remembers, and from when on it grants again; or why it grants nothing, and when
    /// that was. Whatever it is, renewals and releases go on.
    grants: std::result::Result<(Arc<History>, BootInstant), (Arc<Error>, BootInstant)>,
    /// Only one waits for replicas: nothing else is answered on the connection meanwhile.
    pub(crate) confirming: Arc<SingleFlight<()>>,
}

/// A request: what it says, given the connection and whether a script goes in full. Asked again after
/// its answer was lost, it must do no harm (T1, T3).
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) says: &'a (dyn Fn(&Link, bool) -> Cmd + Sync),
    /// It grants a lock.
    pub(crate) grants: bool,
    /// If there is no answer for this long, it is asked over a fresh connection, too. Not for what
    /// grants.
    pub(crate) patience: Option<Duration>,
    /// For a slot that the node is about to get.
    pub(crate) asking: bool,
}

/// The answer, and where it came from.
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) link: Link,
    session: Arc<Session>,
}

impl Link {
    /// What the server remembers, if it may grant.
    pub(crate) fn history(&self) -> Option<&History> {
        self.grants.as_ref().ok().map(|(history, _)| &**history)
    }
}

impl Answer {
    /// Looks at the server again before it is asked again, if it says that it is a replica now.
    pub(crate) fn end_if_replica<T>(&self, found: &[Result<T>]) {
        let is_replica = |found: &Result<T>| found.as_ref().is_err_and(errors::is_replica);
        if found.iter().any(is_replica) {
            self.session.drop_link(self.link.serial);
        }
    }
}

impl Session {
    pub(crate) fn new(
        place: Place,
        options: RedisOptions,
        clustered: bool,
        highest: Arc<AtomicU64>,
    ) -> Self {
        Self {
            place,
            options,
            clustered,
            highest,
            clock: Clock::boottime(),
            link: Lock::default(),
            connecting: SingleFlight::new(()),
            serial: AtomicU64::new(0),
            known: Lock::default(),
            contact: AtomicU64::new(0),
            left: Lock::default(),
            closed: AtomicBool::new(false),
            ear: SingleFlight::new(None),
        }
    }

    /// Makes the connection if there is none.
    pub(crate) async fn connect(self: &Arc<Self>) -> Result<()> {
        self.link().await.map(drop)
    }

    /// Ends the connections.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        *self.link.lock() = None;
        // Whoever has the turn drops it.
        self.ear.try_update(|ear| *ear = None);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Whether connections were left that may still deliver something.
    pub(crate) fn has_left(&self) -> bool {
        !self.left().is_empty()
    }

    /// Refuses a connection for wake-ups that leads to another `run` of a server than that for requests: there
    /// may be two behind one address. If the server was replaced just now, the next request tells.
    pub(crate) fn check_same(&self, run: &str) -> Result<()> {
        match &*self.link.lock() {
            Some(link) if !link.client.is_of_run(run) => Err(errors::other_server()),
            _ => Ok(()),
        }
    }

    /// Which connection there is, if any.
    pub(crate) fn serial(&self) -> Option<u64> {
        self.link.lock().as_ref().map(|link| link.serial)
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Whether it publishes to those only who listen to the same part of a Cluster.
    pub(crate) fn is_clustered(&self) -> bool {
        self.clustered
    }

    /// Asks, and once more on a new connection if this one has ended: nobody tells of that while it
    /// is idle. The effect is unknown if connections fail under it.
    pub(crate) async fn ask(self: &Arc<Self>, request: Request<'_>) -> Result<Answer> {
        let link = self.link_for(request).await?;
        match self.ask_patiently(link, request).await {
            Err(error) if errors::is_cut(&error) || errors::has_forgotten(&error) => {
                let was_cut = errors::is_cut(&error);
                let again = async {
                    let link = self.link_for(request).await?;
                    let answer = self.ask_over(link, request).await;
                    answer.map_err(errors::of_request)
                };
                // The first request may have been done, whatever became of the second.
                again.await.map_err(|error| match was_cut {
                    true => error.with_effect(Effect::Unknown),
                    false => error,
                })
            }
            answer => answer.map_err(errors::of_request),
        }
    }

    /// Asks over `link`, and when the patience for that is over, over a fresh connection, too: the first
    /// answer counts. A connection may be hanging while new ones work, or be slow only.
    async fn ask_patiently(
        self: &Arc<Self>,
        link: Link,
        request: Request<'_>,
    ) -> RedisResult<Answer> {
        let serial = link.serial;
        let mut first = pin!(self.ask_over(link, request));
        let Some(patience) = request.patience else {
            return first.await;
        };
        if let Ok(answer) = tokio::time::timeout(patience, &mut first).await {
            return answer;
        }
        let answered = Arc::new(AtomicBool::new(false));
        let mut second = pin!(async {
            let link = self.fresh_link(serial, answered.clone()).await.ok()?;
            self.ask_over(link, request).await.ok()
        });
        tokio::select! {
            biased;
            answer = &mut first => match answer {
                // Ended for the fresh one, perhaps.
                Err(error) if errors::ends_connection(&error) => second.await.ok_or(error),
                answer => {
                    answered.store(true, Ordering::Release);
                    answer
                }
            },
            answer = &mut second => match answer {
                Some(answer) => Ok(answer),
                None => first.await,
            },
        }
    }

    async fn ask_over(
        self: &Arc<Self>,
        mut link: Link,
        request: Request<'_>,
    ) -> RedisResult<Answer> {
        let mut answer = send(&mut link, request, false).await;
        if is_unknown_script(&answer) {
            // T6: a server that was restarted, or whose scripts were flushed, learns it again.
            answer = send(&mut link, request, true).await;
        }
        if answer.as_ref().is_err_and(errors::ends_connection) {
            self.drop_link(link.serial);
        }
        if !answer
            .as_ref()
            .is_err_and(|error| errors::is_cut(error) || error.is_timeout())
        {
            let now = self.clock.now().as_nanos();
            self.contact.fetch_max(now, Ordering::Relaxed);
        }
        answer.map(|value| Answer {
            value,
            link,
            session: self.clone(),
        })
    }

    async fn link_for(self: &Arc<Self>, request: Request<'_>) -> Result<Link> {
        let link = self.link().await?;
        if !request.grants {
            return Ok(link);
        }
        let now = self.clock.now();
        match &link.grants {
            Ok((history, from)) => match from.since(now) {
                Duration::ZERO => Ok(link),
                wait => Err(history.why(wait)),
            },
            Err((why, since)) => {
                if now.since(*since) >= RELOOK_AFTER {
                    self.drop_link(link.serial);
                }
                Err(why.duplicate())
            }
        }
    }

    async fn link(self: &Arc<Self>) -> Result<Link> {
        if let Some(link) = self.current()? {
            return Ok(link);
        }
        let session = self.clone();
        self.connecting
            .run(|turn| async move {
                let link = session.connected().await;
                turn.finish(link)
            })
            .await
    }

    /// Another connection than that with this number, which goes on until the new one is there. Nothing
    /// changes if the former one has `answered` by then.
    async fn fresh_link(self: &Arc<Self>, former: u64, answered: Arc<AtomicBool>) -> Result<Link> {
        let session = self.clone();
        self.connecting
            .run(move |turn| async move {
                let link = session.connected_beside(former, &answered).await;
                turn.finish(link)
            })
            .await
    }

    /// The connection, which is made if there is none.
    async fn connected(&self) -> Result<Link> {
        if let Some(link) = self.current()? {
            return Ok(link);
        }
        let link = self.opened(|| {}).await?;
        self.keep(link)
    }

    async fn connected_beside(&self, former: u64, answered: &AtomicBool) -> Result<Link> {
        let is_former = |link: &Link| link.serial == former;
        let Some(link) = self.current()?.filter(is_former) else {
            return self.connected().await;
        };
        // It is ended with others that were left before the new one is used.
        let leave = || {
            if !answered.load(Ordering::Acquire) {
                self.drop_link(former);
            }
        };
        let fresh = self.opened(leave).await?;
        if self.serial() == Some(former) {
            return Ok(link);
        }
        self.keep(fresh)
    }

    fn keep(&self, link: Link) -> Result<Link> {
        *self.link.lock() = Some(link.clone());
        // A backend that was closed meanwhile keeps no connection.
        self.current().map(|current| current.unwrap_or(link))
    }

    /// A new connection; `ready` is called when the server is found good, before others are ended.
    async fn opened(&self, ready: impl FnOnce()) -> Result<Link> {
        let connect_max = self.options.connect_max;
        let opened = tokio::time::timeout(connect_max, self.open(ready)).await;
        opened.unwrap_or_else(|_| Err(errors::silent(connect_max, self.place.has_tls())))
    }

    fn current(&self) -> Result<Option<Link>> {
        let mut slot = self.link.lock();
        if self.is_closed() {
            *slot = None;
            return Err(Error::closed());
        }
        Ok(slot.clone())
    }

    async fn open(&self, ready: impl FnOnce()) -> Result<Link> {
        let mut connection = self.place.find().await?.connect().await?;
        let expected = Expected {
            options: &self.options,
            clustered: self.clustered,
            has_tls: self.place.has_tls(),
        };
        let server = server::check(&mut connection, expected).await?;
        let slots = match self.clustered {
            true => Some(server::slots_of(&mut connection, expected.has_tls).await?),
            false => None,
        };
        let least = self.highest.load(Ordering::Acquire) + 1;
        let looked = History::look(
            &mut connection,
            &server,
            &self.options,
            slots.as_deref(),
            least,
        )
        .await;
        let now = self.clock.now();
        let grants = match looked {
            Ok(history) => {
                self.follow(&history, now)?;
                let from = now.after(history.guarded(&self.options));
                Ok((Arc::new(history), from))
            }
            // It cannot write: what is held can still be renewed and released.
            Err(error) if error.kind() == ErrorKind::Unavailable && !errors::is_lost(&error) => {
                Err((Arc::new(error), now))
            }
            Err(error) => return Err(error),
        };
        ready();
        self.end_left(&server.client, &mut connection).await?;
        Ok(Link {
            connection,
            serial: self.serial.fetch_add(1, Ordering::Relaxed),
            client: server.client,
            grants,
            confirming: Arc::new(SingleFlight::new(())),
        })
    }

    /// Refuses a server that knows nothing of the one that was at this address before. In a Cluster the nodes
    /// themselves know who they are.
    fn follow(&self, history: &History, now: BootInstant) -> Result<()> {
        let mut known = self.known.lock();
        if let Some(former) = known.take()
            && !self.clustered
        {
            let contact = BootInstant::from_nanos(self.contact.load(Ordering::Relaxed));
            let former = Former {
                history: former,
                contact,
            };
            if history.is_beside(&former, now) {
                *known = Some(former.history);
                return Err(errors::two_servers());
            }
        }
        *known = Some(history.clone());
        self.contact.fetch_max(now.as_nanos(), Ordering::Relaxed);
        Ok(())
    }

    /// Forgets the connection with this number; the next request makes another.
    fn drop_link(&self, serial: u64) {
        let mut slot = self.link.lock();
        if let Some(link) = slot.take_if(|link| link.serial == serial) {
            let mut left = self.left();
            left.push(Left {
                client: link.client,
                at: self.clock.now(),
            });
            let surplus = left.len().saturating_sub(LEFT_MAX);
            left.drain(..surplus);
        }
    }

    /// Ends what we have left in the server behind a new connection. Those of another server stay: we may
    /// come back to it.
    async fn end_left(
        &self,
        client: &Client,
        connection: &mut MultiplexedConnection,
    ) -> Result<()> {
        let left = self.left().clone();
        for former in left.iter().filter(|left| left.client.is_of_run_of(client)) {
            let ended = former.client.end(connection).await;
            ended.map_err(|error| errors::of_connect(error, self.place.has_tls()))?;
            // Not before: whoever opens the next connection ends it if this one fails.
            self.left().retain(|left| left != former);
        }
        Ok(())
    }

    /// Those that may still deliver something.
    fn left(&self) -> MutexGuard<'_, Vec<Left>> {
        let mut left = self.left.lock();
        let now = self.clock.now();
        left.retain(|left| now.since(left.at) < LATE_MAX);
        left
    }
}

async fn send(link: &mut Link, request: Request<'_>, in_full: bool) -> RedisResult<Value> {
    let command = (request.says)(link, in_full);
    if !request.asking {
        return command.query_async(&mut link.connection).await;
    }
    let mut both = redis::pipe();
    both.cmd("ASKING").ignore().add_command(command);
    let (value,) = both.query_async(&mut link.connection).await?;
    Ok(value)
}

fn is_unknown_script(answer: &RedisResult<Value>) -> bool {
    answer
        .as_ref()
        .is_err_and(|error| error.code() == Some("NOSCRIPT"))
}
