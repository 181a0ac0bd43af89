//! One connection.

use std::time::Duration;

use dlock_core::{Clock, Moment, Result};
use sqlx::{
    AssertSqlSafe, Connection as _, Row as _,
    mysql::{MySqlConnection, MySqlRow},
    raw_sql,
};
use tokio::time::timeout;

use crate::{epoch::Epoch, errors, server::Server};

/// A row of an answer: all values as text.
pub(crate) type Row = Vec<Option<String>>;

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
    pub(crate) used: Moment,
    /// An exchange has begun, and nobody has seen its end.
    in_doubt: bool,
}

impl Link {
    pub(crate) fn new(connection: MySqlConnection, now: Moment) -> Self {
        Self {
            connection,
            server: Server::default(),
            epoch: Epoch::default(),
            silence_max: 0,
            used: now,
            in_doubt: false,
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
        self.used = clock.now();
        self.in_doubt = true;
        let statements = raw_sql(AssertSqlSafe(sql.to_owned()));
        let rows = statements.fetch_all(&mut self.connection).await;
        // An error that the server said is an end, too.
        self.in_doubt = rows.as_ref().is_err_and(errors::is_cut);
        rows?.iter().map(texts).collect()
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
