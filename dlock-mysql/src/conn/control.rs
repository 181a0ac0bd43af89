//! The two control connections, which do not hold locks.
//!
//! One works with the tables: it inserts rows, reads and raises the epoch, and sends and answers inspections. The other monitors and kills
//! sessions, and needs no table: neither the work of the first nor a locked table may delay it (K13).

use std::{future::Future, sync::Arc, time::Duration};

use dlock_core::{
    BootInstant, Error, ErrorKind, Result,
    toolkit::{SingleFlight, Turn},
};

use crate::{
    conn::{connect::Connector, connection::Connection, probe, setup},
    errors,
    sql::{
        row::Row,
        server::{Product, ServerInfo, ServerStart, SessionId},
    },
};

/// The pause between two `KILL`s of a session that has not ended,
const KILL_EVERY: Duration = Duration::from_millis(5);

/// and their number: the session rolls back one row lock.
const KILLS_MAX: usize = 100;

/// An idle connection is used without a check for so long. Its end would go unnoticed, but a server that was
/// restarted since then does not grant yet.
const TRUSTED_MAX: Duration = Duration::from_millis(500);

/// A control connection is replaced once in this time for one start that the address does not lead to.
const REOPENED_EVERY: Duration = Duration::from_secs(1);

/// The purpose of a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Works with the tables.
    Tables,
    /// Monitors and kills sessions.
    Sessions,
}

/// A connection that is opened on demand and serves one caller at a time.
pub(crate) struct Control {
    turns: SingleFlight<Option<Ready>>,
    connector: Arc<Connector>,
    role: Role,
}

struct Ready {
    connection: Connection,
    /// The begin of the connection attempt.
    opened: BootInstant,
    /// The start that it was opened for, and that the address did not lead to.
    sought: Option<ServerStart>,
    product: Product,
}

/// The turn of one caller.
pub(crate) struct ControlTurn {
    slot: Turn<Option<Ready>>,
    connector: Arc<Connector>,
    role: Role,
}

impl Control {
    pub(crate) fn new(connector: Arc<Connector>, role: Role) -> Self {
        Self {
            turns: SingleFlight::new(None),
            connector,
            role,
        }
    }

    /// Runs `work` in its turn, in a task of its own (K13); `work` sends a few bounded requests.
    ///
    /// Connects if need be, and probes the server of a new connection. Callers that wait for the connection
    /// share a failure to connect, and no other.
    pub(crate) async fn run<R, W>(
        &self,
        work: impl FnOnce(ControlTurn) -> W + Send + 'static,
    ) -> Result<R>
    where
        R: Send + 'static,
        W: Future<Output = Result<R>> + Send + 'static,
    {
        let (connector, role) = (self.connector.clone(), self.role);
        self.turns
            .run(move |slot| async move {
                let mut turn = ControlTurn {
                    slot,
                    connector,
                    role,
                };
                match turn.connect().await {
                    Ok(()) => work(turn).await,
                    Err(error) => turn.slot.finish(Err(error)),
                }
            })
            .await
    }

    /// Sends statements.
    pub(crate) async fn query(&self, sql: String) -> Result<Vec<Row>> {
        self.run(|mut turn| async move { turn.query(&sql).await })
            .await
    }

    /// Ends the connection. The connector makes no other one.
    pub(crate) async fn close(&self) {
        let request_timeout = self.connector.config.timeouts.reply;
        let close = self
            .turns
            .run(move |mut slot: Turn<Option<Ready>>| async move {
                if let Some(ready) = slot.take() {
                    ready.connection.close(request_timeout).await;
                }
                Ok(())
            });
        let _ = close.await;
    }

    /// Ends the statement of a session; success also if the session is over.
    pub(crate) async fn end_statement(&self, session: SessionId) -> Result<()> {
        self.run(move |mut turn| async move { turn.kill("KILL QUERY", session).await })
            .await
            .map(drop)
    }

    /// Ends a session, and waits until its locks are free; success also if it is over.
    ///
    /// A second kill shows whether it is over: not every account sees its own sessions in a list.
    pub(crate) async fn end_session(&self, session: SessionId) -> Result<()> {
        for _ in 0..KILLS_MAX {
            let kill = self.run(move |mut turn| async move { turn.kill("KILL", session).await });
            if kill.await? == Killed::Over {
                return Ok(());
            }
            tokio::time::sleep(KILL_EVERY).await;
        }
        let why = "a session was killed and has not ended yet";
        Err(Error::new(ErrorKind::Unavailable, why))
    }
}

impl ControlTurn {
    /// Connects, unless there is a connection that works.
    async fn connect(&mut self) -> Result<()> {
        let now = self.connector.clock.now();
        let is_idle = |ready: &Ready| now.since(ready.connection.used) > TRUSTED_MAX;
        if self.slot.as_ref().is_some_and(is_idle) && self.query("DO 1").await.is_err() {
            *self.slot = None;
        }
        if self.slot.is_none() {
            *self.slot = Some(open(&self.connector, self.role).await?);
        }
        Ok(())
    }

    /// Sends statements. A failure with an unknown effect drops the connection.
    pub(crate) async fn query(&mut self, sql: &str) -> Result<Vec<Row>> {
        let request_timeout = self.connector.config.timeouts.reply;
        self.query_within(request_timeout, sql).await
    }

    /// Sends a statement that creates a table, which takes longer than others.
    pub(crate) async fn create(&mut self, sql: &str) -> Result<()> {
        let max = self.connector.config.timeouts.connect;
        self.query_within(max, sql).await.map(drop)
    }

    /// Makes the connection lead to `start`, by a new one if the address leads elsewhere by now: the former primary of
    /// a switchover is still up, and so are the connections to it.
    ///
    /// # Errors
    ///
    /// [`errors::session_moved`] if the address leads to another start.
    pub(crate) async fn reach(&mut self, start: ServerStart) -> Result<()> {
        if !self.is_at(start) && self.may_be_of_former_primary(start) {
            self.disconnect();
            self.connect().await?;
            if let Some(ready) = self.slot.as_mut() {
                ready.sought = Some(start);
            }
        }
        match self.is_at(start) {
            true => Ok(()),
            false => Err(errors::session_moved()),
        }
    }

    /// Makes a connection from before `since` lead to `start`, where a hold was granted then, if the address does.
    pub(crate) async fn follow(&mut self, start: ServerStart, since: BootInstant) -> Result<()> {
        let is_newer = |ready: &Ready| ready.opened > since;
        if self.slot.as_ref().is_some_and(is_newer) {
            return Ok(());
        }
        match self.reach(start).await {
            Err(error) if errors::is_session_moved(&error) => Ok(()),
            reached => reached,
        }
    }

    /// Whether a new connection may lead to `start`. For the same start there is one in [`REOPENED_EVERY`] at the most:
    /// many holds may end at once.
    fn may_be_of_former_primary(&self, start: ServerStart) -> bool {
        let now = self.connector.clock.now();
        self.slot.as_ref().is_none_or(|ready| {
            let own = ready.connection.session.start;
            let is_sought = ready.sought == Some(start) && now.since(ready.opened) < REOPENED_EVERY;
            !start.is_before(own) && !is_sought
        })
    }

    fn is_at(&self, start: ServerStart) -> bool {
        self.session().is_some_and(|session| session.start == start)
    }

    /// Ends the connection, and with it the transaction that is open.
    pub(crate) fn disconnect(&mut self) {
        *self.slot = None;
    }

    async fn query_within(&mut self, request_timeout: Duration, sql: &str) -> Result<Vec<Row>> {
        // Taken out: a task that ends with its runtime drops the connection.
        let mut ready = self.slot.take().ok_or_else(errors::connection_lost)?;
        let clock = &self.connector.clock;
        let answer = ready.connection.query(clock, sql, request_timeout).await;
        // A former primary that is still up has become a replica.
        let is_former = answer.as_ref().is_err_and(errors::is_read_only);
        if ready.connection.is_reusable() && !is_former {
            *self.slot = Some(ready);
        }
        answer
    }

    /// The session of the connection.
    pub(crate) fn session(&self) -> Option<SessionId> {
        self.slot.as_ref().map(|ready| ready.connection.session)
    }

    pub(crate) fn product(&self) -> Option<Product> {
        self.slot.as_ref().map(|ready| ready.product)
    }

    async fn kill(&mut self, what: &str, session: SessionId) -> Result<Killed> {
        match self.reach(session.start).await {
            Ok(()) => {}
            // A restarted server has ended the session, and may have reused its number. The row locks of a former
            // primary count no more.
            Err(error) if errors::is_session_moved(&error) => return Ok(Killed::Over),
            Err(error) => return Err(error),
        }
        match self.query(&format!("{what} {}", session.connection)).await {
            Ok(_) => Ok(Killed::Ending),
            Err(error) if errors::is_no_session(&error) => Ok(Killed::Over),
            Err(error) => Err(error),
        }
    }
}

/// The result of a `KILL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    /// The session ends now.
    Ending,
    /// The session is over, and its work rolled back.
    Over,
}

async fn open(connector: &Connector, role: Role) -> Result<Ready> {
    let opened = connector.clock.now();
    let mut connection = connector.connect().await?;
    let (clock, config) = (&connector.clock, &connector.config);
    // A locked row is there already, so waits for rows and tables are as short as the server allows.
    let settings = "SET SESSION autocommit = 1, innodb_lock_wait_timeout = 1, lock_wait_timeout = 1; SET \
                   SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    connection
        .query(clock, settings, config.timeouts.reply)
        .await?;
    let product = probe::probe(&mut connection, clock, config).await?;
    if role == Role::Tables {
        setup::ensure_tables(&mut connection, clock, config).await?;
    }
    let rows = connection
        .query(
            clock,
            &product.info_query(config.tokens),
            config.timeouts.reply,
        )
        .await?;
    let start = ServerInfo::read(rows.first().ok_or_else(errors::no_server_info)?)?;
    // The monitor must see holds on a server that became read-only.
    if start.is_read_only && role == Role::Tables {
        return Err(errors::read_only());
    }
    connection.session = start.session;
    Ok(Ready {
        connection,
        opened,
        sought: None,
        product,
    })
}
