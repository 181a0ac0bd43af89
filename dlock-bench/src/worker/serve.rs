//! The work of a worker.

use std::time::Duration;

use dlock::config::{BackendUrl, Config, Host, Registry};
use dlock_core::{BootInstant, Clock, Error, ErrorKind, Guard, Locker, Result};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, stdin, stdout};

use super::protocol::{Reply, Request, Turn};

/// How long each process holds a lock that two take in turns: long enough for the other one to be waiting.
pub(crate) const HOLD: Duration = Duration::from_millis(4);

/// How long it then stays away.
const PAUSE: Duration = Duration::from_millis(2);

/// How long a worker waits for a lock, instead of the configured wait.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// How long closing the store may take at the end.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// Connects to a store of `registry`, and serves requests of standard input until its end. `hosts` replace those of
/// the URL if there are any.
///
/// # Errors
///
/// `Internal` when standard output is closed. Errors of the store are sent as an answer instead.
///
/// # Cancel safety
///
/// Dropping the future releases what is held in the background.
pub async fn serve(registry: &Registry, config: Config, hosts: Vec<Host>) -> Result<()> {
    let served = match connect(registry, config, hosts).await {
        Ok(locks) => requests(&locks).await,
        Err(error) => Err(error),
    };
    match served {
        Err(error) => print(&Reply::Failed(error.to_string())).await,
        Ok(()) => Ok(()),
    }
}

/// Connects, acquires the lock `name`, releases it and closes: the whole work of a process.
///
/// # Errors
///
/// The errors of the store.
///
/// # Cancel safety
///
/// Dropping the future releases the lock in the background.
pub async fn one_shot(registry: &Registry, config: &Config, name: &str) -> Result<()> {
    let locks = registry.connect(config).await?;
    locks.acquire(name).await?.release().await?;
    locks.shutdown(CLOSE_MAX).await.map(drop)
}

async fn connect(registry: &Registry, config: Config, hosts: Vec<Host>) -> Result<Locker> {
    if hosts.is_empty() {
        return registry.connect(&config).await;
    }
    let url: BackendUrl = config.url().clone();
    registry.connect(&url.with_hosts(hosts).into()).await
}

async fn requests(locks: &Locker) -> Result<()> {
    let mut held = Vec::new();
    let mut lines = BufReader::new(stdin()).lines();
    print(&Reply::Connected).await?;
    while let Ok(Some(line)) = lines.next_line().await {
        let request = serde_json::from_str(&line);
        let request = request.map_err(|error| internal("a request is malformed", error))?;
        let reply = match request {
            Request::Turns { name, millis } => {
                Reply::Turns(take_turns(locks, &name, Duration::from_millis(millis)).await?)
            }
            Request::Contend {
                name,
                begin_ns,
                end_ns,
            } => contend(locks, &name, begin_ns, end_ns).await?,
            Request::Hold {
                names,
                ttl_ms,
                within_ms,
            } => {
                let within = Duration::from_millis(within_ms);
                held.extend(hold(locks, names, Duration::from_millis(ttl_ms), within).await?);
                Reply::Held
            }
            Request::Spin { .. } => {
                return Err(Error::new(ErrorKind::Internal, "a worker does not spin"));
            }
        };
        print(&reply).await?;
    }
    drop(held);
    locks.shutdown(CLOSE_MAX).await.map(drop)
}

/// Takes turns on `name` with another process that does the same.
pub(crate) async fn take_turns(locks: &Locker, name: &str, run_for: Duration) -> Result<Vec<Turn>> {
    let clock = Clock::boottime();
    let end = clock.now().after(run_for);
    let mut turns = Vec::new();
    while clock.now() < end {
        let guard = locks.acquire(name).wait(WAIT_MAX).await?;
        let granted_ns = clock.now().as_nanos();
        tokio::time::sleep(HOLD).await;
        let releasing_ns = clock.now().as_nanos();
        guard.release().await?;
        turns.push(Turn {
            process: std::process::id(),
            granted_ns,
            releasing_ns,
        });
        tokio::time::sleep(PAUSE).await;
    }
    Ok(turns)
}

async fn contend(locks: &Locker, name: &str, begin_ns: u64, end_ns: u64) -> Result<Reply> {
    let clock = Clock::boottime();
    clock.sleep_until(BootInstant::from_nanos(begin_ns)).await;
    let end = BootInstant::from_nanos(end_ns);
    let (mut grants, mut longest_wait) = (0, Duration::ZERO);
    loop {
        let began = clock.now();
        if began >= end {
            break;
        }
        let acquired = locks.acquire(name).wait(end.since(began)).await;
        // A wait that the end cuts off was that long at least.
        longest_wait = longest_wait.max(clock.now().since(began));
        match acquired {
            Ok(guard) => {
                grants += 1;
                guard.release().await?;
            }
            // At the end there is too little time for an answer.
            Err(_) if clock.now() >= end => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Reply::Contended {
        grants,
        longest_wait_ns: u64::try_from(longest_wait.as_nanos()).unwrap_or(u64::MAX),
    })
}

/// Takes all names, the renewals spread as the grants are.
async fn hold(
    locks: &Locker,
    names: Vec<String>,
    ttl: Duration,
    within: Duration,
) -> Result<Vec<Guard>> {
    let pause = within / u32::try_from(names.len().max(1)).unwrap_or(u32::MAX);
    let mut held = Vec::new();
    for name in names {
        held.push(locks.acquire(name).ttl(ttl).wait(WAIT_MAX).await?);
        tokio::time::sleep(pause).await;
    }
    Ok(held)
}

async fn print(reply: &Reply) -> Result<()> {
    let line = serde_json::to_string(reply);
    let line = line.map_err(|error| internal("a reply cannot be written", error))? + "\n";
    let mut stdout = stdout();
    let written = stdout.write_all(line.as_bytes()).await;
    let written = match written {
        Ok(()) => stdout.flush().await,
        Err(error) => Err(error),
    };
    written.map_err(|error| internal("the run is gone", error))
}

fn internal(what: &'static str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Internal, what).with_source(error)
}
