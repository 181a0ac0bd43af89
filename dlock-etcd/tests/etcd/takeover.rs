//! How long the lock of a dead holder blocks (K6).

use std::time::Duration;

use dlock_core::Clock;
use dlock_servers::etcd::{Cluster, Flavour, Login, Options};
use dlock_verify::proxy::{Direction, Fault, Proxy};

use crate::support::{
    Outcome, cases, connect, connect_all, start_with, take, until_queue_length, within,
};

cases![
    k06_a_dead_holder_on_a_server_with_slow_elections,
    k06_a_holder_and_the_leader_die,
];

/// The setting for clients of such a server.
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
    let unaware = connect(node.address(), "ttl=2s").await?;
    assert_eq!(unaware.capabilities().takeover_max, Duration::from_secs(3));
    let guard = take(&dead, "a").await?;
    way.set(Direction::ToServer, Fault::Hold);
    way.set(Direction::ToClient, Fault::Hold);
    let clock = Clock::boottime();
    let cut = clock.now();
    let ttl = Duration::from_secs(2);
    let next = within(ttl + bound, "the next one", other.acquire("a")).await??;
    // A client without that setting reports too short a time.
    let took = clock.now().since(cut);
    let reported = ttl + unaware.capabilities().takeover_max;
    assert!(
        took > reported,
        "{took:?} for a lease of one and a half elections"
    );
    assert!(!guard.is_held());
    Ok(next.release().await?)
}

/// The exception `etcd.new-leader`.
async fn k06_a_holder_and_the_leader_die(flavour: Flavour) -> Outcome {
    const TTL: Duration = Duration::from_secs(6);
    let mut cluster = Cluster::start(&flavour.find()?, &Options::default()).await?;
    let leader = cluster.leader().await?;
    let mut others = cluster.addresses();
    others.remove(leader);
    let way = Proxy::start(others[0])?;
    let dead = connect(way.address(), "ttl=6s").await?;
    let other = connect_all(&others, "ttl=6s&timeout=1s").await?;
    let guard = take(&dead, "a").await?;
    let waiting = tokio::spawn(other.acquire("a").wait_forever().into_future());
    until_queue_length(cluster.node((leader + 1) % 3), "a", 2).await?;
    for direction in [Direction::ToServer, Direction::ToClient] {
        way.set(direction, Fault::Hold);
    }
    // As late as may be: its last renewal may be a third of the ttl ago.
    tokio::time::sleep(TTL / 2).await;
    assert!(!waiting.is_finished(), "its lease lives");
    let clock = Clock::boottime();
    cluster.nodes()[leader].kill()?;
    let killed = clock.now();
    cluster.leader().await?;
    let elected = clock.now();
    let bound = TTL + other.capabilities().takeover_max;
    let next = within(bound, "the next grant", waiting).await???;
    let (took, lives) = (clock.now().since(elected), clock.now().since(killed));
    assert!(!guard.is_held(), "lost at its deadline");
    assert!(took <= bound, "{took:?} of {bound:?}");
    assert!(lives >= TTL, "{lives:?}: it is no exception any more");
    assert!(next.token() > guard.token());
    Ok(next.release().await?)
}
