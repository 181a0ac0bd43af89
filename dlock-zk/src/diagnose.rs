//! Why no server takes us, for the message: the driver does not say.

use std::{io, time::Duration};

use dlock_core::{Error, ErrorKind, config::Host};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::{config::ZkConfig, dial::PORT, errors};

/// How long a server is asked.
const ASK_MAX: Duration = Duration::from_secs(1);

/// More than the answer that is looked for.
const ANSWER_MAX: u64 = 256;

/// Asks the servers one after the other why; the first that says something tells most.
pub(crate) async fn unreachable(config: &ZkConfig) -> Error {
    let mut last = String::new();
    for host in &config.hosts {
        let why = match timeout(ASK_MAX, ask(host, config.tls.is_some())).await {
            Ok(Ok(answer)) => understood(&answer, config.tls.is_some()),
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "nothing listens there; is the server running, and the port right?".to_owned()
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) if config.tls.is_some() => "it does not answer".to_owned(),
            Err(_) => "it does not answer; if that port speaks TLS, use zks://".to_owned(),
        };
        last = format!("{host}: {why}");
    }
    let why = if config.hosts.len() > 1 {
        format!("none of {} servers takes us; {last}", config.hosts.len())
    } else {
        last
    };
    Error::new(ErrorKind::Unavailable, why)
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
