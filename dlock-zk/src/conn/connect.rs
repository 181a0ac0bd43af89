//! Connecting: addresses, login and TLS become the driver's client.

use std::time::Duration;

use dlock_core::{Clock, Result};
use tokio::time::timeout;
use zookeeper_client::{Client, Error as ZkError};

#[cfg(feature = "tls")]
use super::tls;
use super::{diagnose, probe};
use crate::{config::ZkConfig, errors, liveness::proof::SessionTimes};

/// The longest time without an answer before the driver changes its server, as a part of the session's time-out.
/// Another server can then confirm the session before half of it is over.
const ANSWER_PART: u32 = 6;

/// Connects, logs in, and probes the servers: the `requested` session, or a longer one if that is too short for them.
pub(super) async fn connect(
    config: &ZkConfig,
    requested: SessionTimes,
) -> Result<(Client, SessionTimes)> {
    let connecting = async {
        match begin_fitting(config, requested).await? {
            Ok((client, requested)) => {
                let client = probe::probe(client, config, requested.timeout).await?;
                let times = SessionTimes {
                    timeout: client.session_timeout(),
                    ..requested
                };
                Ok((client, times))
            }
            Err(ZkError::NoHosts | ZkError::Timeout) => Err(diagnose::unreachable(config).await),
            Err(error) => Err(errors::of_request(error)),
        }
    };
    match timeout(diagnose::connect_max(config.timeouts.connect), connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(diagnose::unreachable(config).await),
    }
}

/// Begins a session, and returns what was requested for it.
async fn begin_fitting(
    config: &ZkConfig,
    requested: SessionTimes,
) -> Result<Result<(Client, SessionTimes), ZkError>> {
    let requested = match fitting(config, requested).await? {
        Ok(requested) => requested,
        Err(error) => return Ok(Err(error)),
    };
    let client = match begin(config, requested.timeout).await? {
        // The driver derives its time-outs from the requested session, so that must be the given one.
        Ok(client) if client.session_timeout() < requested.timeout => {
            begin(config, client.session_timeout()).await?
        }
        client => client,
    };
    Ok(client.map(|client| (client, requested)))
}

/// The session that fits the servers, if the user has not chosen one: it has three of their ticks.
///
/// Their tick may be longer than `tick=` says. By default they give no session of less than two ticks. So a session of
/// two thirds is requested first, which comes out longer if three ticks do not fit in this one.
async fn fitting(
    config: &ZkConfig,
    requested: SessionTimes,
) -> Result<Result<SessionTimes, ZkError>> {
    let session = requested.timeout;
    if !config.may_be_raised(session) {
        return Ok(Ok(requested));
    }
    let shorter = session / ZkConfig::SESSION_TICKS_MIN * ZkConfig::TICKS_OF_SHORTEST;
    let given = match begin(config, shorter).await? {
        Ok(client) => client.session_timeout(),
        Err(error) => return Ok(Err(error)),
    };
    if given <= shorter {
        return Ok(Ok(requested));
    }
    let tick = given / ZkConfig::TICKS_OF_SHORTEST;
    let fitting = SessionTimes {
        timeout: ZkConfig::raised(session, tick),
        tick: requested.tick.max(tick),
    };
    tracing::warn!(
        "the servers' tick seems to be {tick:?} instead of {:?}, so a session has {:?} instead of {session:?}, and a \
         dead holder blocks its locks for longer; give tick={}ms",
        requested.tick,
        fitting.timeout,
        tick.as_millis(),
    );
    Ok(Ok(fitting))
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
