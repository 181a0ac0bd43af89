//! How a session is begun: addresses, login and TLS become the driver's client.

use std::time::Duration;

use dlock_core::{Clock, Error, ErrorKind, Result};
use tokio::time::timeout;
use zookeeper_client::{Client, Error as ZkError};

use crate::config::ZkConfig;
use crate::conn::diagnose;
use crate::conn::layout_record as record;
use crate::conn::tls;
use crate::errors;

/// Between two looks at the servers while the connection is made again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A connection is given up after this part of the session's time-out without an answer: early enough
/// that another server confirms us before half of the session is over.
const SILENCE_PART: u32 = 6;

/// Where a server listens if nothing else is said.
pub(crate) const PORT: u16 = 2181;

/// Connects, logs in, and looks whether locks can be kept there.
pub(crate) async fn connect(config: &ZkConfig) -> Result<Client> {
    let connecting = async {
        let connected = match begin(config, config.session).await? {
            // The driver took its times from what was asked for.
            Ok(client) if client.session_timeout() < config.session => {
                begin(config, client.session_timeout()).await?
            }
            connected => connected,
        };
        match connected {
            Ok(client) => check(client, config).await,
            Err(ZkError::NoHosts | ZkError::Timeout) => Err(diagnose::unreachable(config).await),
            Err(error) => Err(errors::of_request(error)),
        }
    };
    match timeout(config.connect_max, connecting).await {
        Ok(connected) => connected,
        Err(_) => Err(diagnose::unreachable(config).await),
    }
}

/// A session of that length, if the servers give one. The driver asks each of them once and does not wait
/// longer than it would later: slow ones are asked again, as long as connecting may take.
async fn begin(config: &ZkConfig, session: Duration) -> Result<Result<Client, ZkError>> {
    let (clock, patience) = (Clock::boottime(), session / SILENCE_PART);
    loop {
        let asked = clock.now();
        match ask(config, session, patience).await? {
            Err(ZkError::NoHosts | ZkError::Timeout) if clock.now().since(asked) >= patience => {}
            answer => return Ok(answer),
        }
    }
}

async fn ask(
    config: &ZkConfig,
    session: Duration,
    patience: Duration,
) -> Result<Result<Client, ZkError>> {
    let mut connector = Client::connector()
        .with_session_timeout(session)
        .with_connection_timeout(patience)
        .with_fail_eagerly();
    if let Some((user, password)) = &config.login {
        let login = format!("{user}:{}", password.expose());
        connector = connector.with_auth("digest", login.as_bytes());
    }
    let cluster = cluster(config);
    Ok(match &config.tls {
        None => connector.connect(&cluster).await,
        Some(files) => {
            let connector = connector.with_tls(tls::options(files)?);
            connector.secure_connect(&cluster).await
        }
    })
}

/// The addresses and the chroot as the driver wants them.
fn cluster(config: &ZkConfig) -> String {
    let hosts = config.hosts.iter().map(|host| match host.port {
        Some(_) => host.to_string(),
        None => format!("{host}:{PORT}"),
    });
    format!("{}{}", hosts.collect::<Vec<_>>().join(","), config.chroot)
}

/// Asks until there is an answer, over the next connection if this one is lost: as long as connecting may take.
pub(crate) async fn again<T, F>(ask: impl Fn() -> F) -> Result<T, ZkError>
where
    F: Future<Output = Result<T, ZkError>>,
{
    loop {
        match ask().await {
            Err(error) if errors::is_transient(&error) => {
                tracing::debug!(%error, "the servers are looked at again");
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            answer => return answer,
        }
    }
}

async fn check(client: Client, config: &ZkConfig) -> Result<Client> {
    check_session(client.session_timeout(), config)?;
    match again(|| client.check_stat("/")).await {
        Ok(Some(_)) => record::check(&client, config).await.map(|()| client),
        Ok(None) => {
            let chroot = &config.chroot;
            let why =
                format!("the chroot {chroot} does not exist; create it: zkCli.sh create {chroot}");
            Err(Error::new(ErrorKind::InvalidConfig, why))
        }
        Err(error) => Err(errors::of_request(error)),
    }
}

/// Servers have bounds for sessions and give the nearest one. Their least is two ticks if nobody changed
/// it: so a session that had to be made longer tells a tick that is too long for it.
fn check_session(given: Duration, config: &ZkConfig) -> Result<()> {
    let least = if given > config.session {
        given / 2 * ZkConfig::SESSION_TICKS_MIN
    } else {
        config.tick * ZkConfig::SESSION_TICKS_MIN
    };
    if given >= least {
        return Ok(());
    }
    let why = format!(
        "a session of {asked:?} is too short for these servers: they gave {given:?}, and three of their \
         ticks are needed; give session={}ms or more",
        least.as_millis(),
        asked = config.session,
    );
    Err(Error::new(ErrorKind::InvalidConfig, why))
}
