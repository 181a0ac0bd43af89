//! A Cluster: masters that are replaced, and names of all kinds.

use std::{future::IntoFuture as _, net::SocketAddr, time::Duration};

use dlock::{ErrorKind, Locker};
use dlock_servers::{
    Program,
    redis::{Cluster, Login, Node, Options, Tls},
};

use tokio::task::JoinSet;

use crate::support::{
    Outcome, TTL_LONG, cases, open, refused, soon, start, take, until, value, within,
};

cases![
    t08_tokens_grow_over_a_failover_of_a_master,
    k05_tokens_grow_on_a_connection_that_outlives_two_failovers,
    t14_a_master_that_forgot_is_guarded_alone,
    t14_a_replaced_master_is_guarded,
    k13_other_masters_do_not_wait_for_one_that_is_down,
    k10_names_with_braces_have_one_slot,
    a_release_is_published_at_one_node_only,
    k13_locks_are_confirmed_by_replicas_together,
    a_replica_as_address_is_enough,
    a_cluster_wants_a_login_and_tls,
    a_server_outside_a_cluster_is_reported,
];

/// The bound of a failover.
const FAILOVER: Duration = Duration::from_secs(60);

/// One name of many.
pub(crate) const NAME: &str = "moving";
pub(crate) const KEY: &str = "dlock:moving";

pub(crate) async fn cluster(program: &Program) -> Outcome<Cluster> {
    Ok(Cluster::start(program, &Options::default()).await?)
}

fn listed(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(",")
}

pub(crate) async fn connect(cluster: &Cluster, keys: &str) -> Outcome<Locker> {
    connect_by(&cluster.addresses(), keys).await
}

async fn connect_by(addresses: &[SocketAddr], keys: &str) -> Outcome<Locker> {
    let (nodes, ttl) = (listed(addresses), TTL_LONG.as_secs());
    let url = format!("redis-cluster://{nodes}?restart_guard=0s&ttl={ttl}s&{keys}");
    Ok(dlock::connect(url.trim_end_matches('&')).await?)
}

async fn t08_tokens_grow_over_a_failover_of_a_master(program: Program) -> Outcome {
    let mut cluster = cluster(&program).await?;
    let locker = connect(&cluster, "").await?;
    let home = cluster.owner_of(KEY).await?;
    let replica = &cluster.nodes()[home + 3];
    // The replica never gets these: what is on its way to a stopped one would be read later.
    replica.stop()?;
    cluster.nodes()[home]
        .command(&["CLIENT", "KILL", "TYPE", "replica"])
        .await?;
    let mut last = take(&locker, NAME).await?;
    for _ in 0..100 {
        last.release().await?;
        last = take(&locker, NAME).await?;
    }
    cluster.nodes_mut()[home].kill()?;
    cluster.nodes()[home + 3].cont()?;
    within(FAILOVER, "a new master", cluster.until_owner_of(KEY, home)).await??;
    let next = within(FAILOVER, "it grants", locker.acquire(NAME)).await??;
    assert!(next.token() > last.token());
    Ok(next.release().await?)
}

/// The first master becomes a replica and the master again, and a client's connection to it lives through both. It
/// lacks the last grants of the other one.
async fn k05_tokens_grow_on_a_connection_that_outlives_two_failovers(program: Program) -> Outcome {
    let mut cluster = cluster(&program).await?;
    let idle = connect(&cluster, "timeout=1s&connect_timeout=2s").await?;
    let mut last = grow(&idle, 0, 1).await?;
    let home = cluster.owner_of(KEY).await?;
    let other = home + 3;
    let linked = async |node: &Node| -> Outcome<bool> {
        Ok(node
            .info("master_link_status")
            .await
            .is_ok_and(|status| status == "up"))
    };
    cluster.nodes()[other]
        .command(&["CLUSTER", "FAILOVER"])
        .await?;
    cluster.until_owner_of(KEY, home).await?;
    until("it follows", async || linked(&cluster.nodes()[home]).await).await?;
    let busy = connect(&cluster, "timeout=1s&connect_timeout=2s").await?;
    last = grow(&busy, last, 5).await?;
    let offset = cluster.nodes()[other].info("master_repl_offset").await?;
    until("it has them", async || {
        let has = cluster.nodes()[home].info("slave_repl_offset").await?;
        Ok(has.parse::<u64>()? >= offset.parse::<u64>()?)
    })
    .await?;
    cluster.nodes()[home].stop()?;
    cluster.nodes()[other]
        .command(&["CLIENT", "KILL", "TYPE", "replica"])
        .await?;
    last = grow(&busy, last, 20).await?;
    cluster.nodes_mut()[other].kill()?;
    cluster.nodes()[home].cont()?;
    until("it has taken over", async || {
        let _ = cluster.nodes()[home]
            .command(&["CLUSTER", "FAILOVER", "TAKEOVER"])
            .await;
        Ok(cluster.owner_of(KEY).await.is_ok_and(|owner| owner == home))
    })
    .await?;
    within(FAILOVER, "it grants", grow(&idle, last, 20)).await??;
    Ok(())
}

/// Takes and releases so many times: the largest token.
async fn grow(locker: &Locker, mut last: u64, grants: u32) -> Outcome<u64> {
    for _ in 0..grants {
        let guard = locker.acquire(NAME).await?;
        let token = guard.token().get();
        assert!(token > last, "{token} after {last}");
        last = token;
        guard.release().await?;
    }
    Ok(last)
}

/// Short enough for a test to wait for, long enough for a Cluster to change.
pub(crate) const GUARD: Duration = Duration::from_secs(5);

/// A client that waits for the guard.
pub(crate) async fn connect_guarded(cluster: &Cluster) -> Outcome<Locker> {
    let (nodes, secs) = (listed(&cluster.addresses()), GUARD.as_secs());
    let keys = format!("restart_guard={secs}s&ttl={secs}s&timeout=1s&connect_timeout=1s");
    Ok(dlock::connect(format!("redis-cluster://{nodes}?{keys}").as_str()).await?)
}

/// A client that waits for the guard, which is over on all masters.
pub(crate) async fn guarded(cluster: &Cluster) -> Outcome<Locker> {
    let locker = connect_guarded(cluster).await?;
    for number in 0..20 {
        let taken = locker.acquire(format!("warm-{number}"));
        soon("the guard is over", taken).await??.release().await?;
    }
    Ok(locker)
}

async fn t14_a_master_that_forgot_is_guarded_alone(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let locker = guarded(&cluster).await?;
    let home = cluster.owner_of(KEY).await?;
    let held = locker.acquire(NAME).no_renewal().await?;
    cluster.nodes()[home].command(&["FLUSHALL"]).await?;
    let error = refused(locker.try_acquire(NAME).await)?;
    assert!(error.to_string().contains("restart_guard="), "{error}");
    let mut others = 0;
    for number in 0..20 {
        let name = format!("warm-{number}");
        if cluster.owner_of(&format!("dlock:{name}")).await? != home {
            take(&locker, &name).await?.release().await?;
            others += 1;
        }
    }
    assert!(others > 0, "all names have one master");
    let guard = soon("the guard is over", locker.acquire(NAME)).await??;
    assert!(!held.is_held(), "two hold it");
    assert!(guard.token() > held.token());
    Ok(guard.release().await?)
}

async fn t14_a_replaced_master_is_guarded(program: Program) -> Outcome {
    let mut cluster = cluster(&program).await?;
    let locker = guarded(&cluster).await?;
    let home = cluster.owner_of(KEY).await?;
    cluster.nodes_mut()[home].kill()?;
    within(FAILOVER, "a new master", cluster.until_owner_of(KEY, home)).await??;
    let refusal = async {
        loop {
            match locker.try_acquire(NAME).await {
                Ok(_) => return Err("it was granted".into()),
                Err(error) if error.to_string().contains("_guard=") => return Outcome::Ok(()),
                // The map is still being fetched.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    soon("it is guarded", refusal).await??;
    let guard = soon("the guard is over", locker.acquire(NAME)).await??;
    Ok(guard.release().await?)
}

async fn k13_other_masters_do_not_wait_for_one_that_is_down(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let locker = connect(&cluster, "timeout=1s&connect_timeout=1s").await?;
    let down = cluster.owner_of(KEY).await?;
    let mut names = (0..).map(|number| format!("other-{number}"));
    let other = loop {
        let name = names.next().ok_or("no name")?;
        if cluster.owner_of(&format!("dlock:{name}")).await? != down {
            break name;
        }
    };
    let held = take(&locker, &other).await?;
    cluster.nodes()[down].stop()?;
    let stuck = tokio::spawn(locker.acquire(NAME).into_future());
    for _ in 0..20 {
        // Well below the time-outs of the node that is down.
        within(Duration::from_millis(900), "it is renewed", held.renew()).await??;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    cluster.nodes()[down].cont()?;
    within(FAILOVER, "it comes back", stuck)
        .await???
        .release()
        .await?;
    Ok(held.release().await?)
}

async fn k10_names_with_braces_have_one_slot(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let locker = connect(&cluster, "").await?;
    for name in [
        "a{b}c",
        "a}b",
        "{}x",
        "{x}",
        "{",
        "}",
        "a:fence",
        "{a}:fence",
        "%7Bx",
    ] {
        let first = take(&locker, name).await?;
        assert!(locker.try_acquire(name).await?.is_none(), "{name}");
        first.renew().await?;
        first.release().await?;
    }
    Ok(())
}

async fn a_release_is_published_at_one_node_only(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let (holder, other) = (connect(&cluster, "").await?, connect(&cluster, "").await?);
    let home = cluster.owner_of(KEY).await?;
    let held = take(&holder, NAME).await?;
    let waiter = tokio::spawn(other.acquire(NAME).into_future());
    until_listeners(&cluster.nodes()[home], 1).await?;
    held.release().await?;
    soon("it is woken", waiter).await???.release().await?;
    let stats = cluster.nodes()[home]
        .command(&["INFO", "commandstats"])
        .await?;
    let stats = stats.text()?;
    assert!(stats.contains("cmdstat_spublish:calls=1,"), "{stats}");
    assert!(!stats.contains("cmdstat_publish"), "{stats}");
    Ok(())
}

/// Each is a request of its own, and `WAIT` holds up the connection for a round trip to the replica.
async fn k13_locks_are_confirmed_by_replicas_together(program: Program) -> Outcome {
    const LOCKS: usize = 300;
    let cluster = cluster(&program).await?;
    let locker = connect(&cluster, "min_acks=1").await?;
    for name in ["a", "b", "c", "d"] {
        take(&locker, name).await?.release().await?;
    }
    let before = waits(&cluster).await?;
    let mut taking = JoinSet::new();
    for number in 0..LOCKS {
        let acquire = locker.try_acquire(format!("lock {number}"));
        taking.spawn(acquire.into_future());
    }
    let mut guards = Vec::new();
    while let Some(taken) = soon("it is granted", taking.join_next()).await? {
        guards.push(taken??.ok_or("taken")?);
    }
    let waits = waits(&cluster).await? - before;
    assert!(waits < LOCKS / 3, "{waits} for {LOCKS} locks");
    for guard in guards {
        guard.release().await?;
    }
    Ok(())
}

/// How often replicas were waited for.
async fn waits(cluster: &Cluster) -> Outcome<usize> {
    let mut sum = 0;
    for node in cluster.nodes() {
        let stats = node.command(&["INFO", "commandstats"]).await?.text()?;
        let calls = stats
            .lines()
            .find_map(|line| line.strip_prefix("cmdstat_wait:calls=")?.split(',').next());
        sum += calls.map_or(Ok(0), str::parse)?;
    }
    Ok(sum)
}

async fn a_replica_as_address_is_enough(program: Program) -> Outcome {
    let cluster = cluster(&program).await?;
    let replica = *cluster.addresses().last().ok_or("no replica")?;
    let locker = connect_by(&[replica], "").await?;
    let guard = take(&locker, NAME).await?;
    let home = cluster.owner_of(KEY).await?;
    let found = value(&cluster.nodes()[home], NAME)
        .await?
        .unwrap_or_default();
    assert!(found.starts_with(&guard.id().to_string()), "{found}");
    Ok(guard.release().await?)
}

async fn a_cluster_wants_a_login_and_tls(program: Program) -> Outcome {
    let options = Options {
        login: Login::User("dlock".to_owned(), "secret".to_owned()),
        tls: Tls::Mutual,
        ..Options::default()
    };
    let cluster = Cluster::start(&program, &options).await?;
    let certificates = cluster.nodes()[0].certificates().ok_or("no certificates")?;
    let url = |password: &str| {
        format!(
            "rediss-cluster://dlock:{password}@{}?restart_guard=0s&{}&{}",
            listed(&cluster.addresses()),
            certificates.ca_in_url(),
            certificates.client_in_url(),
        )
    };
    let locker = dlock::connect(url("secret").as_str()).await?;
    for number in 0..10 {
        take(&locker, &number.to_string()).await?.release().await?;
    }
    let error = refused(dlock::connect(url("wrong").as_str()).await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    Ok(())
}

async fn a_server_outside_a_cluster_is_reported(program: Program) -> Outcome {
    let node = start(&program, &[]).await?;
    let url = format!("redis-cluster://{}", node.address());
    let error = refused(soon("an answer", dlock::connect(url.as_str())).await?)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("use redis://"), "{error}");
    let cluster = cluster(&program).await?;
    let error = refused(open(cluster.addresses()[0], "ttl=10s").await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("redis-cluster://"), "{error}");
    let error = refused(dlock::connect(format!("{url}/1").as_str()).await)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    Ok(())
}

/// Waits until so many clients listen for the release of [`NAME`].
pub(crate) async fn until_listeners(node: &Node, count: i64) -> Outcome {
    until_channel_listeners(node, &format!("{{{KEY}}}:free"), count).await
}

/// Waits until so many clients of a Cluster listen on this channel.
pub(crate) async fn until_channel_listeners(node: &Node, channel: &str, count: i64) -> Outcome {
    until(format!("{count} listen"), async || {
        let reply = node.command(&["PUBSUB", "SHARDNUMSUB", channel]).await?;
        Ok(reply.array()?.pop().ok_or("no count")?.int()? == count)
    })
    .await
}
