//! The connections of a locker: one for each lock that is held or waited for, and those that wait for
//! the next one.

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{Error, ErrorKind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    config::MySqlConfig,
    conn::{
        connect::Dialer,
        connection::Link,
        control::{self, Asking, Control, Duty},
        idle::Idle,
    },
    epoch::cache::Latest,
    errors,
    sql::server::{Product, Start},
    token::epoch,
};

/// How long a statement waits for a row before it is sent again: what is left of a waiter whose host
/// vanished leaves the queue after it (T63), and as long waits who wants all statements to end, as a backup
/// does with all writes of others behind it.
pub(crate) const QUEUE_MAX: Duration = Duration::from_secs(3);

/// How long it waits for a table that somebody keeps to himself: the least that a server counts.
pub(crate) const TABLE_MAX: Duration = Duration::from_secs(1);

/// All connections of a locker.
pub(crate) struct Session {
    pub(crate) dialer: Arc<Dialer>,
    control: Control,
    sessions: Control,
    /// What they count tokens by.
    pub(crate) latest: Latest,
    idle: Arc<Idle>,
    seats: Arc<Semaphore>,
}

/// The right to one connection, also while another one is made in its place.
pub(crate) type Seat = Arc<OwnedSemaphorePermit>;

impl Session {
    pub(crate) fn new(config: MySqlConfig) -> Self {
        let seats = Arc::new(Semaphore::new(config.held_max as usize));
        let dialer = Arc::new(Dialer::new(config));
        Self {
            control: Control::new(dialer.clone(), Duty::Tables),
            sessions: Control::new(dialer.clone(), Duty::Sessions),
            idle: Arc::new(Idle::new(dialer.clone())),
            dialer,
            latest: Latest::default(),
            seats,
        }
    }

    pub(crate) fn config(&self) -> &MySqlConfig {
        &self.dialer.config
    }

    /// The connection that works with the tables and holds nothing.
    pub(crate) fn control(&self) -> Result<&Control> {
        self.check_open()?;
        Ok(&self.control)
    }

    /// The connection that looks after sessions and ends them.
    pub(crate) fn sessions(&self) -> Result<&Control> {
        self.check_open()?;
        Ok(&self.sessions)
    }

    /// A place among those who hold or wait.
    pub(crate) fn seat(&self) -> Result<Seat> {
        self.check_open()?;
        let seat = self.seats.clone().try_acquire_owned();
        seat.map(Arc::new).map_err(|_| {
            let max = self.config().held_max;
            let why = format!(
                "this locker holds or awaits {max} locks, and each needs a connection; raise held_max="
            );
            Error::new(ErrorKind::Unavailable, why)
        })
    }

    /// A connection that was used before, if the server has not ended it meanwhile.
    pub(crate) fn reuse(&self) -> Option<Link> {
        self.idle.take()
    }

    /// A new connection, whose server is looked at, and which the server ends after `silence_max`
    /// seconds of silence.
    pub(crate) async fn open(&self, silence_max: u64) -> Result<Link> {
        // First, so that the tables are there.
        let product = |asking: Asking| async move { Ok(asking.product()) };
        let product = self.control()?.run(product).await?;
        let product = product.unwrap_or(Product::MySql);
        let mut link = self.dialer.dial().await?;
        let (clock, answer_max) = (&self.dialer.clock, self.config().answer_max);
        let sql = format!(
            "SET SESSION autocommit = 0, innodb_lock_wait_timeout = {}, lock_wait_timeout = {}, {}{}; SET \
             SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; {}",
            QUEUE_MAX.as_secs(),
            TABLE_MAX.as_secs(),
            silence(silence_max),
            product.unlimited_holds(),
            product.ask_start(self.config().tokens)
        );
        let rows = link.ask(clock, &sql, answer_max).await?;
        let start = Start::read(rows.first().ok_or_else(control::nothing)?)?;
        if start.is_read_only {
            return Err(errors::read_only());
        }
        // Also where tokens are committed: what sessions are killed by is the start that they are of.
        epoch::check_age(&start)?;
        link.server = start.server;
        link.silence_max = silence_max;
        link.epoch = epoch::of_server(self, &mut link, &start).await?;
        self.latest.learn(link.epoch);
        Ok(link)
    }

    /// Keeps a connection that holds nothing for the next one.
    pub(crate) fn keep(&self, link: Link) {
        self.idle.keep(link);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.dialer.is_closed()
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        self.dialer.check_open()
    }

    pub(crate) async fn close(&self) {
        self.idle.close().await;
        self.sessions.close().await;
        self.control.close().await;
    }
}

/// The server ends a session that is silent for so many seconds, and with it a hold.
pub(crate) fn silence(seconds: u64) -> String {
    format!("wait_timeout = {seconds}")
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("dialer", &self.dialer)
            .finish_non_exhaustive()
    }
}
