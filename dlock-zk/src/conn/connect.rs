//! Connecting: addresses, login and TLS become the driver's client.

use std::time::Duration;

use dlock_core::{Clock, Result};
use tokio::time::timeout;
use zookeeper_client::{Client, Error as ZkError};

#[cfg(feature = "tls")]
use super::tls;
use super::{diagnose, probe};
use crate::{config::ZkConfig, errors};

/// The longest time without an answer before the driver changes its server, as a part of the session's time-out.
/// Another server can then confirm the session before half of it is over.
const ANSWER_PART: u32 = 6;

/// Connects, logs in, and probes the servers.
pub(super) async fn connect(config: &ZkConfig) -> Result<Client> {
    let connecting = async {
        let connected = match begin(config, config.session_timeout()).await? {
            // The driver derives its time-outs from the requested session, so that must be the given one.
            Ok(client) if client.session_timeout() < config.session_timeout() => {
                begin(config, client.session_timeout()).await?
            }
            connected => connected,
        };
        match connected {
            Ok(client) => probe::probe(client, config).await,
            Err(ZkError::NoHosts | ZkError::Timeout) => Err(diagnose::unreachable(config).await),
            Err(error) => Err(errors::of_request(error)),
        }
    };
    match timeout(diagnose::connect_max(config.timeouts.connect), connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(diagnose::unreachable(config).await),
    }
}

/// Begins a session with the time-out `session`, if the servers give one. The driver tries each server once, with its
/// later time-out. Slow servers are tried again within the connect time-out.
async fn begin(config: &ZkConfig, session: Duration) -> Result<Result<Client, ZkError>> {
    let (clock, answer_max) = (Clock::boottime(), session / ANSWER_PART);
    loop {
        let tried = clock.now();
        match try_servers(config, session, answer_max).await? {
            Err(ZkError::NoHosts | ZkError::Timeout) if clock.now().since(tried) >= answer_max => {}
            answer => return Ok(answer),
        }
    }
}

async fn try_servers(
    config: &ZkConfig,
    session: Duration,
    answer_max: Duration,
) -> Result<Result<Client, ZkError>> {
    let mut connector = Client::connector()
        .with_session_timeout(session)
        .with_connection_timeout(answer_max)
        .with_fail_eagerly();
    if let Some((user, password)) = config.login.read()?.pair() {
        let login = format!("{user}:{}", password.expose());
        connector = connector.with_auth("digest", login.as_bytes());
    }
    let cluster = cluster(config);
    #[cfg(feature = "tls")]
    if let Some(files) = &config.tls {
        let connector = connector.with_tls(tls::options(files)?);
        return Ok(connector.secure_connect(&cluster).await);
    }
    Ok(connector.connect(&cluster).await)
}

/// The addresses and the chroot in the driver's syntax.
fn cluster(config: &ZkConfig) -> String {
    let hosts = config.hosts.iter().map(|host| match host.port {
        Some(_) => host.to_string(),
        None => format!("{host}:{}", ZkConfig::PORT),
    });
    format!("{}{}", hosts.collect::<Vec<_>>().join(","), config.chroot)
}
