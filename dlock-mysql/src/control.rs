//! The one connection that holds nothing: for looking, for killing, for making rows.

use std::time::Duration;

use dlock_core::{Error, ErrorKind, Moment, Result};
use tokio::sync::{Mutex, MutexGuard};

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

/// A connection that is made when it is needed.
#[derive(Default)]
pub(crate) struct Control {
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    ready: Option<Ready>,
    /// Why the last try to connect failed, and when.
    failure: Option<(Moment, Error)>,
}

struct Ready {
    link: Link,
    product: Product,
}

/// The turn of one on it.
pub(crate) struct Turn<'a> {
    slot: MutexGuard<'a, Slot>,
    dialer: &'a Dialer,
}

impl Control {
    /// Connects if need be, and looks at a server that it was not connected to before. Those who waited
    /// while one tried share its failure: a silent server takes as long for each (K13).
    pub(crate) async fn turn<'a>(&'a self, dialer: &'a Dialer) -> Result<Turn<'a>> {
        let came = dialer.clock.now();
        let mut slot = self.slot.lock().await;
        if slot.ready.is_none() {
            if let Some((_, error)) = slot.failure.as_ref().filter(|(at, _)| *at >= came) {
                return Err(error.again());
            }
            let opened = open(dialer).await;
            let failure = opened.as_ref().err().map(Error::again);
            slot.failure = failure.map(|error| (dialer.clock.now(), error));
            slot.ready = Some(opened?);
        }
        Ok(Turn { slot, dialer })
    }

    pub(crate) async fn close(&self, dialer: &Dialer) {
        if let Some(ready) = self.slot.lock().await.ready.take() {
            ready.link.close(dialer.config.answer_max).await;
        }
    }
}

impl Turn<'_> {
    /// Sends statements. After a failure that leaves the connection in doubt there is none any more.
    pub(crate) async fn ask(&mut self, sql: &str) -> Result<Vec<Row>> {
        // Taken out meanwhile: a future that is dropped takes the connection with it.
        let mut ready = self.slot.ready.take().ok_or_else(errors::gone)?;
        let (clock, answer_max) = (&self.dialer.clock, self.dialer.config.answer_max);
        let answer = ready.link.ask(clock, sql, answer_max).await;
        if ready.link.is_clean() {
            self.slot.ready = Some(ready);
        }
        answer
    }

    /// Which start of which server it leads to.
    pub(crate) fn boot(&self) -> Option<Boot> {
        self.slot.ready.as_ref().map(|ready| ready.link.server.boot)
    }

    pub(crate) fn product(&self) -> Option<Product> {
        self.slot.ready.as_ref().map(|ready| ready.product)
    }

    /// Ends what a session is doing; success also if it is over.
    pub(crate) async fn end_statement(&mut self, server: Server) -> Result<()> {
        self.kill("KILL QUERY", server).await
    }

    /// Ends a session, and waits until all that it held is free; success also if it is over.
    pub(crate) async fn end_session(&mut self, server: Server) -> Result<()> {
        self.kill("KILL", server).await?;
        let id = server.connection;
        let look = format!("SELECT id FROM information_schema.processlist WHERE id = {id}");
        for _ in 0..LOOKS_MAX {
            if self.boot().ok_or_else(errors::gone)? != server.boot
                || self.ask(&look).await?.is_empty()
            {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let why = "a session was killed and has not ended yet";
        Err(Error::new(ErrorKind::Unavailable, why))
    }

    /// A session of a server that has been restarted is over: its number is somebody else's now.
    async fn kill(&mut self, what: &str, server: Server) -> Result<()> {
        if self.boot().ok_or_else(errors::gone)? != server.boot {
            return Ok(());
        }
        match self.ask(&format!("{what} {}", server.connection)).await {
            Err(error) if !errors::is_no_session(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Makes the row of a name, unless it is there.
    pub(crate) async fn make_row(&mut self, row: &str) -> Result<()> {
        let sql = format!("INSERT IGNORE INTO {} VALUES ({row})", layout::LOCKS);
        match self.ask(&sql).await {
            // Whoever has it locked has made it.
            Err(error) if error.kind() != ErrorKind::Contended => Err(error),
            _ => Ok(()),
        }
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
