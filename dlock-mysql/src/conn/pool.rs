//! The connections of a locker: one for each lock that is held or waited for, and those that wait for
//! the next one.

use std::{fmt, sync::Arc, time::Duration};

use dlock_core::{Error, ErrorKind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    config::MySqlConfig,
    conn::{
        connect::Connector,
        connection::Connection,
        control::{Control, ControlTurn, Role},
        idle::Idle,
    },
    epoch::cache::EpochCache,
    errors,
    sql::server::{Product, ServerInfo},
    token::epoch,
};

/// How long a statement waits for a row before it is sent again: what is left of a waiter whose host
/// vanished leaves the queue after it (T63), and as long waits who wants all statements to end, as a backup
/// does with all writes of others behind it.
pub(crate) const QUEUE_MAX: Duration = Duration::from_secs(3);

/// How long it waits for a table that somebody keeps to himself: the least that a server counts.
pub(crate) const TABLE_MAX: Duration = Duration::from_secs(1);

/// All connections of a locker.
pub(crate) struct Pool {
    pub(crate) connector: Arc<Connector>,
    control: Control,
    sessions: Control,
    /// What they count tokens by.
    pub(crate) epochs: EpochCache,
    idle: Arc<Idle>,
    permits: Arc<Semaphore>,
}

/// The right to one connection, also while another one is made in its place.
pub(crate) type Permit = Arc<OwnedSemaphorePermit>;

impl Pool {
    pub(crate) fn new(config: MySqlConfig) -> Self {
        let permits = Arc::new(Semaphore::new(config.held_max as usize));
        let connector = Arc::new(Connector::new(config));
        Self {
            control: Control::new(connector.clone(), Role::Tables),
            sessions: Control::new(connector.clone(), Role::Sessions),
            idle: Arc::new(Idle::new(connector.clone())),
            connector,
            epochs: EpochCache::default(),
            permits,
        }
    }

    pub(crate) fn config(&self) -> &MySqlConfig {
        &self.connector.config
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
    pub(crate) fn permit(&self) -> Result<Permit> {
        self.check_open()?;
        let permit = self.permits.clone().try_acquire_owned();
        permit.map(Arc::new).map_err(|_| {
            let max = self.config().held_max;
            let why = format!(
                "this locker holds or awaits {max} locks, and each needs a connection; raise held_max="
            );
            Error::new(ErrorKind::Unavailable, why)
        })
    }

    /// A connection that was used before, if the server has not ended it meanwhile.
    pub(crate) fn reuse(&self) -> Option<Connection> {
        self.idle.take()
    }

    /// A new connection, whose server is looked at, and which the server ends after `wait_timeout`
    /// seconds of silence.
    pub(crate) async fn open(&self, wait_timeout: u64) -> Result<Connection> {
        // First, so that the tables are there.
        let product = |turn: ControlTurn| async move { Ok(turn.product()) };
        let product = self.control()?.run(product).await?;
        let product = product.unwrap_or(Product::MySql);
        let mut connection = self.connector.connect().await?;
        let (clock, request_timeout) = (&self.connector.clock, self.config().request_timeout);
        let sql = format!(
            "SET SESSION autocommit = 0, innodb_lock_wait_timeout = {}, lock_wait_timeout = {}, {}{}; SET \
             SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; {}",
            QUEUE_MAX.as_secs(),
            TABLE_MAX.as_secs(),
            silence(wait_timeout),
            product.unlimited_holds(),
            product.info_query(self.config().tokens)
        );
        let rows = connection.query(clock, &sql, request_timeout).await?;
        let start = ServerInfo::read(rows.first().ok_or_else(errors::no_server_info)?)?;
        if start.is_read_only {
            return Err(errors::read_only());
        }
        // Also where tokens are committed: what sessions are killed by is the start that they are of.
        epoch::check_age(&start)?;
        connection.server = start.server;
        connection.wait_timeout = wait_timeout;
        connection.epoch = epoch::of_server(self, &mut connection, &start).await?;
        self.epochs.learn(connection.epoch);
        Ok(connection)
    }

    /// Keeps a connection that holds nothing for the next one.
    pub(crate) fn keep(&self, connection: Connection) {
        self.idle.keep(connection);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.connector.is_closed()
    }

    pub(crate) fn check_open(&self) -> Result<()> {
        self.connector.check_open()
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

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("connector", &self.connector)
            .finish_non_exhaustive()
    }
}
