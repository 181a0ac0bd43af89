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
        connect::Dialer,
        connection::{Link, Row},
        setup,
    },
    errors, keys,
    sql::server::{Product, Server, Start},
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
pub(crate) enum Duty {
    /// It works with the tables.
    Tables,
    /// It looks after sessions.
    Sessions,
}

/// A connection that is made when it is needed, and that one at a time works with.
pub(crate) struct Control {
    turns: SingleFlight<Option<Ready>>,
    dialer: Arc<Dialer>,
    duty: Duty,
}

struct Ready {
    link: Link,
    product: Product,
}

/// The turn of one on it.
pub(crate) struct Asking {
    slot: Turn<Option<Ready>>,
    dialer: Arc<Dialer>,
    duty: Duty,
}

impl Control {
    pub(crate) fn new(dialer: Arc<Dialer>, duty: Duty) -> Self {
        Self {
            turns: SingleFlight::new(None),
            dialer,
            duty,
        }
    }

    /// Runs `work` on it when it is its turn, in a task of its own (K13); it asks a few times, each
    /// with a bound. A connection is made if need be, and the server of a new one is looked at. Only
    /// that is a failure that those share who waited meanwhile.
    pub(crate) async fn run<R, W>(
        &self,
        work: impl FnOnce(Asking) -> W + Send + 'static,
    ) -> Result<R>
    where
        R: Send + 'static,
        W: Future<Output = Result<R>> + Send + 'static,
    {
        let (dialer, duty) = (self.dialer.clone(), self.duty);
        self.turns
            .run(move |slot| async move {
                let mut asking = Asking { slot, dialer, duty };
                match asking.connect().await {
                    Ok(()) => work(asking).await,
                    Err(error) => asking.slot.finish(Err(error)),
                }
            })
            .await
    }

    /// Sends statements.
    pub(crate) async fn ask(&self, sql: String) -> Result<Vec<Row>> {
        self.run(|mut asking| async move { asking.ask(&sql).await })
            .await
    }

    /// Ends the connection. The dialer makes no other one.
    pub(crate) async fn close(&self) {
        let answer_max = self.dialer.config.answer_max;
        let close = self
            .turns
            .run(move |mut slot: Turn<Option<Ready>>| async move {
                if let Some(ready) = slot.take() {
                    ready.link.close(answer_max).await;
                }
                Ok(())
            });
        let _ = close.await;
    }

    /// Ends what a session is doing; success also if it is over.
    pub(crate) async fn end_statement(&self, server: Server) -> Result<()> {
        self.run(move |mut asking| async move { asking.kill("KILL QUERY", server).await })
            .await
            .map(drop)
    }

    /// Ends a session, and waits until all that it held is free; success also if it is over.
    ///
    /// Until it is over it can be killed again. Not every account sees its own sessions in a list.
    pub(crate) async fn end_session(&self, server: Server) -> Result<()> {
        for _ in 0..KILLS_MAX {
            let kill = self.run(move |mut asking| async move { asking.kill("KILL", server).await });
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
        match self.ask(sql).await {
            // Whoever has it locked has made it.
            Err(error) if error.kind() != ErrorKind::Contended => Err(error),
            _ => Ok(()),
        }
    }
}

impl Asking {
    /// Connects, unless there is a connection that has not ended while nobody used it.
    async fn connect(&mut self) -> Result<()> {
        let now = self.dialer.clock.now();
        let is_idle = |ready: &Ready| now.since(ready.link.used) > TRUSTED_MAX;
        if self.slot.as_ref().is_some_and(is_idle) && self.ask("DO 1").await.is_err() {
            *self.slot = None;
        }
        if self.slot.is_none() {
            *self.slot = Some(open(&self.dialer, self.duty).await?);
        }
        Ok(())
    }

    /// Sends statements. After a failure that leaves the connection in doubt there is none any more.
    pub(crate) async fn ask(&mut self, sql: &str) -> Result<Vec<Row>> {
        // Taken out meanwhile: a task that ends with its runtime takes the connection with it.
        let mut ready = self.slot.take().ok_or_else(errors::gone)?;
        let (clock, answer_max) = (&self.dialer.clock, self.dialer.config.answer_max);
        let answer = ready.link.ask(clock, sql, answer_max).await;
        if ready.link.is_clean() {
            *self.slot = Some(ready);
        }
        answer
    }

    /// Which session it is, of which start of which server.
    pub(crate) fn server(&self) -> Option<Server> {
        self.slot.as_ref().map(|ready| ready.link.server)
    }

    pub(crate) fn product(&self) -> Option<Product> {
        self.slot.as_ref().map(|ready| ready.product)
    }

    async fn kill(&mut self, what: &str, server: Server) -> Result<Killed> {
        // A session of a server that has been restarted is over: its number is somebody else's now.
        if self.server().ok_or_else(errors::gone)?.boot != server.boot {
            return Ok(Killed::Over);
        }
        match self.ask(&format!("{what} {}", server.connection)).await {
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
    /// None: it has undone all that it did.
    Over,
}

async fn open(dialer: &Dialer, duty: Duty) -> Result<Ready> {
    let mut link = dialer.dial().await?;
    let (clock, config) = (&dialer.clock, &dialer.config);
    // A row that is locked is there, so it waits as short as it can, and so it does for a table.
    let session = "SET SESSION autocommit = 1, innodb_lock_wait_timeout = 1, lock_wait_timeout = 1; SET \
                   SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    link.ask(clock, session, config.answer_max).await?;
    let product = match duty {
        Duty::Tables => check(&mut link, dialer).await?,
        Duty::Sessions => setup::check_server(&mut link, clock, config).await?,
    };
    let rows = link
        .ask(clock, &product.ask_start(config.tokens), config.answer_max)
        .await?;
    let start = Start::read(rows.first().ok_or_else(nothing)?)?;
    // What is held there ends, and who looks after it has to see that.
    if start.is_read_only && duty == Duty::Tables {
        return Err(errors::read_only());
    }
    link.server = start.server;
    Ok(Ready { link, product })
}

/// Looks at the server and its tables. Somebody may make them at this moment, and has them to himself for
/// that long.
async fn check(link: &mut Link, dialer: &Dialer) -> Result<Product> {
    let (clock, config) = (&dialer.clock, &dialer.config);
    let end = clock.now().after(config.answer_max);
    loop {
        match setup::check(link, clock, config).await {
            Err(error) if errors::is_taken(&error) && clock.now() < end => {}
            checked => return checked.map_err(errors::of_tables),
        }
    }
}

pub(crate) fn nothing() -> Error {
    let why = "the server does not say when it was started; its UUID_SHORT() cannot be used";
    Error::new(ErrorKind::Unsupported, why)
}
