//! The reason why no server gives a session, for the error message: the driver does not report it.

use std::{fmt, io, time::Duration};

use dlock_core::{Error, ErrorKind, config::Host};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use crate::{config::ZkConfig, errors};

/// The time for the diagnosis.
const DIAGNOSE_MAX: Duration = Duration::from_secs(1);

/// How long to connect within `connect_timeout`: the diagnosis has the rest. A short time-out is not cut below a half.
pub(super) fn connect_max(connect_timeout: Duration) -> Duration {
    connect_timeout - DIAGNOSE_MAX.min(connect_timeout / 2)
}

/// A server that has as many connections as it may ends a new one sooner than this.
const REJECT_MAX: Duration = Duration::from_millis(900);

/// Hints at a URL of the wrong scheme.
const SPEAKS_TLS: &str = "if that port speaks TLS, use zks://";
const NO_TLS: &str =
    "if that port does not speak TLS, use zk://; else check tls_ca=, tls_cert= and tls_key=";

/// More bytes than an answer has.
const ANSWER_MAX: u64 = 256;

/// Probes all servers at once, and reports the most specific reason.
pub(crate) async fn unreachable(config: &ZkConfig) -> Error {
    let has_tls = config.tls.is_some();
    let mut probes = JoinSet::new();
    for host in config.hosts.iter() {
        let host = host.clone();
        probes.spawn(async move { reason(&host, has_tls).await });
    }
    let mut reasons = Vec::new();
    while let Some(probed) = probes.join_next().await {
        // A task fails only when the runtime ends.
        reasons.extend(probed.ok());
    }
    let most = reasons.into_iter().max().unwrap_or_default();
    let why = match config.hosts.len() {
        1 => most.why,
        servers => format!("{} (no session from any of {servers} servers)", most.why),
    };
    let failed = Error::new(ErrorKind::Unavailable, why).at(most.address);
    match most.url_hint {
        Some(hint) => failed.with_url_hint(hint),
        None => failed,
    }
}

/// Why a server gives no session; the most specific reason is the largest.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Reason {
    specificity: Specificity,
    /// The server.
    address: String,
    why: String,
    /// Why the URL may be wrong.
    url_hint: Option<&'static str>,
}

/// How specific a reason is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    #[default]
    NoAnswer,
    NoConnection,
    Answer,
}

/// The reason why a server gives no session.
async fn reason(host: &Host, has_tls: bool) -> Reason {
    let mut address = host.clone();
    address.port.get_or_insert(ZkConfig::PORT);
    let of = |specificity, why: &dyn fmt::Display, url_hint| Reason {
        specificity,
        address: address.to_string(),
        why: why.to_string(),
        url_hint,
    };
    match timeout(DIAGNOSE_MAX, diagnose(host, has_tls)).await {
        Ok(Ok((why, url_hint))) => of(Specificity::Answer, &why, url_hint),
        Ok(Err(error)) => of(Specificity::NoConnection, &Error::unreachable(&error), None),
        Err(_) => {
            let url_hint = (!has_tls).then_some(SPEAKS_TLS);
            of(
                Specificity::NoAnswer,
                &Error::no_answer(DIAGNOSE_MAX),
                url_hint,
            )
        }
    }
}

/// A reason, and why the URL may be wrong.
async fn diagnose(host: &Host, has_tls: bool) -> io::Result<(&'static str, Option<&'static str>)> {
    let answer = if has_tls {
        String::new()
    } else {
        mode(host).await?
    };
    Ok(if answer.starts_with("ro") {
        (errors::READ_ONLY, None)
    } else if answer.contains("not currently serving") || answer.starts_with("null") {
        ("the server runs, but its ensemble has no majority", None)
    } else if !answer.is_empty() {
        ("it answers, but gives no session", None)
    } else if ends_at_once(host).await? {
        let why = "it ends each connection at once, as one does that has as many as it may (maxClientCnxns from one \
                   address, 60 by default, or maxCnxns); end some, or raise that";
        (why, None)
    } else if has_tls {
        ("no session over TLS", Some(NO_TLS))
    } else {
        ("it closes the connection", Some(SPEAKS_TLS))
    })
}

async fn connected(host: &Host) -> io::Result<TcpStream> {
    TcpStream::connect((&*host.name, host.port.unwrap_or(ZkConfig::PORT))).await
}

/// The answer to the four-letter word `isro`, which all servers with a read-only mode allow; empty if the server ends
/// the connection instead.
async fn mode(host: &Host) -> io::Result<String> {
    let mut answer = Vec::new();
    let exchange = async {
        let mut stream = connected(host).await?;
        stream.write_all(b"isro").await?;
        stream.take(ANSWER_MAX).read_to_end(&mut answer).await
    };
    match exchange.await {
        Err(error) if !is_end(&error) => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

/// Whether the server ends a connection at once. One that expects TLS waits for longer.
async fn ends_at_once(host: &Host) -> io::Result<bool> {
    let ended = async { connected(host).await?.read(&mut [0]).await };
    match timeout(REJECT_MAX, ended).await {
        Ok(Err(error)) if !is_end(&error) => Err(error),
        ended => Ok(ended.is_ok()),
    }
}

/// Whether the server has ended the connection, also while it was being made.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionReset | NotConnected)
}
