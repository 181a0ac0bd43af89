//! The keys of dlock in a server, under its default prefix: what tests read and prepare beside a client.

use std::{io, time::Duration};

use dlock_core::Clock;

use super::{node::Node, reply::Reply};

/// The counter of tokens.
pub const COUNTER: &str = "dlock:{all}fence";

/// The key of the record of the server's history.
pub const RECORD: &str = "dlock:{all}record";

/// How long ago a server got to know dlock: longer than any restart guard.
const KNOWN_FOR: Duration = Duration::from_secs(3_600);

/// Makes the server one that has known dlock for an hour, and so waits for no guard.
///
/// # Errors
///
/// When the server does not answer.
///
/// # Cancel safety
///
/// The server may know a part of it: call it again.
pub async fn acquaint(node: &Node) -> io::Result<()> {
    let known_for = u64::try_from(KNOWN_FOR.as_micros()).unwrap_or(u64::MAX);
    let since = Clock::boottime().unix_micros().saturating_sub(known_for);
    let record = format!("1 {} {since} new -", node.info("run_id").await?);
    node.command(&["SET", RECORD, &record]).await?;
    node.command(&["SET", COUNTER, &since.to_string()]).await?;
    Ok(())
}

/// The keys of locks, without those that are dlock's own.
///
/// # Errors
///
/// When the server does not answer.
///
/// # Cancel safety
///
/// Dropping the future changes nothing.
pub async fn locks(node: &Node) -> io::Result<Vec<String>> {
    let keys = node.command(&["KEYS", "*"]).await?.array()?;
    let keys = keys.into_iter().map(Reply::text);
    let keys = keys.collect::<io::Result<Vec<_>>>()?;
    let is_lock = |key: &String| !key.contains('{');
    Ok(keys.into_iter().filter(is_lock).collect())
}

/// The value of the lock `name`, if it is taken.
///
/// # Errors
///
/// When the server does not answer.
///
/// # Cancel safety
///
/// Dropping the future changes nothing.
pub async fn value(node: &Node, name: &str) -> io::Result<Option<String>> {
    match node.command(&["GET", &format!("dlock:{name}")]).await? {
        Reply::Nil => Ok(None),
        reply => Ok(Some(reply.text()?)),
    }
}
