//! The connections of a locker: one for each lock that is held or waited for, idle ones, and two for control.

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
        rows::RowInserter,
    },
    epoch::cache::{EpochCache, TABLE_WAIT_MAX},
    errors,
    sql::server::{Product, ServerInfo, ServerStart},
    taken::TakenNames,
};

/// How long a statement waits for a row before it is sent again.
///
/// A waiter whose host vanished leaves the server's queue after it. A backup waits as long for our statement,
/// with the writes of all clients behind it.
pub(crate) const ROW_WAIT_MAX: Duration = Duration::from_secs(3);

/// All connections of a locker.
pub(crate) struct Pool {
    pub(crate) connector: Arc<Connector>,
    tables: Arc<Control>,
    rows: RowInserter,
    sessions: Control,
    /// The epoch that tokens are counted by.
    pub(crate) epochs: EpochCache,
    pub(crate) taken: TakenNames,
    idle: Arc<Idle>,
    permits: Arc<Semaphore>,
}

/// The right to one connection, also while it is replaced.
pub(crate) type Permit = Arc<OwnedSemaphorePermit>;

impl Pool {
    pub(crate) fn new(config: MySqlConfig) -> Self {
        let permits = Arc::new(Semaphore::new(config.held_max as usize));
        let connector = Arc::new(Connector::new(config));
        let tables = Arc::new(Control::new(connector.clone(), Role::Tables));
        Self {
            rows: RowInserter::new(tables.clone()),
            tables,
            sessions: Control::new(connector.clone(), Role::Sessions),
            idle: Arc::new(Idle::new(connector.clone())),
            connector,
            epochs: EpochCache::default(),
            taken: TakenNames::default(),
            permits,
        }
    }

    pub(crate) fn config(&self) -> &MySqlConfig {
        &self.connector.config
    }

    /// The control connection for the tables.
    pub(crate) fn tables(&self) -> Result<&Control> {
        self.check_open()?;
        Ok(&self.tables)
    }

    /// Inserts the row of a name on `start`, unless it is there. `row` is its key as a literal.
    pub(crate) async fn insert_row(&self, row: String, start: ServerStart) -> Result<()> {
        self.check_open()?;
        self.rows.insert(row, start).await
    }

    /// The control connection for sessions.
    pub(crate) fn sessions(&self) -> Result<&Control> {
        self.check_open()?;
        Ok(&self.sessions)
    }

    /// A permit for one more lock.
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

    /// An idle connection, unless the server may have ended it.
    pub(crate) fn reuse(&self) -> Option<Connection> {
        self.idle.take()
    }

    /// Opens a connection, which the server ends after `wait_timeout` seconds of silence. It has no epoch yet.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the server is read-only.
    pub(crate) async fn open(&self, wait_timeout: u64) -> Result<(Connection, ServerInfo)> {
        // First, so that the tables are there.
        let product = |turn: ControlTurn| async move { Ok(turn.product()) };
        let product = self.tables()?.run(product).await?;
        let product = product.unwrap_or(Product::MySql);
        let mut connection = self.connector.connect().await?;
        let (clock, request_timeout) = (&self.connector.clock, self.config().timeouts.reply);
        let sql = format!(
            "SET SESSION autocommit = 0, innodb_lock_wait_timeout = {}, lock_wait_timeout = {}, {}{}; SET \
             SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; {}",
            ROW_WAIT_MAX.as_secs(),
            TABLE_WAIT_MAX.as_secs(),
            set_wait_timeout(wait_timeout),
            product.unlimited_holds(),
            product.info_query(self.config().tokens)
        );
        let rows = connection.query(clock, &sql, request_timeout).await?;
        let info = ServerInfo::read(rows.first().ok_or_else(errors::no_server_info)?)?;
        if info.is_read_only {
            return Err(errors::read_only());
        }
        connection.product = product;
        connection.session = info.session;
        connection.wait_timeout = wait_timeout;
        Ok((connection, info))
    }

    /// Returns a connection without a lock to the pool.
    pub(crate) fn put(&self, connection: Connection) {
        self.idle.put(connection);
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
        self.tables.close().await;
    }
}

/// The setting by which the server ends a session, and its hold, after so many silent `seconds`.
pub(crate) fn set_wait_timeout(seconds: u64) -> String {
    format!("wait_timeout = {seconds}")
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("connector", &self.connector)
            .finish_non_exhaustive()
    }
}
