//! Why no server takes us, for the message: the driver does not say.

use std::{io, time::Duration};

use dlock_core::{Error, ErrorKind, config::Host};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
    time::timeout,
};

use crate::{config::ZkConfig, dial::PORT, errors};

/// How long the servers are asked, beyond `connect_timeout`.
const ASK_MAX: Duration = Duration::from_secs(1);

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
        Ok(Ok(answer)) => (Says::Something, understood(&answer, has_tls)),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => (
            Says::NoConnection,
            "nothing listens there; is the server running, and the port right?".to_owned(),
        ),
        Ok(Err(error)) => (Says::NoConnection, error.to_string()),
        Err(_) if has_tls => (Says::Nothing, "it does not answer".to_owned()),
        Err(_) => (
            Says::Nothing,
            "it does not answer; if that port speaks TLS, use zks://".to_owned(),
        ),
    };
    (says, format!("{host}: {why}"))
}

/// One of the server's four-letter words, that all let through who have a read-only mode.
async fn ask(host: &Host, has_tls: bool) -> io::Result<String> {
    let mut stream = TcpStream::connect((&*host.name, host.port.unwrap_or(PORT))).await?;
    if has_tls {
        return Ok(String::new());
    }
    stream.write_all(b"isro").await?;
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn understood(answer: &str, has_tls: bool) -> String {
    if answer.starts_with("ro") {
        errors::READ_ONLY.to_owned()
    } else if answer.contains("not currently serving") || answer.starts_with("null") {
        "the server runs, but its ensemble has no majority".to_owned()
    } else if has_tls {
        "no session over TLS; if that port does not speak TLS, use zk://; else look at tls_ca=, \
         tls_cert= and tls_key="
            .to_owned()
    } else if answer.is_empty() {
        "it closes the connection; if that port speaks TLS, use zks://".to_owned()
    } else {
        "it answers, but gives no session".to_owned()
    }
}
