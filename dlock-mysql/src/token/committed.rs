//! TokenSource by a durable write for each grant: `token=committed`, for servers without `UUID_SHORT()`.
//!
//! Another connection than the one that holds the row commits the counter. A heartbeat on the holding
//! connection follows: a session that had ended before could have let another holder in, with the smaller token.

use dlock_core::{Error, ErrorKind, Result, Token};

use crate::{
    conn::{control::ControlTurn, pool::Pool},
    epoch::row::{self, EPOCH_SHIFT, Epoch},
    errors,
    sql::{row::number, server::ServerStart, tables::EPOCH},
};

/// The next token on `start`, committed, and the epoch row.
///
/// It is above the time in seconds, shifted like an epoch. So the clock covers a lost commit and a change from
/// `token=epoch`. Without its row the counter is zero, which is not a token, and never an old value of the
/// connection.
pub(crate) async fn next(pool: &Pool, start: ServerStart) -> Result<(Token, Epoch)> {
    let sql = format!(
        "SELECT LAST_INSERT_ID(0); {}; UPDATE {EPOCH} SET epoch = LAST_INSERT_ID(GREATEST(epoch + 1, \
         (UNIX_TIMESTAMP() + 1) << {EPOCH_SHIFT})) WHERE id = 2; SELECT LAST_INSERT_ID()",
        row::select()
    );
    let sent = pool.connector.clock.now();
    let query = move |mut turn: ControlTurn| async move {
        turn.reach(start).await?;
        turn.query(&sql).await
    };
    let rows = pool.tables()?.run(query).await;
    // The lock is ours: contention is about the counter's row.
    let rows = rows.map_err(|error| match error.kind() {
        ErrorKind::Contended => Error::new(ErrorKind::Unavailable, "the counter of tokens is busy"),
        _ => error,
    })?;
    let token = number(rows.last().ok_or_else(row::missing_row)?, 0)?;
    let epoch = Epoch::find(&rows, sent)?.ok_or_else(row::missing_row)?;
    if epoch.start != start {
        return Err(errors::session_moved());
    }
    pool.epochs.store(epoch);
    let token = Token::new(token).ok_or_else(row::missing_row)?;
    Ok((token, epoch))
}
