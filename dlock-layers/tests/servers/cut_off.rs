//! A client that is cut off from a majority of the servers (T83).

use std::time::Duration;

use dlock::ErrorKind;
use dlock_servers::Program;
use dlock_verify::proxy::{
    Direction::{self, ToClient, ToServer},
    Fault, Proxy,
};

use crate::{
    program::Proxied,
    servers::Servers,
    support::{LATE, Outcome, SOON, cases, refused, soon, take, taken_over},
};

cases![
    t83_a_client_that_is_cut_off_loses_its_lock_at_the_deadline,
    t83_requests_that_vanish_are_a_loss_at_the_deadline,
    t83_replies_that_vanish_are_a_loss_at_the_deadline,
    t83_of_two_parts_of_a_network_only_the_larger_one_grants,
];

const TTL: Duration = Duration::from_secs(2);
const KEYS: &str = "restart_guard=0s&ttl=2s&timeout=500ms&connect_timeout=500ms";

fn set(proxies: &[Proxy], directions: &[Direction], fault: Fault) {
    for proxy in proxies {
        for direction in directions {
            proxy.set(*direction, fault);
        }
    }
}

/// Cuts a holder off from the last two of three servers: another client gets the lock after the holder's end.
async fn cut_off(program: &Program, directions: &[Direction]) -> Outcome {
    let servers = Servers::start(program, 3).await?;
    let holder = Proxied::connect(&servers.0, KEYS).await?;
    let other = servers.connect(KEYS).await?;
    let held = holder.locker.acquire("a").await?;
    set(&holder.proxies[1..], directions, Fault::Hold);
    let guard = taken_over(&held, &other, TTL, LATE).await?;
    set(&holder.proxies[1..], directions, Fault::None);
    assert_eq!(refused(held.release().await)?.kind(), ErrorKind::Lost);
    // All that was on its way has come by the time at which the holder's last request is answered.
    soon("it comes to its end", holder.locker.shutdown(SOON)).await??;
    guard.renew().await?;
    guard.release().await?;
    servers.until_clean().await
}

async fn t83_a_client_that_is_cut_off_loses_its_lock_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToServer, ToClient]).await
}

async fn t83_requests_that_vanish_are_a_loss_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToServer]).await
}

/// The servers renew on and on, and the holder does not know: it is not granted twice, but later.
async fn t83_replies_that_vanish_are_a_loss_at_the_deadline(program: Program) -> Outcome {
    cut_off(&program, &[ToClient]).await
}

/// Two servers and the holder in one part, three servers and a waiter in the other.
async fn t83_of_two_parts_of_a_network_only_the_larger_one_grants(program: Program) -> Outcome {
    let servers = Servers::start(&program, 5).await?;
    let small = Proxied::connect(&servers.0, KEYS).await?;
    let large = Proxied::connect(&servers.0, KEYS).await?;
    let held = small.locker.acquire("a").await?;
    let between = |fault| {
        set(&small.proxies[2..], &[ToServer, ToClient], fault);
        set(&large.proxies[..2], &[ToServer, ToClient], fault);
    };
    between(Fault::Hold);
    let guard = taken_over(&held, &large.locker, TTL, LATE).await?;
    for name in ["a", "b"] {
        let refusal = refused(small.locker.try_acquire(name).await)?;
        assert_eq!(refusal.kind(), ErrorKind::Unavailable, "{name}: {refusal}");
    }
    take(&large.locker, "b").await?.release().await?;
    let waiting = tokio::spawn(small.locker.acquire("a").into_future());
    between(Fault::None);
    guard.renew().await?;
    let before = guard.token();
    guard.release().await?;
    let next = soon("the parts are one again", waiting).await???;
    assert!(next.token() > before);
    next.release().await?;
    servers.until_clean().await
}
