//! The connection for requests, remade when it ends.
//!
//! The driver's own reconnecting is silent, and a server must be looked at each time that we come
//! back to it: it may have been demoted, or have lost its memory.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use dlock_core::{Clock, Error, ErrorKind, Moment, Result};
use redis::{AsyncConnectionConfig, Client, Cmd, RedisResult, Value, aio::MultiplexedConnection};

use crate::{config::RedisConfig, errors, server, wire::Text};

/// The connection to one server.
pub(crate) struct Session {
    pub(crate) config: RedisConfig,
    pub(crate) client: Client,
    clock: Clock,
    link: Mutex<Option<Link>>,
    /// Only one connects at a time.
    connecting: tokio::sync::Mutex<()>,
    serial: AtomicU64,
    closed: AtomicBool,
}

#[derive(Clone)]
struct Link {
    connection: MultiplexedConnection,
    serial: u64,
    /// Before this the server grants nothing: it may have forgotten what it granted.
    grants_from: Moment,
}

impl Session {
    pub(crate) fn new(config: RedisConfig) -> Result<Self> {
        Ok(Self {
            client: config.client()?,
            config,
            clock: Clock::boottime(),
            link: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            serial: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        })
    }

    /// Runs `script`. The effect is unknown if the connection fails under it.
    pub(crate) async fn run(&self, script: &Text, keys: &[&str], args: &[&str]) -> Result<Value> {
        self.ask(self.link().await?, script, keys, args).await
    }

    /// As [`run`](Self::run), for a script that grants.
    pub(crate) async fn run_granting(
        &self,
        script: &Text,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Value> {
        let link = self.link().await?;
        let wait = link.grants_from.since(self.clock.now());
        if !wait.is_zero() {
            return Err(Error::new(ErrorKind::Unavailable, restarted(wait)));
        }
        self.ask(link, script, keys, args).await
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

    /// Runs any command.
    pub(crate) async fn command(&self, command: &Cmd) -> Result<Value> {
        let mut link = self.link().await?;
        let answer = command.query_async(&mut link.connection).await;
        self.judge(&link, answer)
    }

    async fn ask(
        &self,
        mut link: Link,
        script: &Text,
        keys: &[&str],
        args: &[&str],
    ) -> Result<Value> {
        let call = script.call(false, keys, args);
        let mut answer = call.query_async(&mut link.connection).await;
        if is_unknown_script(&answer) {
            // T6: a server that was restarted, or whose scripts were flushed, learns it again.
            let call = script.call(true, keys, args);
            answer = call.query_async(&mut link.connection).await;
        }
        self.judge(&link, answer)
    }

    fn judge(&self, link: &Link, answer: RedisResult<Value>) -> Result<Value> {
        answer.map_err(|error| {
            if errors::ends_connection(&error) {
                self.drop_link(link.serial);
            }
            errors::of_request(error)
        })
    }

    async fn link(&self) -> Result<Link> {
        if let Some(link) = self.current()? {
            return Ok(link);
        }
        let _alone = self.connecting.lock().await;
        if let Some(link) = self.current()? {
            return Ok(link);
        }
        let link = tokio::time::timeout(self.config.connect_max, self.open()).await;
        let late = || {
            let why = format!(
                "no answer in {:?} while connecting",
                self.config.connect_max
            );
            Error::new(ErrorKind::Unavailable, why)
        };
        let link = link.unwrap_or_else(|_| Err(late()))?;
        *self.slot() = Some(link.clone());
        // A backend that was closed meanwhile keeps no connection.
        self.current()?.ok_or_else(errors::closed)
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
        let mut connection = connection.map_err(errors::of_connect)?;
        let wait = server::check(&mut connection, &self.config).await?;
        Ok(Link {
            connection,
            serial: self.serial.fetch_add(1, Ordering::Relaxed),
            grants_from: self.clock.now().after(wait),
        })
    }

    /// Forgets the connection with this number; the next request makes another.
    fn drop_link(&self, serial: u64) {
        let mut slot = self.slot();
        if slot.as_ref().is_some_and(|link| link.serial == serial) {
            *slot = None;
        }
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Link>> {
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
