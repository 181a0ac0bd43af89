//! The two connections that hold nothing. One works with the tables: it makes rows, asks and answers who
//! holds a lock. The other looks after sessions and ends them, and needs no table for it: neither what
//! the first one is busy with nor a statement that keeps a table to itself may delay that (K13).

use std::{future::Future, sync::Arc, time::Duration};

use dlock_core::{
    Error, ErrorKind, Result,
    toolkit::{SingleFlight, Turn},
};

use crate::{
    conn::{
        connect::Connector,
        connection::{Connection, Row},
        setup,
    },
    errors, keys,
    sql::server::{Product, ServerInfo, SessionId},
};

/// How often a session is killed until it has ended,
const KILL_EVERY: Duration = Duration::from_millis(5);

/// and how many times: it undoes one row lock.
const KILLS_MAX: usize = 100;

/// How long it is trusted to be there. Nobody tells of its end while it is idle, and a server that was
/// restarted since then grants nothing yet.
const TRUSTED_MAX: Duration = Duration::from_millis(500);

/// What one of them is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It works with the tables.
    Tables,
    /// It looks after sessions.
    Sessions,
}

/// A connection that is made when it is needed, and that one at a time works with.
pub(crate) struct Control {
    turns: SingleFlight<Option<Ready>>,
    connector: Arc<Connector>,
    role: Role,
}

struct Ready {
    connection: Connection,
    product: Product,
}

/// The turn of one on it.
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

    /// Runs `work` on it when it is its turn, in a task of its own (K13); it asks a few times, each
    /// with a bound. A connection is made if need be, and the server of a new one is looked at. Only
    /// that is a failure that those share who waited meanwhile.
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
        let request_timeout = self.connector.config.request_timeout;
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

    /// Ends what a session is doing; success also if it is over.
    pub(crate) async fn end_statement(&self, server: SessionId) -> Result<()> {
        self.run(move |mut turn| async move { turn.kill("KILL QUERY", server).await })
            .await
            .map(drop)
    }

    /// Ends a session, and waits until all that it held is free; success also if it is over.
    ///
    /// Until it is over it can be killed again. Not every account sees its own sessions in a list.
    pub(crate) async fn end_session(&self, server: SessionId) -> Result<()> {
        for _ in 0..KILLS_MAX {
            let kill = self.run(move |mut turn| async move { turn.kill("KILL", server).await });
            if kill.await? == Killed::Over {
                return Ok(());
            }
            tokio::time::sleep(KILL_EVERY).await;
        }
        let why = "a session was killed and has not ended yet";
        Err(Error::new(ErrorKind::Unavailable, why))
    }

    /// Makes the row of a name, unless it is there.
    pub(crate) async fn make_row(&self, row: &str) -> Result<()> {
        let sql = format!("INSERT IGNORE INTO {} (name) VALUES ({row})", keys::LOCKS);
        match self.query(sql).await {
            // Whoever has it locked has made it.
            Err(error) if error.kind() != ErrorKind::Contended => Err(error),
            _ => Ok(()),
        }
    }
}

impl ControlTurn {
    /// Connects, unless there is a connection that has not ended while nobody used it.
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

    /// Sends statements. After a failure that leaves the connection in doubt there is none any more.
    pub(crate) async fn query(&mut self, sql: &str) -> Result<Vec<Row>> {
        // Taken out meanwhile: a task that ends with its runtime takes the connection with it.
        let mut ready = self.slot.take().ok_or_else(errors::connection_lost)?;
        let (clock, request_timeout) =
            (&self.connector.clock, self.connector.config.request_timeout);
        let answer = ready.connection.query(clock, sql, request_timeout).await;
        if ready.connection.is_reusable() {
            *self.slot = Some(ready);
        }
        answer
    }

    /// Which session it is, of which start of which server.
    pub(crate) fn server(&self) -> Option<SessionId> {
        self.slot.as_ref().map(|ready| ready.connection.server)
    }

    pub(crate) fn product(&self) -> Option<Product> {
        self.slot.as_ref().map(|ready| ready.product)
    }

    async fn kill(&mut self, what: &str, server: SessionId) -> Result<Killed> {
        // A session of a server that has been restarted is over: its number is somebody else's now.
        if self.server().ok_or_else(errors::connection_lost)?.boot != server.boot {
            return Ok(Killed::Over);
        }
        match self.query(&format!("{what} {}", server.connection)).await {
            Ok(_) => Ok(Killed::Ending),
            Err(error) if errors::is_no_session(&error) => Ok(Killed::Over),
            Err(error) => Err(error),
        }
    }
}

/// What a `KILL` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    /// A session, which ends now.
    Ending,
    /// None: it has undo all that it did.
    Over,
}

async fn open(connector: &Connector, role: Role) -> Result<Ready> {
    let mut connection = connector.connect().await?;
    let (clock, config) = (&connector.clock, &connector.config);
    // A row that is locked is there, so it waits as short as it can, and so it does for a table.
    let session = "SET SESSION autocommit = 1, innodb_lock_wait_timeout = 1, lock_wait_timeout = 1; SET \
                   SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    connection
        .query(clock, session, config.request_timeout)
        .await?;
    let product = match role {
        Role::Tables => check(&mut connection, connector).await?,
        Role::Sessions => setup::check_server(&mut connection, clock, config).await?,
    };
    let rows = connection
        .query(
            clock,
            &product.info_query(config.tokens),
            config.request_timeout,
        )
        .await?;
    let start = ServerInfo::read(rows.first().ok_or_else(errors::no_server_info)?)?;
    // What is held there ends, and who looks after it has to see that.
    if start.is_read_only && role == Role::Tables {
        return Err(errors::read_only());
    }
    connection.server = start.server;
    Ok(Ready {
        connection,
        product,
    })
}

/// Looks at the server and its tables. Somebody may make them at this moment, and has them to himself for
/// that long.
async fn check(connection: &mut Connection, connector: &Connector) -> Result<Product> {
    let (clock, config) = (&connector.clock, &connector.config);
    let end = clock.now().after(config.request_timeout);
    loop {
        match setup::check(connection, clock, config).await {
            Err(error) if errors::is_contended(&error) && clock.now() < end => {}
            checked => return checked.map_err(errors::of_table_statement),
        }
    }
}
