//! The store as verify uses it: with times of its own, and proved to grant locks.

use std::{sync::Arc, time::Duration};

use dlock::{
    Capabilities, Clock, Error, ErrorKind, LockName, Locker, Result,
    backend::DistributedLock,
    config::{Config, Registry},
};

use super::{
    bounds::{calls_per_second, fault_ttl},
    names::Names,
    pace::Pace,
    paced::Meter,
    stop::Stop,
    target::Subject,
    undecided::{Lag, too_slow},
};

/// ZooKeeper's default tick, where the URL has none.
const TICK: Duration = Duration::from_secs(2);

/// A session of ZooKeeper has so many ticks at least.
const SESSION_TICKS: u32 = 3;

/// A first grant comes so long after the restart guard of the store at the latest.
const FIRST_GRANT_MAX: Duration = Duration::from_secs(10);

/// How often the first lock is requested at most: a store that refuses it does so each time.
const FIRST_TRIES_MAX: u32 = 5;

/// How long closing the first client may take.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// Connects, and waits for a first grant: a store that may have forgotten its locks grants none for a while.
///
/// # Errors
///
/// Wrong settings, a store that dlock refuses, or one that cannot be reached.
///
/// # Cancel safety
///
/// Not to be dropped: stop it by `stop`, so that it releases its lock.
pub(crate) async fn open(
    registry: &Registry,
    config: &Config,
    names: String,
    stop: &Stop,
) -> Result<Subject> {
    let (config, backend) = tokio::select! {
        connected = connect(registry, config) => connected?,
        () = stop.requested() => return Err(stopped()),
    };
    let (capabilities, used) = (backend.capabilities(), Names::default());
    let first = LockName::new(&format!("{names}first"))?;
    used.add(&first);
    first_grant(backend, capabilities, &first, stop).await?;
    let has_files = has_files(&config)?;
    Ok(Subject {
        registry: registry.clone(),
        config,
        capabilities,
        has_files,
        used: Arc::new(used),
        names,
        pace: Arc::new(Pace::new(calls_per_second(capabilities.backend))),
        meter: Arc::new(Meter::default()),
    })
}

/// Whether a store inside the one of `config` keeps its locks as files. A store that is made of others is not inside
/// another one.
fn has_files(config: &Config) -> Result<bool> {
    let parts = dlock::layers::parts(config)?.unwrap_or_default();
    Ok(parts
        .iter()
        .any(|part| part.config.url().scheme() == "file"))
}

/// Connects with the shortest session, if the servers allow that: cases wait for the ends of sessions.
async fn connect(
    registry: &Registry,
    config: &Config,
) -> Result<(Config, Box<dyn DistributedLock>)> {
    if let Some(short) = with_short_session(config) {
        match registry.open(&short).await {
            Ok((backend, _)) => return Ok((short, backend)),
            Err(error) if error.kind() == ErrorKind::InvalidConfig => {}
            Err(error) => return Err(error),
        }
    }
    let (backend, _) = registry.open(config).await?;
    Ok((config.clone(), backend))
}

fn with_short_session(config: &Config) -> Option<Config> {
    let url = config.url();
    if !["zk", "zks"].contains(&url.scheme()) {
        return None;
    }
    let tick = url.param("tick").map(humantime::parse_duration);
    let tick = tick.and_then(std::result::Result::ok).unwrap_or(TICK);
    let session = humantime::format_duration(tick * SESSION_TICKS).to_string();
    Some(url.clone().with_param("session", session).into())
}

async fn first_grant(
    backend: Box<dyn DistributedLock>,
    capabilities: Capabilities,
    name: &LockName,
    stop: &Stop,
) -> Result<()> {
    let ttl = fault_ttl(&capabilities);
    let locker = Locker::builder(backend).ttl(ttl).build()?;
    let (clock, lag) = (Clock::boottime(), Lag::measured());
    let start = clock.now();
    let end = start.after(capabilities.restart_guard + FIRST_GRANT_MAX);
    let mut tries = 1;
    let granted = loop {
        let wait = end.since(clock.now());
        let granted = tokio::select! {
            granted = locker.acquire(name).wait(wait) => granted,
            () = stop.requested() => break Err(stopped()),
        };
        // A reply may come too late once.
        let is_silent = |error: &Error| error.kind() == ErrorKind::Unavailable;
        let again = granted.as_ref().is_err_and(is_silent);
        if !again || tries == FIRST_TRIES_MAX || clock.now() >= end {
            break granted;
        }
        tries += 1;
    };
    let granted = granted.map_err(|error| match lag.since(start) {
        Some(lag) => Error::new(error.kind(), too_slow(lag)).with_source(error),
        None => error,
    });
    let released: Result<(), Error> = match granted {
        Ok(guard) => guard.release().await,
        Err(error) => Err(error),
    };
    // A lock that was about to be granted is released before.
    let _ = locker.shutdown(CLOSE_MAX).await;
    released
}

fn stopped() -> Error {
    Error::new(ErrorKind::Unavailable, "stopped by a signal")
}
