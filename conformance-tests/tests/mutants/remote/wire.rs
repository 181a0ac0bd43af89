//! Requests and replies, one JSON value a line.

use std::{io, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
};

/// A request of one client for one attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) what: What,
    pub(super) name: String,
    pub(super) attempt: u128,
    pub(super) client: u64,
    pub(super) ttl: Duration,
    pub(super) holder: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    Try,
    Wait,
    Renew,
    Release,
    Inspect,
    /// Ends everything of a client.
    Close,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Granted(u64),
    Taken,
    /// The holder, with its token.
    Held(Option<(String, u64)>),
    Done,
    Gone,
}

pub(super) async fn send(stream: &mut TcpStream, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    stream.write_all(&line).await
}

pub(super) async fn receive<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<T> {
    let mut line = Vec::new();
    BufReader::new(stream.take(1 << 20))
        .read_until(b'\n', &mut line)
        .await?;
    Ok(serde_json::from_slice(&line)?)
}
