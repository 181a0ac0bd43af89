//! Behind Sentinels: failovers, planned and not, and what a grant is worth then (T8, T9).

use std::{net::SocketAddr, time::Duration};

use dlock::{ErrorKind, Locker, LostCause};
use dlock_core::Clock;
use dlock_servers::{
    Program,
    redis::{Login, Node, Options, Replicated, Tls},
};

use crate::support::{
    Outcome, RECORD, TTL_LONG, cases, open, refused, soon, start, take, until_clean,
    until_listeners, value, warm_up, within,
};

cases![
    t08_without_enough_replicas_nothing_is_granted,
    t08_without_enough_replicas_nothing_is_renewed,
    t08_tokens_grow_over_a_failover,
    t08_a_planned_failover_loses_no_acknowledged_lock,
    t09_a_stopped_primary_is_detected_and_replaced,
    a_waiter_follows_the_primary,
    a_primary_that_lacks_the_former_ones_record_is_its_successor,
    sentinels_that_do_not_answer_are_no_hindrance,
    sentinels_want_a_login_and_tls,
    a_server_that_is_not_a_sentinel_is_reported,
];

/// The bound of a failover.
const FAILOVER: Duration = Duration::from_secs(60);

async fn replicated(program: &Program, replicas: usize) -> Outcome<Replicated> {
    Ok(Replicated::start(program, &Options::default(), replicas).await?)
}

fn listed(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
    addresses.join(",")
}

pub(crate) async fn connect(servers: &Replicated, keys: &str) -> Outcome<Locker> {
    let (sentinels, name) = (listed(&servers.addresses()), servers.name());
    let ttl = TTL_LONG.as_secs();
    let url = format!("redis-sentinel://{sentinels}/{name}?restart_guard=0s&ttl={ttl}s&{keys}");
    Ok(dlock::connect(url.trim_end_matches('&')).await?)
}

fn stop_replicas(servers: &Replicated) -> Outcome {
    for replica in &servers.nodes()[1..] {
        replica.stop()?;
    }
    Ok(())
}

async fn t08_without_enough_replicas_nothing_is_granted(program: Program) -> Outcome {
    let servers = replicated(&program, 2).await?;
    let locker = connect(&servers, "min_acks=2").await?;
    let guard = take(&locker, "a").await?;
    for replica in &servers.nodes()[1..] {
        let found = value(replica, "a").await?.unwrap_or_default();
        assert!(found.starts_with(&guard.id().to_string()), "{found}");
    }
    guard.release().await?;
    servers.nodes()[1].stop()?;
    let error = refused(soon("it is refused", locker.try_acquire("a")).await?)?;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        error.to_string().contains("1 of min_acks=2 replicas"),
        "{error}"
    );
    until_clean(&servers.nodes()[0]).await?;
    servers.nodes()[1].cont()?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn t08_without_enough_replicas_nothing_is_renewed(program: Program) -> Outcome {
    let servers = replicated(&program, 1).await?;
    let locker = connect(&servers, "min_acks=1").await?;
    let guard = locker.acquire("a").ttl(Duration::from_secs(3)).await?;
    stop_replicas(&servers)?;
    // What the primary renews alone, the replica would forget.
    assert_eq!(refused(guard.renew().await)?.kind(), ErrorKind::Unavailable);
    assert_eq!(soon("it is lost", guard.lost()).await?, LostCause::Expired);
    Ok(())
}

/// Nothing is known of the locks that were not replicated; the tokens grow all the same (K5).
async fn t08_tokens_grow_over_a_failover(program: Program) -> Outcome {
    let mut servers = replicated(&program, 1).await?;
    let locker = connect(&servers, "").await?;
    // The replica never gets these: what is on its way to a stopped one would be read later.
    stop_replicas(&servers)?;
    servers.nodes()[0]
        .command(&["CLIENT", "KILL", "TYPE", "replica"])
        .await?;
    let mut last = take(&locker, "a").await?;
    for _ in 0..100 {
        last.release().await?;
        last = take(&locker, "a").await?;
    }
    servers.nodes_mut()[0].kill()?;
    servers.nodes()[1].cont()?;
    within(FAILOVER, "a new primary", servers.until_promoted(0)).await??;
    let next = within(FAILOVER, "it grants", locker.acquire("a")).await??;
    assert!(next.token() > last.token());
    next.release().await?;
    until_clean(&servers.nodes()[1]).await
}

async fn t08_a_planned_failover_loses_no_acknowledged_lock(program: Program) -> Outcome {
    let servers = replicated(&program, 2).await?;
    let locker = connect(&servers, "min_acks=2").await?;
    let mut held = Vec::new();
    for number in 0..20 {
        held.push(take(&locker, &format!("held-{number}")).await?);
    }
    let new = within(FAILOVER, "a new primary", servers.fail_over()).await??;
    assert_ne!(new, 0);
    for guard in &held {
        // Until the Sentinels have informed the others, nothing is known; nothing is lost either.
        within(FAILOVER, "it is renewed", async {
            while guard.renew().await.is_err() {
                assert!(guard.is_held());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
        .await?;
    }
    for guard in held {
        guard.release().await?;
    }
    until_clean(&servers.nodes()[new]).await
}

/// T9: the former primary still has the lock and cannot report it.
async fn t09_a_stopped_primary_is_detected_and_replaced(program: Program) -> Outcome {
    let servers = replicated(&program, 1).await?;
    let locker = connect(&servers, "min_acks=1&timeout=1s&connect_timeout=3s").await?;
    let other = connect(&servers, "timeout=1s&connect_timeout=3s").await?;
    let (clock, ttl) = (Clock::boottime(), Duration::from_secs(3));
    let held = locker.acquire("a").ttl(ttl).await?;
    servers.nodes()[0].stop()?;
    // The wait goes on until the new primary has forgotten the holder, not longer.
    let lost = async {
        let cause = held.lost().await;
        (cause, clock.now())
    };
    let granted = async { (other.acquire("a").await, clock.now()) };
    let both = async { tokio::join!(lost, granted) };
    let ((_, lost), (guard, granted)) = within(FAILOVER, "all is known", both).await?;
    let guard = guard?;
    assert!(lost <= granted, "two held it for {:?}", lost.since(granted));
    assert!(guard.token() > held.token());
    // The former one comes back, is demoted, and takes nothing away.
    servers.nodes()[0].cont()?;
    let demoted = async {
        let former = &servers.nodes()[0];
        // The Sentinel that demotes it ends its connections, also this one.
        let says = async |field, expected| {
            former
                .info(field)
                .await
                .is_ok_and(|value| value == expected)
        };
        while !says("role", "slave").await || !says("master_link_status", "up").await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within(FAILOVER, "it is demoted", demoted).await?;
    guard.renew().await?;
    guard.release().await?;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn a_waiter_follows_the_primary(program: Program) -> Outcome {
    let servers = replicated(&program, 1).await?;
    let holder = connect(&servers, "min_acks=1").await?;
    let other = connect(&servers, "").await?;
    let held = take(&holder, "a").await?;
    let waiter = tokio::spawn(other.acquire("a").into_future());
    until_listeners(&servers.nodes()[0], "a", 1).await?;
    let new = within(FAILOVER, "a new primary", servers.fail_over()).await??;
    until_listeners(&servers.nodes()[new], "a", 1).await?;
    held.release().await?;
    // Far earlier than the ttl would end.
    soon("it is woken", waiter).await???.release().await?;
    until_clean(&servers.nodes()[new]).await
}

/// A replica that is promoted before it has caught up does not know what its primary recorded. A client that the
/// former primary has answered in the meantime follows the Sentinels all the same (K6).
async fn a_primary_that_lacks_the_former_ones_record_is_its_successor(program: Program) -> Outcome {
    let servers = replicated(&program, 1).await?;
    let idle = connect(&servers, "").await?;
    warm_up(&idle).await?;
    let new = within(FAILOVER, "a new primary", servers.fail_over()).await??;
    // Another client begins its history, which is its own, apparently long before the last reply of the former primary.
    drop(connect(&servers, "").await?.try_acquire("a").await);
    let promoted = &servers.nodes()[new];
    let record = promoted.command(&["GET", RECORD]).await?.text()?;
    let mut words: Vec<_> = record.split(' ').collect();
    (words[2], words[4]) = ("1780000000000000", "-");
    let forked = words.join(" ");
    promoted.command(&["SET", RECORD, &forked]).await?;
    let demoted = async {
        let is_replica = async || {
            let role = servers.nodes()[0].info("role").await;
            role.is_ok_and(|role| role == "slave")
        };
        while !is_replica().await {
            // The former primary answers until then.
            let _ = idle.inspect("a").await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within(FAILOVER, "it is demoted", demoted).await?;
    Ok(take(&idle, "a").await?.release().await?)
}

async fn sentinels_that_do_not_answer_are_no_hindrance(program: Program) -> Outcome {
    let mut servers = replicated(&program, 1).await?;
    servers.sentinels()[0].stop()?;
    servers.sentinels()[1].kill()?;
    let locker = soon("it connects", connect(&servers, "")).await??;
    take(&locker, "a").await?.release().await?;
    Ok(())
}

async fn sentinels_want_a_login_and_tls(program: Program) -> Outcome {
    let options = Options {
        login: Login::User("dlock".to_owned(), "secret".to_owned()),
        tls: Tls::Mutual,
        ..Options::default()
    };
    let servers = Replicated::start(&program, &options, 1).await?;
    let certificates = servers.nodes()[0].certificates().ok_or("no certificates")?;
    let (sentinels, name) = (listed(&servers.addresses()), servers.name());
    let keys = format!(
        "restart_guard=0s&{}&{}",
        certificates.ca_in_url(),
        certificates.client_in_url(),
    );
    let login = "sentinel_user=dlock&sentinel_password=secret";
    let url =
        |login: &str| format!("rediss-sentinel://dlock:secret@{sentinels}/{name}?{keys}&{login}");
    let locker = dlock::connect(url(login).as_str()).await?;
    take(&locker, "a").await?.release().await?;
    let wrong = login.replace("secret", "wrong");
    let error = refused(dlock::connect(url(&wrong).as_str()).await)?;
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    Ok(())
}

async fn a_server_that_is_not_a_sentinel_is_reported(program: Program) -> Outcome {
    let servers = replicated(&program, 1).await?;
    let sentinels = listed(&servers.addresses());
    let fails = async |url: String, says: &str| {
        let error = refused(soon("an answer", dlock::connect(url.as_str())).await?)?;
        assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        Outcome::Ok(())
    };
    fails(format!("redis-sentinel://{sentinels}/other"), "\"other\"").await?;
    fails(format!("redis-sentinel://{sentinels}"), "/mymaster").await?;
    let node: &Node = &start(&program, &[]).await?;
    fails(
        format!("redis-sentinel://{}/primary", node.address()),
        "not a Sentinel",
    )
    .await?;
    let sentinel = *servers.addresses().first().ok_or("no Sentinel")?;
    let error = refused(soon("an answer", open(sentinel, "ttl=10s")).await?)?;
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("redis-sentinel://"), "{error}");
    Ok(())
}
