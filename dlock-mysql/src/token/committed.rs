//! Tokens by a durable write for each grant: `token=committed`, for servers without `UUID_SHORT()`.
//!
//! The counter is committed on another connection than the one that holds the row, which is asked
//! afterwards whether it still does: had it ended before, somebody else could have been granted between,
//! with the smaller token.

use dlock_core::{Error, ErrorKind, Result, Token};

use crate::{
    conn::pool::Pool,
    errors,
    keys::EPOCH,
    sql::server::{ServerStart, number},
    token::epoch::{self, Epoch},
};

/// The next token on `boot`, committed, and what stands beside the epoch.
///
/// It is above the time in seconds, shifted as an epoch is, so that a lost commit and a change from
/// the server's own count are saved by the clock. Without its row it is zero, which is no token, and
/// never what the connection token_of before.
pub(crate) async fn next(session: &Pool, boot: ServerStart) -> Result<(Token, Epoch)> {
    let sql = format!(
        "SELECT LAST_INSERT_ID(0); {}; UPDATE {EPOCH} SET epoch = LAST_INSERT_ID(GREATEST(epoch + 1, \
         (UNIX_TIMESTAMP() + 1) << 31)) WHERE id = 2; SELECT LAST_INSERT_ID()",
        epoch::ask()
    );
    let asked = session.connector.clock.now();
    let token_of = session.control()?.query(sql).await;
    // The lock is ours: what is taken is the counter's row.
    let rows = token_of.map_err(|error| match error.kind() {
        ErrorKind::Contended => Error::new(ErrorKind::Unavailable, "the counter of tokens is busy"),
        _ => error,
    })?;
    let token = number(rows.last().ok_or_else(epoch::no_row)?, 0)?;
    let epoch = Epoch::among(&rows, asked)?.ok_or_else(epoch::no_row)?;
    if epoch.boot != boot {
        return Err(errors::session_moved());
    }
    session.epochs.learn(epoch);
    let token = Token::new(token).ok_or_else(epoch::no_row)?;
    Ok((token, epoch))
}
