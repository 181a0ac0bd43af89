//! Why no server takes us, for the message: the driver does not say.

use std::{io, time::Duration};

use dlock_core::{Error, ErrorKind, config::Host};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use crate::config::ZkConfig;
use crate::conn::connect::PORT;
use crate::errors;

/// How long the servers are asked, beyond `connect_timeout`.
const ASK_MAX: Duration = Duration::from_secs(1);

/// A server with no room for a connection ends it sooner than this.
const SILENCE_MAX: Duration = Duration::from_millis(900);

/// More than the answer that is looked for.
const ANSWER_MAX: u64 = 256;

/// Asks all servers at once why, and tells of the one that says most.
pub(crate) async fn unreachable(config: &ZkConfig) -> Error {
    let has_tls = config.tls.is_some();
    let mut asking = JoinSet::new();
    for host in config.hosts.clone() {
        asking.spawn(async move { reason(&host, has_tls).await });
    }
    let mut reasons = Vec::new();
    while let Some(asked) = asking.join_next().await {
        // One fails only when the runtime ends.
        reasons.extend(asked.ok());
    }
    let most = reasons.into_iter().max().unwrap_or_default().1;
    let why = if config.hosts.len() > 1 {
        format!("none of {} servers takes us; {most}", config.hosts.len())
    } else {
        most
    };
    Error::new(ErrorKind::Unavailable, why)
}

/// How much a server says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    #[default]
    Nothing,
    NoConnection,
    Something,
}

/// How much a server says, and what.
async fn reason(host: &Host, has_tls: bool) -> (Says, String) {
    let (says, why) = match timeout(ASK_MAX, ask(host, has_tls)).await {
        Ok(Ok(why)) => (Says::Something, why),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => (
            Says::NoConnection,
            "nothing listens there; is the server running, and the port right?",
        ),
        Ok(Err(error)) => return (Says::NoConnection, format!("{host}: {error}")),
        Err(_) if has_tls => (Says::Nothing, "it does not answer"),
        Err(_) => (
            Says::Nothing,
            "it does not answer; if that port speaks TLS, use zks://",
        ),
    };
    (says, format!("{host}: {why}"))
}

async fn ask(host: &Host, has_tls: bool) -> io::Result<&'static str> {
    let answer = if has_tls {
        String::new()
    } else {
        mode(host).await?
    };
    Ok(if answer.starts_with("ro") {
        errors::READ_ONLY
    } else if answer.contains("not currently serving") || answer.starts_with("null") {
        "the server runs, but its ensemble has no majority"
    } else if !answer.is_empty() {
        "it answers, but gives no session"
    } else if ends_at_once(host).await? {
        "it ends each connection at once, as one does that has as many as it may (maxClientCnxns from one \
         address, 60 by default, or maxCnxns); end some, or raise that"
    } else if has_tls {
        "no session over TLS; if that port does not speak TLS, use zk://; else look at tls_ca=, tls_cert= and \
         tls_key="
    } else {
        "it closes the connection; if that port speaks TLS, use zks://"
    })
}

async fn connected(host: &Host) -> io::Result<TcpStream> {
    TcpStream::connect((&*host.name, host.port.unwrap_or(PORT))).await
}

/// The answer to one of the server's four-letter words, that all let through who have a read-only mode; nothing if
/// it ends the connection instead.
async fn mode(host: &Host) -> io::Result<String> {
    let mut answer = Vec::new();
    let asked = async {
        let mut stream = connected(host).await?;
        stream.write_all(b"isro").await?;
        stream.take(ANSWER_MAX).read_to_end(&mut answer).await
    };
    match asked.await {
        Err(error) if !is_end(&error) => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

/// Whether the server ends a connection before a word is said. One that waits for TLS waits for longer.
async fn ends_at_once(host: &Host) -> io::Result<bool> {
    let ended = async { connected(host).await?.read(&mut [0]).await };
    match timeout(SILENCE_MAX, ended).await {
        Ok(Err(error)) if !is_end(&error) => Err(error),
        ended => Ok(ended.is_ok()),
    }
}

/// Whether the other side has ended the connection: also while it was being made.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
}
