//! The connection for requests, remade when it ends.
//!
//! The driver's own reconnecting is silent, and a server must be looked at each time that we come
//! back to it: it may have been demoted, or have lost its memory.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{Clock, Effect, Error, ErrorKind, Moment, Result};
use redis::{AsyncConnectionConfig, Client, Cmd, RedisResult, Value, aio::MultiplexedConnection};

use crate::{
    config::RedisConfig,
    errors,
    server::{self, Server},
    turns::Turns,
    wire::Text,
};

/// The connection to one server.
pub(crate) struct Session {
    pub(crate) config: RedisConfig,
    pub(crate) client: Client,
    clock: Clock,
    link: Mutex<Option<Link>>,
    /// Only one connects at a time.
    connecting: Turns<()>,
    serial: AtomicU64,
    closed: AtomicBool,
}

#[derive(Clone)]
struct Link {
    connection: MultiplexedConnection,
    serial: u64,
    /// Before this the server grants nothing: it may have forgotten what it granted.
    grants_from: Moment,
    /// No token that the server gives over this connection is below this.
    token_floor: u64,
}

/// What a request says, given the connection and whether a script goes in full.
type Says<'a> = &'a (dyn Fn(&Link, bool) -> Cmd + Sync);

impl Session {
    pub(crate) fn new(config: RedisConfig) -> Result<Self> {
        Ok(Self {
            client: config.client()?,
            config,
            clock: Clock::boottime(),
            link: Mutex::default(),
            connecting: Turns::new(()),
            serial: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        })
    }

    /// Runs `script`, which may be run twice. The effect is unknown if connections fail under it.
    pub(crate) async fn run(&self, script: &Text, keys: &[&str], args: &[&str]) -> Result<Value> {
        let says = |_: &Link, in_full| script.call(in_full, keys, args);
        self.ask(false, &says).await
    }

    /// As [`run`](Self::run), for a script that grants. The least token that it may give is its last
    /// argument.
    pub(crate) async fn run_granting(
        &self,
        script: &Text,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Value> {
        let says = |link: &Link, in_full| {
            let floor = link.token_floor.to_string();
            script.call(in_full, keys, &[args, &[floor.as_str()]].concat())
        };
        self.ask(true, &says).await
    }

    /// Runs a command that changes nothing.
    pub(crate) async fn look(&self, command: &Cmd) -> Result<Value> {
        self.ask(false, &|_, _| command.clone()).await
    }

    /// Makes the connection if there is none.
    pub(crate) async fn connect(&self) -> Result<()> {
        self.link().await.map(drop)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        *self.slot() = None;
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Asks, and once more on a new connection if this one has ended: nobody tells of that while it
    /// is idle, and all that is asked here may be asked twice (T1, T3).
    async fn ask(&self, grants: bool, says: Says<'_>) -> Result<Value> {
        let link = self.link_for(grants).await?;
        match self.ask_over(link, says).await {
            Err(error) if errors::is_cut(&error) => {
                let again = async {
                    let link = self.link_for(grants).await?;
                    let answer = self.ask_over(link, says).await;
                    answer.map_err(errors::of_request)
                };
                // The first request may have been done, whatever became of the second.
                again
                    .await
                    .map_err(|error| error.with_effect(Effect::Unknown))
            }
            answer => answer.map_err(errors::of_request),
        }
    }

    async fn ask_over(&self, mut link: Link, says: Says<'_>) -> RedisResult<Value> {
        let mut answer = says(&link, false).query_async(&mut link.connection).await;
        if is_unknown_script(&answer) {
            // T6: a server that was restarted, or whose scripts were flushed, learns it again.
            answer = says(&link, true).query_async(&mut link.connection).await;
        }
        if answer.as_ref().is_err_and(errors::ends_connection) {
            self.drop_link(link.serial);
        }
        answer
    }

    async fn link_for(&self, grants: bool) -> Result<Link> {
        let link = self.link().await?;
        let wait = link.grants_from.since(self.clock.now());
        if grants && !wait.is_zero() {
            return Err(Error::new(ErrorKind::Unavailable, restarted(wait)));
        }
        Ok(link)
    }

    async fn link(&self) -> Result<Link> {
        if let Some(link) = self.current()? {
            return Ok(link);
        }
        let turn = self.connecting.wait().await?;
        if let Some(link) = self.current()? {
            return Ok(link);
        }
        let opened = tokio::time::timeout(self.config.connect_max, self.open()).await;
        let opened = opened.unwrap_or_else(|_| Err(errors::silent(&self.config)));
        let link = turn.end(opened.inspect(|link| *self.slot() = Some(link.clone())))?;
        // A backend that was closed meanwhile keeps no connection.
        self.current().map(|current| current.unwrap_or(link))
    }

    fn current(&self) -> Result<Option<Link>> {
        let mut slot = self.slot();
        if self.is_closed() {
            *slot = None;
            return Err(errors::closed());
        }
        Ok(slot.clone())
    }

    async fn open(&self) -> Result<Link> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.config.connect_max))
            .set_response_timeout(Some(self.config.answer_max));
        let connection = self
            .client
            .get_multiplexed_async_connection_with_config(&config)
            .await;
        let refused = |error| errors::of_connect(error, &self.config);
        let mut connection = connection.map_err(refused)?;
        let Server { guarded, now } = server::check(&mut connection, &self.config).await?;
        Ok(Link {
            connection,
            serial: self.serial.fetch_add(1, Ordering::Relaxed),
            grants_from: self.clock.now().after(guarded),
            token_floor: now,
        })
    }

    /// Forgets the connection with this number; the next request makes another.
    fn drop_link(&self, serial: u64) {
        let mut slot = self.slot();
        if slot.as_ref().is_some_and(|link| link.serial == serial) {
            *slot = None;
        }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Link>> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn restarted(wait: Duration) -> String {
    format!(
        "the server was restarted and may have forgotten locks; it grants none for {} s more (see \
         restart_guard=, or give it appendfsync always)",
        wait.as_secs() + 1
    )
}

fn is_unknown_script(answer: &RedisResult<Value>) -> bool {
    answer
        .as_ref()
        .is_err_and(|error| error.code() == Some("NOSCRIPT"))
}
