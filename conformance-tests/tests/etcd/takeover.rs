//! How long the lock of a dead holder blocks (K6).

use std::time::Duration;

use conformance_tests::{
    proxy::{Direction, Fault, Proxy},
    servers::etcd::{Flavour, Login},
};
use dlock_core::Clock;

use crate::kit::{Outcome, cases, connect, start_with, take, within};

cases![k06_a_dead_holder_on_a_server_with_slow_elections];

/// What clients of such a server are told.
const KEYS: &str = "ttl=2s&election_timeout=5s";

async fn k06_a_dead_holder_on_a_server_with_slow_elections(flavour: Flavour) -> Outcome {
    let slow = ["--heartbeat-interval=500", "--election-timeout=5000"];
    let node = start_with(flavour, Login::Open, &slow).await?;
    let way = Proxy::start(node.address())?;
    let (dead, other) = (
        connect(way.address(), KEYS).await?,
        connect(node.address(), KEYS).await?,
    );
    let bound = other.capabilities().takeover_max;
    assert_eq!(bound, Duration::from_secs(9));
    let untold = connect(node.address(), "ttl=2s").await?;
    assert_eq!(untold.capabilities().takeover_max, Duration::from_secs(3));
    let guard = take(&dead, "a").await?;
    way.set(Direction::ToServer, Fault::Hold);
    way.set(Direction::ToClient, Fault::Hold);
    let clock = Clock::boottime();
    let cut = clock.now();
    let ttl = Duration::from_secs(2);
    let next = within(ttl + bound, "the next one", other.acquire("a")).await??;
    // One that nobody tells of the elections says too little.
    let took = clock.now().since(cut);
    let told = ttl + untold.capabilities().takeover_max;
    assert!(
        took > told,
        "{took:?} for a lease of one and a half elections"
    );
    assert!(!guard.is_held());
    Ok(next.release().await?)
}
