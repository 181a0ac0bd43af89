//! One connection to the server, and what is known of its session.

use std::{future::poll_fn, time::Duration};

use dlock_core::{BootInstant, Clock, Error, Result};
use sqlx::{
    AssertSqlSafe, Connection as _, Either, Execute, Executor as _, MySql, Row as _,
    mysql::{MySqlConnection, MySqlRow},
    query, raw_sql,
};
use tokio::time::timeout;

use crate::{
    epoch::row::Epoch,
    errors,
    sql::{
        row::Row,
        server::{Product, SessionId},
    },
};

/// The number of cycles after which a connection prepares its statements. Each costs one more round trip, once,
/// and saves a tenth of each later cycle. It is not worth it for a connection that is used once or twice.
const CYCLES_AS_TEXT: u32 = 2;

/// The exchange that prepares a statement takes two round trips.
const PREPARING_ROUND_TRIPS: u32 = 2;

/// Frees the locked row.
const COMMIT: &str = "COMMIT";

/// Sets the session's limit of silence. The server refuses it if the session is another one, or the server does not
/// grant: the last value is an error, and `NULL` would be none. MySQL takes whole numbers only, hence the cast.
const CONFIRM: &str = "SET SESSION wait_timeout = IF(CONNECTION_ID() = ? AND CONCAT(@@global.read_only) IN \
                       ('0', 'OFF'), CAST(? AS UNSIGNED), ~0 + 1)";

/// A statement that a connection prepares.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Statement {
    /// Locks a row.
    Lock,
    /// Frees the row.
    Commit,
    /// Confirms a row that was waited for.
    Confirm,
}

/// A connection to the server.
pub(crate) struct Connection {
    connection: MySqlConnection,
    pub(crate) product: Product,
    /// The session at the server.
    pub(crate) session: SessionId,
    /// The epoch of the tokens that this connection grants.
    pub(crate) epoch: Epoch,
    /// Seconds of silence after which the server ends the session.
    pub(crate) wait_timeout: u64,
    /// The begin of the last exchange.
    pub(crate) used: BootInstant,
    /// The transaction has a savepoint: see `hold/savepoint.rs`.
    pub(crate) has_savepoint: bool,
    /// An exchange has begun, and its end has not arrived.
    effect_unknown: bool,
    /// Cycles of locking and freeing as text; `None` if its server does not prepare statements.
    cycles: Option<u32>,
    /// The statements that its server has prepared.
    prepared: [bool; Self::PREPARED_MAX],
}

impl Connection {
    /// The number of statements that are prepared.
    pub(crate) const PREPARED_MAX: usize = 3;

    pub(crate) fn new(connection: MySqlConnection, now: BootInstant) -> Self {
        Self {
            connection,
            product: Product::MySql,
            session: SessionId::default(),
            epoch: Epoch::default(),
            wait_timeout: 0,
            used: now,
            has_savepoint: false,
            effect_unknown: false,
            cycles: Some(0),
            prepared: [false; Self::PREPARED_MAX],
        }
    }

    /// Sends statements and reads the rows of all their results.
    ///
    /// Without a reply within `request_timeout`, or when the future is dropped, the effect is unknown. The
    /// connection may still send requests without effect, but is never reused for another lock (K9).
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

    /// Sends a statement that waits for a lock, like [`query`](Self::query): its caller bounds it.
    pub(crate) async fn query_unbounded(
        &mut self,
        clock: &Clock,
        sql: &str,
    ) -> Result<Vec<Row>, sqlx::Error> {
        let statements = raw_sql(AssertSqlSafe(sql.to_owned()));
        self.begin_exchange(clock);
        let rows = self.connection.fetch_all(statements).await;
        self.end_exchange(&rows);
        rows?.iter().map(texts).collect()
    }

    /// Whether its statements are prepared, or will be now.
    pub(crate) fn is_prepared(&self) -> bool {
        self.cycles.is_some_and(|cycles| cycles >= CYCLES_AS_TEXT)
    }

    /// Locks `row` by a prepared statement if it is free. Returns the server's next serial number, or `None` if
    /// the row is missing. Otherwise as [`query`](Self::query).
    pub(crate) async fn lock_row(
        &mut self,
        clock: &Clock,
        row: &[u8],
        request_timeout: Duration,
    ) -> Result<Option<u64>> {
        let lock = query(self.product.lock_row()).bind(row);
        let row = self.query_prepared(clock, Statement::Lock, lock, request_timeout);
        let serial = row.await?.map(|row| row.try_get_unchecked(0)).transpose();
        serial.map_err(errors::of_request)
    }

    /// Proves by a prepared statement that the session is this one, on a server that grants, and sets its limit of
    /// silence to `wait_timeout` seconds. Otherwise as [`query`](Self::query).
    pub(crate) async fn confirm(
        &mut self,
        clock: &Clock,
        wait_timeout: u64,
        request_timeout: Duration,
    ) -> Result<()> {
        let confirm = query(CONFIRM)
            .bind(self.session.connection)
            .bind(wait_timeout);
        self.query_prepared(clock, Statement::Confirm, confirm, request_timeout)
            .await?;
        self.wait_timeout = wait_timeout;
        Ok(())
    }

    /// Frees the locked row.
    pub(crate) async fn commit(&mut self, clock: &Clock, request_timeout: Duration) -> Result<()> {
        self.has_savepoint = false;
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

    /// Stops preparing statements if `error` means that the server cannot prepare `statement`; whether it did.
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

    /// Sends a statement that is prepared, or will be now, like [`query`](Self::query). Its reply has one row at
    /// the most.
    async fn query_prepared<'q>(
        &mut self,
        clock: &Clock,
        statement: Statement,
        bound: impl Execute<'q, MySql> + 'q,
        request_timeout: Duration,
    ) -> Result<Option<MySqlRow>> {
        let is_new = !self.prepared[statement as usize];
        let max = match is_new {
            true => request_timeout * PREPARING_ROUND_TRIPS,
            false => request_timeout,
        };
        self.begin_exchange(clock);
        let row = timeout(max, read_row(&mut self.connection, bound)).await;
        let row = row.map_err(|_| errors::request_timed_out(max))?;
        self.end_exchange(&row);
        self.prepared[statement as usize] |= row.is_ok();
        row.map_err(errors::of_request)
    }

    fn begin_exchange(&mut self, clock: &Clock) {
        self.used = clock.now();
        self.effect_unknown = true;
    }

    fn end_exchange<T>(&mut self, reply: &Result<T, sqlx::Error>) {
        // An error that the server sent is a reply, too.
        self.effect_unknown = reply.as_ref().is_err_and(errors::is_connection_error);
    }

    /// Whether another lock may use it.
    pub(crate) fn is_reusable(&self) -> bool {
        !self.effect_unknown
    }

    /// Ends the session, which frees its row. Waits `max` at most; the socket is closed anyway.
    pub(crate) async fn close(self, max: Duration) {
        if self.is_reusable() {
            let _ = timeout(max, self.connection.close()).await;
        }
    }
}

/// The row of a reply, which is read to its end. The driver's own way to do so makes three more allocations.
async fn read_row<'q>(
    connection: &mut MySqlConnection,
    bound: impl Execute<'q, MySql> + 'q,
) -> Result<Option<MySqlRow>, sqlx::Error> {
    let mut reply = connection.fetch_many(bound);
    let mut row = None;
    while let Some(part) = poll_fn(|cx| reply.as_mut().poll_next(cx)).await {
        if let Either::Right(found) = part? {
            row = Some(found);
        }
    }
    Ok(row)
}

fn texts(row: &MySqlRow) -> Result<Row, sqlx::Error> {
    (0..row.len())
        .map(|column| row.try_get_unchecked(column))
        .collect()
}
