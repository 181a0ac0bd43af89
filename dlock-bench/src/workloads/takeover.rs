//! From the end of a holder to the grant of the next: the holder's process is killed, or cut off from the store.

use std::{net::ToSocketAddrs as _, time::Duration};

use dlock::config::{Config, Host};
use dlock_core::{BootInstant, Clock, Error, ErrorKind, Result};
use dlock_verify::proxy::{Direction, Fault, Proxy};
use tokio::task::JoinSet;

use crate::{
    data::Takeover,
    store::Store,
    worker::{Reply, Request, Worker, unexpected},
};

/// How many locks the holder has.
const LOCKS: u32 = 20;

/// The ttl of the locks, within the bounds of the store.
const TTL: Duration = Duration::from_secs(10);

/// The time over which the locks are taken, so that their renewals are spread.
const WITHIN: Duration = Duration::from_secs(3);

/// How long after that the waiters have to enqueue.
const ENQUEUE: Duration = Duration::from_secs(1);

/// How long a take-over is awaited beyond the bound of the store.
const WAIT_MORE: Duration = Duration::from_secs(5);

/// The schemes whose connections can be led through a proxy: without certificates that name the server, and
/// without servers that give further addresses. With the ports of URLs that have none.
const PROXIED: [(&str, u16); 5] = [
    ("etcd", 2379),
    ("mariadb", 3306),
    ("mysql", 3306),
    ("redis", 6379),
    ("zk", 2181),
];

/// The end of the holder.
enum End<'a> {
    Killed,
    CutOff(&'a [Proxy]),
}

/// Measures both ends, one after the other. The second result is why there is no cut, if there is none.
///
/// # Errors
///
/// The errors of the store, or of a worker.
///
/// # Cancel safety
///
/// Dropping the future ends the worker.
pub(crate) async fn takeover(store: &Store) -> Result<(Takeover, Option<String>)> {
    let capabilities = store.locks.capabilities();
    let ttl = TTL.clamp(capabilities.ttl_min, capabilities.ttl_max);
    let worker = Worker::start(&store.worker, &[]).await?;
    let killed = after(store, worker, End::Killed, ttl).await?;
    let (cut_off, note) = match proxies(&store.config) {
        Ok(proxies) => {
            let worker = Worker::start(&store.worker, &addresses(&proxies)?).await?;
            (
                Some(after(store, worker, End::CutOff(&proxies), ttl).await?),
                None,
            )
        }
        Err(why) => (None, Some(format!("no take-over after a cut: {why}"))),
    };
    let nanos = |granted: &[Duration]| -> Vec<u64> {
        let nanos = granted.iter().map(Duration::as_nanos);
        nanos
            .map(|nanos| u64::try_from(nanos).unwrap_or(u64::MAX))
            .collect()
    };
    let all = killed.len() + cut_off.as_ref().map_or(0, Vec::len);
    let wanted = LOCKS * (1 + u32::from(cut_off.is_some()));
    let takeover = Takeover {
        ttl_ms: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
        killed_ns: nanos(&killed),
        cut_off_ns: cut_off.as_deref().map(nanos),
        missed: wanted.saturating_sub(u32::try_from(all).unwrap_or(u32::MAX)),
    };
    Ok((takeover, note))
}

/// The times from the end of a holder to each grant. A lock that has no next holder within the bound has none.
async fn after(
    store: &Store,
    mut worker: Worker,
    end: End<'_>,
    ttl: Duration,
) -> Result<Vec<Duration>> {
    let what = match end {
        End::Killed => "killed",
        End::CutOff(_) => "cut-off",
    };
    let names = store.names.many(what, LOCKS);
    let request = Request::Hold {
        names: names.clone(),
        ttl_ms: u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX),
        within_ms: u64::try_from(WITHIN.as_millis()).unwrap_or(u64::MAX),
    };
    match worker.call(&request, WITHIN).await? {
        Reply::Held => {}
        other => return Err(unexpected(&other)),
    }
    let bound = ttl.saturating_add(store.locks.capabilities().takeover_max);
    let wait = ENQUEUE.saturating_add(bound).saturating_add(WAIT_MORE);
    let mut waiting = JoinSet::new();
    for name in names {
        let acquire = store.locks.acquire(name).ttl(ttl).wait(wait);
        waiting.spawn(async move {
            match acquire.await {
                Ok(guard) => {
                    let granted = Clock::boottime().now();
                    guard.release().await.map(|()| Some(granted))
                }
                Err(error) if error.is_contended() => Ok(None),
                Err(error) => Err(error),
            }
        });
    }
    tokio::time::sleep(ENQUEUE).await;
    let ended = Clock::boottime().now();
    match end {
        End::Killed => worker.kill().await?,
        End::CutOff(proxies) => {
            for proxy in proxies {
                proxy.set(Direction::ToServer, Fault::Hold);
                proxy.set(Direction::ToClient, Fault::Hold);
            }
        }
    }
    let granted = granted_after(ended, waiting).await;
    // What was held back must not arrive later.
    worker.kill().await?;
    granted
}

async fn granted_after(
    ended: BootInstant,
    mut waiting: JoinSet<Result<Option<BootInstant>>>,
) -> Result<Vec<Duration>> {
    let mut took = Vec::new();
    while let Some(granted) = waiting.join_next().await {
        if let Some(granted) = granted.map_err(crate::tasks::defect)?? {
            // Before the end a lock is granted only if its holder lost it.
            took.push(granted.since(ended));
        }
    }
    took.sort_unstable();
    Ok(took)
}

/// A proxy before each server of the URL, or why there can be none.
fn proxies(config: &Config) -> Result<Vec<Proxy>, String> {
    let url = config.url();
    if url.hosts().is_empty() {
        return Err("the store has no network address".to_owned());
    }
    let scheme = url.scheme();
    let port = PROXIED.iter().find(|(name, _)| *name == scheme);
    let (_, port) = port.ok_or_else(|| format!("{scheme}: has no proxy that passes it on"))?;
    let proxied = url.hosts().iter().map(|host| {
        let found = (host.name.as_str(), host.port.unwrap_or(*port)).to_socket_addrs();
        let found = found.map_err(|error| error.to_string())?.next();
        let address = found.ok_or_else(|| format!("{host} has no address"))?;
        Proxy::start(address).map_err(|error| error.to_string())
    });
    proxied.collect()
}

fn addresses(proxies: &[Proxy]) -> Result<Vec<Host>> {
    let addresses = proxies.iter().map(|proxy| proxy.address().to_string());
    let hosts = addresses.map(|address| address.parse());
    hosts
        .collect::<Result<_>>()
        .map_err(|error: Error| Error::new(ErrorKind::Internal, "a proxy").with_source(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_proxy_is_before_each_server_that_can_have_one() {
        let of = |url: &str| proxies(&Config::from_url(url).expect("a URL"));
        let two = of("etcd://127.0.0.1:1,127.0.0.1:2").expect("proxies");
        assert_eq!(addresses(&two).expect("hosts").len(), 2);
        for url in [
            "file:/tmp",
            "rediss://127.0.0.1",
            "redis-sentinel://127.0.0.1/a",
        ] {
            assert!(of(url).is_err(), "{url}");
        }
    }
}
