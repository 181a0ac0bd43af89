//! The token of a place in the queue.

use dlock_core::{Error, ErrorKind, Result, Token};

/// The transaction that made a node, as a token: of two nodes of one queue the later one has the larger.
pub(crate) fn token(czxid: i64) -> Result<Token> {
    let token = u64::try_from(czxid).ok().and_then(Token::new);
    token.ok_or_else(|| Error::new(ErrorKind::Internal, "the server gave no transaction number"))
}
