//! The one connection that holds nothing: for looking, for killing, for making rows.

use std::{future::Future, sync::Arc, time::Duration};

use dlock_core::{Error, ErrorKind, Result, Turn, Turns};

use crate::{
    dial::Dialer,
    errors, layout,
    link::{Link, Row},
    server::{Boot, Product, Server, Start},
    setup,
};

/// How often it looks whether a session that was killed has ended,
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// and how many times: it undoes one row lock.
const LOOKS_MAX: usize = 100;

/// How long it is trusted to be there. Nobody tells of its end while it is idle, and a server that was
/// restarted since then grants nothing yet.
const TRUSTED_MAX: Duration = Duration::from_millis(500);

/// A connection that is made when it is needed, and that one at a time works with.
pub(crate) struct Control {
    turns: Turns<Option<Ready>>,
    dialer: Arc<Dialer>,
}

struct Ready {
    link: Link,
    product: Product,
}

/// The turn of one on it.
pub(crate) struct Asking {
    slot: Turn<Option<Ready>>,
    dialer: Arc<Dialer>,
}

impl Control {
    pub(crate) fn new(dialer: Arc<Dialer>) -> Self {
        Self {
            turns: Turns::new(None),
            dialer,
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
        let dialer = self.dialer.clone();
        self.turns
            .run(|slot| async move {
                let mut asking = Asking { slot, dialer };
                match asking.connect().await {
                    Ok(()) => work(asking).await,
                    Err(error) => asking.slot.end(Err(error)),
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
    }

    /// Ends a session, and waits until all that it held is free; success also if it is over.
    pub(crate) async fn end_session(&self, server: Server) -> Result<()> {
        self.run(move |mut asking| async move { asking.kill("KILL", server).await })
            .await?;
        for _ in 0..LOOKS_MAX {
            let is_over = self.run(move |mut asking| async move { asking.is_over(server).await });
            if is_over.await? {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let why = "a session was killed and has not ended yet";
        Err(Error::new(ErrorKind::Unavailable, why))
    }

    /// Makes the row of a name, unless it is there.
    pub(crate) async fn make_row(&self, row: &str) -> Result<()> {
        let sql = format!("INSERT IGNORE INTO {} (name) VALUES ({row})", layout::LOCKS);
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
            *self.slot = Some(open(&self.dialer).await?);
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

    /// Which start of which server it leads to.
    pub(crate) fn boot(&self) -> Option<Boot> {
        self.slot.as_ref().map(|ready| ready.link.server.boot)
    }

    pub(crate) fn product(&self) -> Option<Product> {
        self.slot.as_ref().map(|ready| ready.product)
    }

    async fn kill(&mut self, what: &str, server: Server) -> Result<()> {
        if self.is_of_another_start(server)? {
            return Ok(());
        }
        match self.ask(&format!("{what} {}", server.connection)).await {
            Err(error) if !errors::is_no_session(&error) => Err(error),
            _ => Ok(()),
        }
    }

    async fn is_over(&mut self, server: Server) -> Result<bool> {
        let id = server.connection;
        let look = format!("SELECT id FROM information_schema.processlist WHERE id = {id}");
        Ok(self.is_of_another_start(server)? || self.ask(&look).await?.is_empty())
    }

    /// A session of a server that has been restarted is over: its number is somebody else's now.
    fn is_of_another_start(&self, server: Server) -> Result<bool> {
        Ok(self.boot().ok_or_else(errors::gone)? != server.boot)
    }
}

async fn open(dialer: &Dialer) -> Result<Ready> {
    let mut link = dialer.dial().await?;
    let (clock, config) = (&dialer.clock, &dialer.config);
    // A row that is locked is there, so it waits as short as it can.
    let session = "SET SESSION autocommit = 1, innodb_lock_wait_timeout = 1; SET SESSION TRANSACTION \
                   ISOLATION LEVEL READ COMMITTED";
    link.ask(clock, session, config.answer_max).await?;
    let product = setup::check(&mut link, clock, config).await?;
    let rows = link
        .ask(clock, &product.ask_start(config.tokens), config.answer_max)
        .await?;
    let start = Start::read(rows.first().ok_or_else(nothing)?)?;
    if start.is_read_only {
        return Err(errors::read_only());
    }
    link.server = start.server;
    Ok(Ready { link, product })
}

pub(crate) fn nothing() -> Error {
    let why = "the server does not say when it was started; its UUID_SHORT() cannot be used";
    Error::new(ErrorKind::Unsupported, why)
}
