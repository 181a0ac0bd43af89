//! One connection.

use std::time::Duration;

use dlock_core::{BootInstant, Clock, Error, Result};
use sqlx::{
    AssertSqlSafe, Connection as _, Execute, Executor as _, MySql, Row as _,
    mysql::{MySqlConnection, MySqlRow},
    query, raw_sql,
};
use tokio::time::timeout;

use crate::{errors, keys::LOCK, sql::server::SessionId, token::epoch::Epoch};

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
pub(crate) struct Connection {
    connection: MySqlConnection,
    /// Which session of which start of which server it is.
    pub(crate) server: SessionId,
    /// What tokens are token_of by.
    pub(crate) epoch: Epoch,
    /// Seconds of silence after which the server ends the session.
    pub(crate) wait_timeout: u64,
    /// When the last exchange began.
    pub(crate) used: BootInstant,
    /// An exchange has begun, and nobody has seen its end.
    effect_unknown: bool,
    /// How often it has locked and freed as text; `None` if its server prepares nothing.
    cycles: Option<u32>,
    /// Which statements its server has prepared.
    prepared: [bool; Self::PREPARED_MAX],
}

impl Connection {
    /// How many statements are prepared.
    pub(crate) const PREPARED_MAX: usize = 2;

    pub(crate) fn new(connection: MySqlConnection, now: BootInstant) -> Self {
        Self {
            connection,
            server: SessionId::default(),
            epoch: Epoch::default(),
            wait_timeout: 0,
            used: now,
            effect_unknown: false,
            cycles: Some(0),
            prepared: [false; Self::PREPARED_MAX],
        }
    }

    /// Sends statements and reads the rows of all their results.
    ///
    /// Without an answer within `request_timeout`, or when the future is dropped, the connection is in
    /// doubt: it may still be used for what has no effect, but not for somebody else (T70).
    pub(crate) async fn query(
        &mut self,
        clock: &Clock,
        sql: &str,
        request_timeout: Duration,
    ) -> Result<Vec<Row>> {
        match timeout(request_timeout, self.query_unbounded(clock, sql)).await {
            Ok(answer) => answer.map_err(errors::of_request),
            Err(_) => Err(errors::request_timed_out(request_timeout)),
        }
    }

    /// As [`ask`](Self::ask), for a statement that waits for a lock: its caller has the bound.
    pub(crate) async fn query_unbounded(
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
        request_timeout: Duration,
    ) -> Result<Option<u64>> {
        let rows = self
            .query_prepared(
                clock,
                Statement::Lock,
                query(LOCK).bind(row),
                request_timeout,
            )
            .await?;
        let serial = |row: &MySqlRow| row.try_get_unchecked(0);
        let serial = rows.first().map(serial).transpose();
        serial.map_err(errors::of_request)
    }

    /// Frees what is locked.
    pub(crate) async fn commit(&mut self, clock: &Clock, request_timeout: Duration) -> Result<()> {
        if self.is_prepared() {
            let freed =
                self.query_prepared(clock, Statement::Commit, query(COMMIT), request_timeout);
            match freed.await {
                Err(error) if self.fall_back_to_text(Statement::Commit, &error) => {}
                freed => return freed.map(drop),
            }
        }
        self.cycles = self.cycles.map(|cycles| cycles.saturating_add(1));
        self.query(clock, COMMIT, request_timeout).await.map(drop)
    }

    /// Whether the server does not prepare `statement`, or may not, as far as `error` tells; from now on this
    /// connection does without.
    pub(crate) fn fall_back_to_text(&mut self, statement: Statement, error: &Error) -> bool {
        let is_new = !self.prepared[statement as usize];
        let is_refused =
            errors::is_not_preparable(error) || (is_new && errors::is_statement_error(error));
        let goes_on = self.is_prepared() && is_refused;
        if goes_on {
            self.cycles = None;
        }
        goes_on
    }

    /// As [`ask`](Self::ask), by a statement that is prepared, or will be now.
    async fn query_prepared<'q>(
        &mut self,
        clock: &Clock,
        statement: Statement,
        bound: impl Execute<'q, MySql> + 'q,
        request_timeout: Duration,
    ) -> Result<Vec<MySqlRow>> {
        let is_new = !self.prepared[statement as usize];
        let max = match is_new {
            true => request_timeout * PREPARING_TRIPS,
            false => request_timeout,
        };
        let rows = timeout(max, self.exchange(clock, bound));
        let rows = rows.await.map_err(|_| errors::request_timed_out(max))?;
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
        self.effect_unknown = true;
        let rows = self.connection.fetch_all(statements).await;
        // An error that the server said is an end, too.
        self.effect_unknown = rows.as_ref().is_err_and(errors::is_connection_error);
        rows
    }

    /// Whether it may be given to the next one.
    pub(crate) fn is_reusable(&self) -> bool {
        !self.effect_unknown
    }

    /// Ends the session, and with it all that it holds. Bounded by `max`; the socket is closed anyway.
    pub(crate) async fn close(self, max: Duration) {
        if self.is_reusable() {
            let _ = timeout(max, self.connection.close()).await;
        }
    }
}

fn texts(row: &MySqlRow) -> Result<Row, sqlx::Error> {
    (0..row.len())
        .map(|column| row.try_get_unchecked(column))
        .collect()
}
