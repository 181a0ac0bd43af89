//! The probe of a new session: whether locks can be kept on these servers.

use std::time::Duration;

use dlock_core::{Error, ErrorKind, Result};
use zookeeper_client::{Client, Error as ZkError};

use super::layout_record;
use crate::{config::ZkConfig, errors};

/// The pause before a request is repeated over the next connection.
const RETRY_AFTER: Duration = Duration::from_millis(50);

/// Checks the session's time-out against the `requested` one, the chroot and the layout of the locks.
///
/// # Errors
///
/// `InvalidConfig` for what dlock cannot work with; or the servers refuse the requests.
pub(super) async fn probe(
    client: Client,
    config: &ZkConfig,
    requested: Duration,
) -> Result<Client> {
    check_timeout(client.session_timeout(), requested, config)?;
    match until_answered(|| client.check_stat("/")).await {
        Ok(Some(_)) => {}
        Ok(None) => return Err(no_chroot(&config.chroot)),
        Err(error) => return Err(errors::of_request(error)),
    }
    let record = until_answered(|| layout_record::read_or_create(&client, config)).await;
    layout_record::compare(config.format, record)?;
    Ok(client)
}

/// Repeats a request until there is an answer, over the next connection if this one is lost. The connect time-out
/// bounds it.
async fn until_answered<T, F>(request: impl Fn() -> F) -> Result<T, ZkError>
where
    F: Future<Output = Result<T, ZkError>>,
{
    loop {
        match request().await {
            Err(error) if errors::is_retryable(&error) => {
                tracing::debug!(%error, "the servers are probed again");
                tokio::time::sleep(RETRY_AFTER).await;
            }
            answer => return answer,
        }
    }
}

/// Servers have bounds for sessions and give the nearest time-out. The lower bound is two ticks by default. So a
/// session that was made longer shows a tick that is too long for it.
fn check_timeout(given: Duration, requested: Duration, config: &ZkConfig) -> Result<()> {
    let least = if given > requested {
        given / ZkConfig::TICKS_OF_SHORTEST * ZkConfig::SESSION_TICKS_MIN
    } else {
        config.tick * ZkConfig::SESSION_TICKS_MIN
    };
    if given >= least {
        return Ok(());
    }
    let why = format!(
        "a session of {requested:?} is too short for these servers: they gave {given:?}, and three of their \
         ticks are needed; give session={}ms or more",
        least.as_millis(),
    );
    Err(Error::new(ErrorKind::InvalidConfig, why))
}

fn no_chroot(chroot: &str) -> Error {
    let why = format!("the chroot {chroot} does not exist; create it: zkCli.sh create {chroot}");
    Error::new(ErrorKind::InvalidConfig, why)
}
