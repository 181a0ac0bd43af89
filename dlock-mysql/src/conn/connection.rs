//! One connection.

use std::time::Duration;

use dlock_core::{BootInstant, Clock, Error, Result};
use sqlx::{
    AssertSqlSafe, Connection as _, Execute, Executor as _, MySql, Row as _,
    mysql::{MySqlConnection, MySqlRow},
    query, raw_sql,
};
use tokio::time::timeout;

use crate::{errors, keys::LOCK, sql::server::Server, token::epoch::Epoch};

/// A row of an answer: all values as text.
pub(crate) type Row = Vec<Option<String>>;

/// After so many cycles a connection has its statements prepared. Each costs a round trip more, once,
/// and spares the server its text from then on, a tenth of a cycle: nothing for a connection that is
/// used once or twice.
const CYCLES_AS_TEXT: u32 = 2;

/// The exchange that prepares a statement takes two round trips.
const PREPARING_TRIPS: u32 = 2;

/// Frees what is locked.
const COMMIT: &str = "COMMIT";

/// What a connection has prepared.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Statement {
    /// Locks a row.
    Lock,
    /// Frees it.
    Commit,
}

/// A connection to the server, and what is known of its session.
pub(crate) struct Link {
    connection: MySqlConnection,
    /// Which session of which start of which server it is.
    pub(crate) server: Server,
    /// What tokens are counted by.
    pub(crate) epoch: Epoch,
    /// Seconds of silence after which the server ends the session.
    pub(crate) silence_max: u64,
    /// When the last exchange began.
    pub(crate) used: BootInstant,
    /// An exchange has begun, and nobody has seen its end.
    in_doubt: bool,
    /// How often it has locked and freed as text; `None` if its server prepares nothing.
    cycles: Option<u32>,
    /// Which statements its server has prepared.
    prepared: [bool; Self::PREPARED_MAX],
}

impl Link {
    /// How many statements are prepared.
    pub(crate) const PREPARED_MAX: usize = 2;

    pub(crate) fn new(connection: MySqlConnection, now: BootInstant) -> Self {
        Self {
            connection,
            server: Server::default(),
            epoch: Epoch::default(),
            silence_max: 0,
            used: now,
            in_doubt: false,
            cycles: Some(0),
            prepared: [false; Self::PREPARED_MAX],
        }
    }

    /// Sends statements and reads the rows of all their results.
    ///
    /// Without an answer within `answer_max`, or when the future is dropped, the connection is in
    /// doubt: it may still be used for what has no effect, but not for somebody else (T70).
    pub(crate) async fn ask(
        &mut self,
        clock: &Clock,
        sql: &str,
        answer_max: Duration,
    ) -> Result<Vec<Row>> {
        match timeout(answer_max, self.ask_long(clock, sql)).await {
            Ok(answer) => answer.map_err(errors::of_request),
            Err(_) => Err(errors::no_answer(answer_max)),
        }
    }

    /// As [`ask`](Self::ask), for a statement that waits for a lock: its caller has the bound.
    pub(crate) async fn ask_long(
        &mut self,
        clock: &Clock,
        sql: &str,
    ) -> Result<Vec<Row>, sqlx::Error> {
        let statements = raw_sql(AssertSqlSafe(sql.to_owned()));
        let rows = self.exchange(clock, statements).await?;
        rows.iter().map(texts).collect()
    }

    /// Whether its statements are prepared, or will be now.
    pub(crate) fn is_prepared(&self) -> bool {
        self.cycles.is_some_and(|cycles| cycles >= CYCLES_AS_TEXT)
    }

    /// Locks `row` by a prepared statement if it is free; the server's next number, or `None` if there
    /// is no such row. Otherwise as [`ask`](Self::ask).
    pub(crate) async fn lock(
        &mut self,
        clock: &Clock,
        row: &[u8],
        answer_max: Duration,
    ) -> Result<Option<u64>> {
        let rows = self
            .ask_prepared(clock, Statement::Lock, query(LOCK).bind(row), answer_max)
            .await?;
        let serial = |row: &MySqlRow| row.try_get_unchecked(0);
        let serial = rows.first().map(serial).transpose();
        serial.map_err(errors::of_request)
    }

    /// Frees what is locked.
    pub(crate) async fn commit(&mut self, clock: &Clock, answer_max: Duration) -> Result<()> {
        if self.is_prepared() {
            let freed = self.ask_prepared(clock, Statement::Commit, query(COMMIT), answer_max);
            match freed.await {
                Err(error) if self.goes_on_as_text(Statement::Commit, &error) => {}
                freed => return freed.map(drop),
            }
        }
        self.cycles = self.cycles.map(|cycles| cycles.saturating_add(1));
        self.ask(clock, COMMIT, answer_max).await.map(drop)
    }

    /// Whether the server does not prepare `statement`, or may not, as far as `error` tells; from now on this
    /// connection does without.
    pub(crate) fn goes_on_as_text(&mut self, statement: Statement, error: &Error) -> bool {
        let is_new = !self.prepared[statement as usize];
        let is_refused = errors::is_unprepared(error) || (is_new && errors::is_refusal(error));
        let goes_on = self.is_prepared() && is_refused;
        if goes_on {
            self.cycles = None;
        }
        goes_on
    }

    /// As [`ask`](Self::ask), by a statement that is prepared, or will be now.
    async fn ask_prepared<'q>(
        &mut self,
        clock: &Clock,
        statement: Statement,
        bound: impl Execute<'q, MySql> + 'q,
        answer_max: Duration,
    ) -> Result<Vec<MySqlRow>> {
        let is_new = !self.prepared[statement as usize];
        let max = match is_new {
            true => answer_max * PREPARING_TRIPS,
            false => answer_max,
        };
        let rows = timeout(max, self.exchange(clock, bound));
        let rows = rows.await.map_err(|_| errors::no_answer(max))?;
        let rows = rows.map_err(errors::of_request)?;
        if is_new {
            self.prepared[statement as usize] = true;
        }
        Ok(rows)
    }

    async fn exchange<'q>(
        &mut self,
        clock: &Clock,
        statements: impl Execute<'q, MySql> + 'q,
    ) -> Result<Vec<MySqlRow>, sqlx::Error> {
        self.used = clock.now();
        self.in_doubt = true;
        let rows = self.connection.fetch_all(statements).await;
        // An error that the server said is an end, too.
        self.in_doubt = rows.as_ref().is_err_and(errors::is_cut);
        rows
    }

    /// Whether it may be given to the next one.
    pub(crate) fn is_clean(&self) -> bool {
        !self.in_doubt
    }

    /// Ends the session, and with it all that it holds. Bounded by `max`; the socket is closed anyway.
    pub(crate) async fn close(self, max: Duration) {
        if self.is_clean() {
            let _ = timeout(max, self.connection.close()).await;
        }
    }
}

fn texts(row: &MySqlRow) -> Result<Row, sqlx::Error> {
    (0..row.len())
        .map(|column| row.try_get_unchecked(column))
        .collect()
}
