//! Faults of a worker's connections.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use tokio::time::{sleep, timeout};

use crate::{
    chaos::fault::{Evidence, Fault as ChaosFault, Site},
    proxy::{Connection, Direction, End, Fault, Proxy},
    support::Outcome,
};

/// A swallowed reply is awaited for so long; the worker sends requests all the time.
const REPLY_MAX: Duration = Duration::from_secs(3);

/// How often ends of connections are counted.
const POLL_EVERY: Duration = Duration::from_millis(10);

pub(super) fn all() -> Vec<Arc<dyn ChaosFault>> {
    use What::{Cut, Delay, HalfOpen, Hold, HoldReplies, HoldRequests, SwallowFin, SwallowRst};
    let all = [
        Hold,
        HoldRequests,
        HoldReplies,
        SwallowRst,
        SwallowFin,
        Delay,
        Cut,
        HalfOpen,
    ];
    let all = all.into_iter();
    all.map(|what| Arc::new(NetworkFault(what)) as _).collect()
}

/// The network between one worker and the servers fails.
#[derive(Debug)]
struct NetworkFault(What);

#[derive(Clone, Copy, Debug)]
enum What {
    /// Bytes are held back in both directions, and arrive at the end.
    Hold,
    HoldRequests,
    HoldReplies,
    /// Replies are lost, then both sides see a reset.
    SwallowRst,
    /// The next reply is lost, with an orderly end in its place.
    SwallowFin,
    /// Everything arrives late.
    Delay,
    /// Both sides see an orderly end.
    Cut,
    /// The client's host is gone: the server keeps connections that say nothing.
    HalfOpen,
}

#[async_trait]
impl ChaosFault for NetworkFault {
    fn id(&self) -> &'static str {
        match self.0 {
            What::Hold => "net-hold",
            What::HoldRequests => "net-hold-requests",
            What::HoldReplies => "net-hold-replies",
            What::SwallowRst => "net-swallow-rst",
            What::SwallowFin => "net-swallow-fin",
            What::Delay => "net-delay",
            What::Cut => "net-cut",
            What::HalfOpen => "net-half-open",
        }
    }

    fn lengths(&self) -> &'static [u32] {
        match self.0 {
            // The delay of each way, while it lasts. A run in which each fault strikes once has the first one: shorter
            // than half of any time-out, so that late answers count.
            What::Delay => &[1, 3, 20, 9],
            _ => &[11, 2, 30, 9],
        }
    }

    fn evidence(&self) -> Evidence {
        Evidence::Worker
    }

    async fn strike(&self, site: &Site) -> Outcome<u64> {
        let proxies = site.workers.proxies(site.worker);
        let (held_before, ended_before) = (held_back(proxies), ended(proxies));
        match self.0 {
            What::Hold => {
                set(proxies, &BOTH, Fault::Hold);
                site.last().await;
            }
            What::HoldRequests => {
                set(proxies, &[Direction::ToServer], Fault::Hold);
                site.last().await;
            }
            What::HoldReplies => {
                set(proxies, &[Direction::ToClient], Fault::Hold);
                site.last().await;
            }
            What::SwallowRst => {
                set(proxies, &[Direction::ToClient], Fault::Discard);
                site.last().await;
                proxies.iter().for_each(|proxy| proxy.end(End::Reset));
            }
            What::SwallowFin => {
                set(proxies, &[Direction::ToClient], Fault::CutInstead);
                let _ = timeout(REPLY_MAX, until_more_ended(proxies, ended_before)).await;
            }
            What::Delay => {
                set(proxies, &BOTH, Fault::Delay(site.length));
                sleep(site.ttl * 2).await;
            }
            What::Cut => {
                let open = open(proxies);
                proxies.iter().for_each(|proxy| proxy.end(End::Cut));
                for connection in open {
                    let _ = timeout(REPLY_MAX, connection.until_ended()).await;
                }
            }
            What::HalfOpen => {
                set(proxies, &BOTH, Fault::Hold);
                proxies.iter().for_each(|proxy| proxy.end(End::Client));
                site.last().await;
            }
        }
        let stayed_out = held_back(proxies) > held_before;
        let ended = ended(proxies) - ended_before;
        set(proxies, &BOTH, Fault::None);
        Ok(u64::from(stayed_out) + ended as u64)
    }
}

const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

fn set(proxies: &[Proxy], directions: &[Direction], fault: Fault) {
    for proxy in proxies {
        for direction in directions {
            proxy.set(*direction, fault);
        }
    }
}

/// Waits until more connections than `before` have ended: present ones, or new ones.
async fn until_more_ended(proxies: &[Proxy], before: usize) {
    while ended(proxies) <= before {
        sleep(POLL_EVERY).await;
    }
}

fn ended(proxies: &[Proxy]) -> usize {
    let all = proxies.iter().flat_map(Proxy::connections);
    all.filter(Connection::has_ended).count()
}

fn open(proxies: &[Proxy]) -> Vec<Connection> {
    let all = proxies.iter().flat_map(Proxy::connections);
    all.filter(|connection| !connection.has_ended()).collect()
}

/// How many bytes have arrived and were not passed on.
fn held_back(proxies: &[Proxy]) -> u64 {
    let of = |proxy: &Proxy, way| proxy.seen(way).saturating_sub(proxy.passed(way));
    let ways = |proxy: &Proxy| of(proxy, Direction::ToServer) + of(proxy, Direction::ToClient);
    proxies.iter().map(ways).sum()
}
