//! What a node says of its holder.

use dlock_core::{AcquireRequest, Error, ErrorKind, Holder, Result, Token};

/// The data of a node: `ATTEMPT SINCE PID@HOST NOTE`, without the token, which is the
/// node's own.
pub(crate) fn describe(request: &AcquireRequest) -> String {
    let words = Holder::words_of_request(request);
    format!("{} {words}", request.attempt.id())
}

/// Reads what [`describe`] wrote into the node of that token.
pub(crate) fn described(data: &[u8], token: Token) -> Holder {
    let data = String::from_utf8_lossy(data);
    let line = data
        .split_once(' ')
        .map(|(attempt, rest)| format!("{attempt} {token} {rest}"));
    let mut holder = line
        .and_then(|line| Holder::parse(&line))
        .unwrap_or_else(Holder::foreign);
    holder.token = Some(token);
    holder
}

/// The transaction that made a node, as a token: of two nodes of one queue the later one has the larger.
pub(crate) fn token(czxid: i64) -> Result<Token> {
    let token = u64::try_from(czxid).ok().and_then(Token::new);
    token.ok_or_else(|| Error::new(ErrorKind::Internal, "the server gave no transaction number"))
}
